"""How far a fit has come: bars on a terminal, a line for each seed elsewhere."""

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from hiergcn.cli.terminal import duration, percent, printable
from hiergcn.coarsen import Hierarchy
from hiergcn.run.fit import Listener
from hiergcn.train.loop import SeedOutcome

QUIET = 20.0  # seconds without a line, after which a long seed says how far it is


class FitProgress(Listener):
    """Keeps the figures that both ways of showing them need. Use it as a context."""

    def __init__(self, out: Console, seeds: int, epochs: int) -> None:
        self.out, self.seeds, self.epochs = out, seeds, epochs
        self.finished = 0
        self.accuracies: list[float] = []
        self.began = time.monotonic()

    def __enter__(self) -> "FitProgress":
        return self

    def __exit__(self, *_: object) -> None: ...

    def coarsened(self, hierarchy: Hierarchy, seconds: float) -> None:
        nodes = " → ".join(f"{n:,}" for n in hierarchy.sizes().nodes)
        self.out.print(f"Coarsened in {duration(seconds)}: {nodes} nodes")
        self.began = time.monotonic()  # time left is about training

    def seed_finished(self, outcome: SeedOutcome) -> None:
        self.finished += 1
        if outcome.failure is None:
            self.accuracies.append(outcome.validation_accuracy)

    @property
    def mean(self) -> float | None:
        return sum(self.accuracies) / len(self.accuracies) if self.accuracies else None

    def left(self, epoch: int = 0) -> str:
        """Time left, by the pace so far; `epoch` of the seed that is running."""
        done = self.finished + epoch / self.epochs
        return duration((time.monotonic() - self.began) / done * (self.seeds - done))


class PlainProgress(FitProgress):
    """Lines, for files and pipes."""

    def __init__(self, out: Console, seeds: int, epochs: int) -> None:
        super().__init__(out, seeds, epochs)
        self.spoke = time.monotonic()

    def epoch_done(self, seed: int, epoch: int, best_validation_accuracy: float) -> None:
        if time.monotonic() - self.spoke < QUIET:
            return
        best = percent(best_validation_accuracy)
        self._say(f"seed {seed}: epoch {epoch} of {self.epochs}, best validation {best} %, {self.left(epoch)} left")

    def seed_finished(self, outcome: SeedOutcome) -> None:
        super().seed_finished(outcome)
        if outcome.failure:
            result = f"failed: it {printable(outcome.failure)}"
        else:
            result = f"validation {percent(outcome.validation_accuracy)} % at epoch {outcome.best_epoch}"
        left = f", {self.left()} left" if self.finished < self.seeds else ""
        self._say(f"seed {outcome.seed}: {result} ({self.finished} of {self.seeds} done{left})")

    def _say(self, line: str) -> None:
        self.out.print(line, soft_wrap=True)
        self.spoke = time.monotonic()


class BarProgress(FitProgress):
    """Two bars: all seeds with the time left, and the epochs of the seed that is running."""

    def __init__(self, out: Console, seeds: int, epochs: int) -> None:
        super().__init__(out, seeds, epochs)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[count]}"),
            TextColumn("{task.fields[accuracy]}"),
            TimeRemainingColumn(),
            TextColumn("left"),
        )
        self.bars = Progress(*columns, console=out, transient=True, expand=True)
        self.all: TaskID | None = None
        self.one: TaskID | None = None

    def __exit__(self, *_: object) -> None:
        self.bars.stop()

    def seed_started(self, seed: int) -> None:  # noqa: ARG002
        if self.all is None:
            text = f"0/{self.seeds}"
            self.all = self.bars.add_task("seeds", total=self.seeds * self.epochs, count=text, accuracy="")
            self.one = self.bars.add_task("epochs", total=self.epochs, count="", accuracy="")
            self.bars.start()

    def epoch_done(self, seed: int, epoch: int, best_validation_accuracy: float) -> None:  # noqa: ARG002
        assert self.all is not None  # noqa: S101  (a seed starts before its epochs)
        assert self.one is not None  # noqa: S101
        best = f"best validation {percent(best_validation_accuracy)} %"
        self.bars.update(self.one, completed=epoch, count=f"{epoch}/{self.epochs}", accuracy=best)
        self.bars.update(self.all, completed=self.finished * self.epochs + epoch)

    def seed_finished(self, outcome: SeedOutcome) -> None:
        super().seed_finished(outcome)
        assert self.all is not None  # noqa: S101
        self.bars.update(
            self.all,
            completed=self.finished * self.epochs,
            count=f"{self.finished}/{self.seeds}",
            accuracy=f"mean {percent(self.mean)} %",
        )


def fit_progress(out: Console, seeds: int, epochs: int) -> FitProgress:
    return (BarProgress if out.is_terminal else PlainProgress)(out, seeds, epochs)
