"""How far `hiergcn reproduce` has come: a bar on a terminal, a line now and then elsewhere."""

import time
from collections import Counter, defaultdict
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from hiergcn.cli.terminal import duration, printable
from hiergcn.paper.runner import RunListener
from hiergcn.paper.store import Record
from hiergcn.paper.units import Unit

QUIET = 15.0  # seconds between two lines


class RunProgress(RunListener):
    """Keeps the figures that both ways of showing them need. Use it as a context."""

    def __init__(self, out: Console) -> None:
        self.out = out
        self.all = self.done = 0
        self.waits: Counter[str] = Counter()
        self.spent: defaultdict[str, float] = defaultdict(float)
        self.seen: Counter[str] = Counter()
        self.began_at = self.spoke = time.monotonic()

    def __enter__(self) -> "RunProgress":
        return self

    def __exit__(self, *_: object) -> None: ...

    def began(self, jobs: int, units: Sequence[Unit]) -> None:
        for unit in units:
            self.waits[unit.what] += len(unit.jobs)
        self.all = missing = self.waits.total()
        self.began_at = time.monotonic()
        before = f"{jobs - missing:,} of {jobs:,} runs are done already; " if missing < jobs else ""
        self.out.print(f"{before}{missing:,} runs to do.", soft_wrap=True)

    def job_done(self, unit: Unit, record: Record) -> None:
        self.done += 1
        self.waits[unit.what] -= 1
        self.seen[unit.what] += 1
        self.spent[unit.what] += record.made["seconds"]
        failure = record.result.get("failure")
        if failure:
            split, seed = record.key["split"], record.key["seed"]
            self.out.print(f"{unit.what}, {split}, seed {seed}: {printable(failure)}", style="yellow", soft_wrap=True)
        self.show(unit)

    def unit_failed(self, unit: Unit, reason: str) -> None:
        self.all -= len(unit.jobs)
        self.waits[unit.what] -= len(unit.jobs)
        self.out.print(f"{unit.what}: not run. {printable(reason)}", style="yellow", soft_wrap=True)

    def waiting(self, jobs: int) -> None:
        if time.monotonic() - self.spoke > QUIET:
            self.spoke = time.monotonic()
            self.out.print(f"Another runner has {jobs:,} runs in hand; waiting for them.", soft_wrap=True)

    def left(self) -> str:
        """Time left: a run is taken to last as those of its kind did, or as the mean where there were none yet."""
        spent, seen = sum(self.spent.values()), self.seen.total()
        mean = spent / max(seen, 1)
        work = sum(
            count * (self.spent[what] / self.seen[what] if self.seen[what] else mean)
            for what, count in self.waits.items()
        )
        return duration((time.monotonic() - self.began_at) * work / max(spent, 1e-9))

    def show(self, unit: Unit) -> None:
        if time.monotonic() - self.spoke > QUIET:
            self.spoke = time.monotonic()
            self.out.print(
                f"{self.done:,} of {self.all:,} runs, about {self.left()} left (now {unit.what})", soft_wrap=True
            )


class BarProgress(RunProgress):
    """The same as a bar."""

    def __init__(self, out: Console) -> None:
        super().__init__(out)
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]} left"),
            TextColumn("{task.fields[now]}"),
        )
        self.bar = Progress(*columns, console=out, transient=True)
        self.task: TaskID | None = None

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def began(self, jobs: int, units: Sequence[Unit]) -> None:
        super().began(jobs, units)
        self.task = self.bar.add_task("runs", total=self.all, left="?", now="")
        self.bar.start()

    def show(self, unit: Unit) -> None:
        assert self.task is not None
        self.bar.update(self.task, completed=self.done, total=self.all, left=self.left(), now=unit.what)


def run_progress(out: Console) -> RunProgress:
    return (BarProgress if out.is_terminal else RunProgress)(out)
