"""How far a fit has come: bars on a terminal, a line for each seed elsewhere."""

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from hiergcn.cli.terminal import duration, percent, printable
from hiergcn.coarsen import Hierarchy
from hiergcn.run.fit import Listener
from hiergcn.train.loop import SeedOutcome

GIGABYTE = 1e9
WORTH_TELLING = 0.5 * GIGABYTE  # of memory: less is there anywhere
QUIET = 20.0  # seconds without a line, after which a long seed says how far it is


class FitProgress(Listener):
    """Keeps the figures that both ways of showing them need. Use it as a context."""

    def __init__(self, out: Console, seeds: int, epochs: int) -> None:
        self.out, self.seeds, self.epochs = out, seeds, epochs
        self.finished = 0
        self.running: dict[int, int] = {}  # seed: epoch
        self.accuracies: list[float] = []
        self.began = time.monotonic()

    def __enter__(self) -> "FitProgress":
        return self

    def __exit__(self, *_: object) -> None: ...

    def coarsened(self, hierarchy: Hierarchy, seconds: float) -> None:
        nodes = " → ".join(f"{n:,}" for n in hierarchy.sizes().nodes)
        self.out.print(f"Coarsened in {duration(seconds)}: {nodes} nodes")
        self.began = time.monotonic()  # time left is about training

    def planned(self, memory: int, available: int | None) -> None:
        if memory >= WORTH_TELLING:
            free = "" if available is None else f"; {available / GIGABYTE:.1f} GB are free"
            self.out.print(f"Training takes about {memory / GIGABYTE:.1f} GB of memory{free}")

    def epoch_done(self, seed: int, epoch: int, best_validation_accuracy: float) -> None:
        self.running[seed] = epoch

    def seed_finished(self, outcome: SeedOutcome) -> None:
        self.finished += 1
        self.running.pop(outcome.seed, None)
        if outcome.failure is None:
            self.accuracies.append(outcome.validation_accuracy)

    @property
    def mean(self) -> float | None:
        return sum(self.accuracies) / len(self.accuracies) if self.accuracies else None

    @property
    def epochs_done(self) -> int:
        """Of all seeds; several may be running."""
        return self.finished * self.epochs + sum(self.running.values())

    def left(self) -> str:
        """Time left, by the pace so far."""
        done = self.epochs_done / self.epochs
        return duration((time.monotonic() - self.began) / done * (self.seeds - done))


class PlainProgress(FitProgress):
    """Lines, for files and pipes."""

    def __init__(self, out: Console, seeds: int, epochs: int) -> None:
        super().__init__(out, seeds, epochs)
        self.spoke = time.monotonic()

    def epoch_done(self, seed: int, epoch: int, best_validation_accuracy: float) -> None:
        super().epoch_done(seed, epoch, best_validation_accuracy)
        if time.monotonic() - self.spoke < QUIET:
            return
        best = percent(best_validation_accuracy)
        self._say(f"seed {seed}: epoch {epoch} of {self.epochs}, best validation {best} %, {self.left()} left")

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

    def _begin(self) -> tuple[TaskID, TaskID]:
        if self.all is None or self.one is None:
            text = f"0/{self.seeds}"
            self.all = self.bars.add_task("seeds", total=self.seeds * self.epochs, count=text, accuracy="")
            self.one = self.bars.add_task("epochs", total=self.epochs, count="", accuracy="")
            self.bars.start()
        return self.all, self.one

    def epoch_done(self, seed: int, epoch: int, best_validation_accuracy: float) -> None:
        super().epoch_done(seed, epoch, best_validation_accuracy)
        every, one = self._begin()
        best = f"best validation {percent(best_validation_accuracy)} %"
        self.bars.update(one, completed=epoch, count=f"{epoch}/{self.epochs}", accuracy=best)
        self.bars.update(every, completed=self.epochs_done)

    def seed_finished(self, outcome: SeedOutcome) -> None:
        super().seed_finished(outcome)
        every, _ = self._begin()
        self.bars.update(
            every,
            completed=self.epochs_done,
            count=f"{self.finished}/{self.seeds}",
            accuracy=f"mean {percent(self.mean)} %",
        )


def fit_progress(out: Console, seeds: int, epochs: int) -> FitProgress:
    return (BarProgress if out.is_terminal else PlainProgress)(out, seeds, epochs)
