"""Progress display of the long commands: a bar on a terminal, lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from hiergcn.cli.terminal import console, duration, percent, printable
from hiergcn.train import events

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from hiergcn.workers.pool import Engine

GIGABYTE = 1e9
WORTH_SAYING = 0.5 * GIGABYTE  # of memory; less is available anywhere
QUIET = 20.0  # seconds without a line, after which one says how far the work is


class Progress:
    """One task after another, each with its progress. Use it as a context.

    On a terminal a task is a bar, with a text and the time left beside it. Elsewhere a task prints a line for each
    milestone, and the text if nothing was printed for a while. The size of the cluster stands beside the text if the
    work is done by an engine that has one.
    """

    def __init__(self, out: "Console", engine: "Engine | None" = None) -> None:
        self.out = out
        self.engine = engine
        if engine is not None:
            engine.on_note = self.note
            self.note(f"{engine.status()}.")
        self.bars: Bars | None = None
        self.task: TaskID | None = None
        if out.is_terminal:
            from rich.progress import BarColumn, Progress, TextColumn

            columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), TextColumn("{task.fields[text]}"))
            self.bars = Progress(*columns, console=out, transient=True, expand=True)
        self.total = self.done = 0.0
        self.began = self.spoke = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bars is not None:
            self.bars.stop()

    def start(self, task: str, total: float, *, line: str | None = None) -> None:
        """Start a task, which replaces the last one. Without a bar, print `line` instead."""
        self.total, self.done, self.began = total, 0.0, time.monotonic()
        if self.bars is None:
            if line is not None:
                self.note(line)
            return
        if self.task is not None:
            self.bars.remove_task(self.task)
        self.task = self.bars.add_task(task, total=total or None, text="")
        self.bars.start()

    def advance(self, done: float, text: str = "", *, line: str | None = None, total: float | None = None) -> None:
        """Show that `done` of the total, which may have changed, is done.

        `text` says what is going on. A milestone has a `line`, which is printed if there is no bar.
        """
        self.done, self.total = done, self.total if total is None else total
        status = "" if self.engine is None else f"({self.engine.status()})"
        shown = ", ".join(filter(None, (text, self.left()))) + f" {status}".rstrip()
        if self.bars is not None and self.task is not None:
            self.bars.update(self.task, completed=done, total=self.total or None, text=shown)
        elif line is not None:
            self.note(line)
        elif time.monotonic() - self.spoke >= QUIET:
            self.note(shown)

    def note(self, line: str, style: str | None = None) -> None:
        """Print a line that stays, above the bar if there is one."""
        self.out.print(printable(line), style=style, soft_wrap=True)
        self.spoke = time.monotonic()

    def left(self) -> str:
        """Return the time left in words, by the pace so far; empty at the start and at the end."""
        if not 0 < self.done < self.total:
            return ""
        return f"{duration((time.monotonic() - self.began) * (self.total - self.done) / self.done)} left"


class FitProgress:
    """Shows the events of a fit."""

    def __init__(
        self,
        progress: Progress,
        seeds: int,
        on_settings: Callable[[events.SettingsChosen | events.SplitChosen], None] = lambda _: None,
        numbers: bool = False,
    ) -> None:
        self.progress, self.seeds, self.on_settings, self.numbers = progress, seeds, on_settings, numbers
        self.epochs, self.finished = 1, 0
        self.running: dict[int, int] = {}  # seed: epoch; worker processes train several at once
        self.candidates: dict[str, None] = {}  # of the automatic choice, which are running
        self.chooses = False

    def __call__(self, event: events.FitEvent) -> None:
        match event:
            case events.SplitChosen():
                self.on_settings(event)
            case events.CandidateStarted(name):
                self.chooses = True
                self.candidates[name] = None
                self.progress.start(f"trying {', '.join(self.candidates)}", 0)
            case events.CandidateDone(name, accuracy, left_out):
                self.candidates.pop(name, None)
                self.progress.note(f"{name}: {left_out if accuracy is None else f'validation {self._score(accuracy)}'}")
            case events.EpochDone(seed, epoch, best) if self.chooses:
                self.progress.advance(epoch, f"seed {seed}: epoch {epoch}, best validation {self._score(best)}")
            case events.SeedDone() if self.chooses:
                pass
            case events.SettingsChosen():
                self.epochs = event.chosen.settings.train.epochs
                self.on_settings(event)
            case events.Coarsened(hierarchy, seconds):
                nodes = " → ".join(f"{n:,}" for n in hierarchy.sizes().nodes)
                self.progress.note(f"Coarsened in {duration(seconds)}: {nodes} nodes")
            case events.MemoryPlanned(memory, available):
                if memory >= WORTH_SAYING:
                    free = "" if available is None else f"; {available / GIGABYTE:.1f} GB are free"
                    self.progress.note(f"Training needs about {memory / GIGABYTE:.1f} GB of memory{free}")
                self.progress.start("training", self.seeds * self.epochs)
            case events.EpochDone(seed, epoch, best):
                self.running[seed] = epoch
                text = f"seed {seed}: epoch {epoch} of {self.epochs}, best validation {self._score(best)}"
                self.progress.advance(self._epochs_done, text)
            case events.SeedDone(outcome):
                self.finished += 1
                self.running.pop(outcome.seed, None)
                result = f"validation {self._score(outcome.validation_accuracy)} at epoch {outcome.best_epoch}"
                result = result if outcome.failure is None else f"failed: it {outcome.failure}"
                self.progress.done = self._epochs_done  # for the time left
                count = ", ".join(filter(None, (f"{self.finished} of {self.seeds} done", self.progress.left())))
                text = f"{self.finished} of {self.seeds} seeds"
                self.progress.advance(self._epochs_done, text, line=f"seed {outcome.seed}: {result} ({count})")
            case events.BaselineStarted(model):
                self.progress.start(f"{model} on the same split", 0, line=f"Fitting {model} on the same split")

    def _score(self, value: float | None) -> str:
        """Format a validation score: accuracy, or 1 minus the squared error of standardised numbers."""
        return f"score {value:.3f}" if self.numbers and value is not None else f"{percent(value)} %"

    @property
    def _epochs_done(self) -> int:
        """Epochs of all seeds. A seed that ended early counts as whole."""
        return self.finished * self.epochs + sum(self.running.values())


@contextmanager
def download_progress(name: str) -> Iterator[Callable[[int, int], None]]:
    """Give a callback for the bytes so far and in all; nothing is shown until the first bytes arrive."""
    with Progress(console(stderr=True)) as progress:  # stdout may be a table that a program reads
        started = False

        def show(done: int, total: int) -> None:
            nonlocal started
            size = f"{total / 1e6:.1f} MB" if total else "size unknown"
            if not started:
                started = True
                progress.start(f"downloading {name}", total, line=f"downloading {name} ({size})")
            progress.advance(done, f"{done / 1e6:.1f} of {size}", total=total)

        yield show
