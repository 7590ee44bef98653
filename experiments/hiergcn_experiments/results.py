"""From records to cells: which results belong to which figure, and how two cells differ.

A record is found by its identity without the digest of the data, so that a page can be made without the datasets. Of
several results of one job, the latest counts.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hiergcn.research import PairedDifference, Scores, Summary, paired_difference
from hiergcn_experiments.experiment import Cell, Job
from hiergcn_experiments.store import Record, identity


@dataclass(frozen=True, eq=False)
class CellResult:
    """A cell with the records of its runs; None for a run that is missing."""

    cell: Cell
    records: tuple[Record | None, ...]
    """In the order of `cell.runs`."""

    @property
    def found(self) -> list[Record]:
        return [record for record in self.records if record is not None]

    @property
    def missing(self) -> int:
        return len(self.records) - len(self.found)

    @property
    def failed(self) -> int:
        return sum(record.result["test_accuracy"] is None for record in self.found)

    @property
    def done(self) -> int:
        """Number of runs that have an accuracy."""
        return len(self.found) - self.failed

    @property
    def splits(self) -> int:
        return len({split.name for split, _ in self.cell.runs})

    @cached_property
    def scores(self) -> Scores:
        """Test accuracy by (number of the split, seed); None for a run that failed."""
        numbers = {split.name: k for k, split in enumerate(dict.fromkeys(split for split, _ in self.cell.runs))}
        runs = zip(self.cell.runs, self.records, strict=True)
        return {(numbers[split.name], seed): one.result["test_accuracy"] for (split, seed), one in runs if one}

    @cached_property
    def accuracy(self) -> Summary:
        """Test accuracy over all runs that are there."""
        return Summary(tuple(self.scores.values()))

    def summary(self, name: str) -> Summary:
        """Summarise another figure of the runs, such as `validation_accuracy`."""
        return Summary(tuple(record.result.get(name) for record in self.found))

    @cached_property
    def by_split(self) -> dict[int, Summary]:
        """Test accuracy over the seeds of each split that has any."""
        found: dict[int, list[float]] = defaultdict(list)
        for (split, _), accuracy in self.scores.items():
            if accuracy is not None:
                found[split].append(accuracy)
        return {split: Summary(tuple(values)) for split, values in found.items()}

    @property
    def independent(self) -> Scores:
        """Values that do not depend on each other: the scores if there is one split, otherwise the splits' means."""
        return self.scores if self.splits == 1 else {(split, 0): one.mean for split, one in self.by_split.items()}

    @property
    def std_of_draws(self) -> float | None:
        """Standard deviation of the splits' means; the seeds' share in it is std_of_seeds / sqrt(seeds)."""
        return Summary(tuple(one.mean for one in self.by_split.values())).std

    @property
    def std_of_seeds(self) -> float | None:
        """Standard deviation over the seeds of one split, pooled over splits."""
        groups = [one.values for one in self.by_split.values() if len(one.values) > 1]
        squares = sum(float(values.var(ddof=1)) * (len(values) - 1) for values in groups)
        return math.sqrt(squares / sum(len(values) - 1 for values in groups)) if groups else None

    @property
    def depth(self) -> int | None:
        """Levels of the deepest network, which may be fewer than requested."""
        return max((depth for one in self.found if (depth := one.result.get("depth")) is not None), default=None)

    @property
    def seconds(self) -> float | None:
        """Mean seconds per run."""
        known = [record.made["seconds"] for record in self.found if "seconds" in record.made]
        return math.fsum(known) / len(known) if known else None

    def minus(self, other: "CellResult") -> PairedDifference:
        """Return the difference to another cell, paired by seed on one split and by split if there are several."""
        return paired_difference(self.cell.variant, self.independent, other.cell.variant, other.independent)


class Results:
    """All records, found by their job."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.latest = {record.about: record for record in sorted(records, key=lambda one: one.finished)}

    def find(self, job: Job) -> Record | None:
        return self.latest.get(identity(job.key()))

    def cell(self, cell: Cell) -> CellResult:
        return CellResult(cell, tuple(self.find(training) for training in cell.trainings()))


@dataclass(frozen=True, eq=False)
class TaskResults:
    """The results of a measurement on one task."""

    task: str
    runs: Mapping[int, Mapping[str, Any]]
    """Figures by the number of the split or draw."""
    made: Sequence[Mapping[str, Any]] = ()
    """Provenance of the runs."""

    def summary(self, *path: str) -> Summary:
        """Summarise the figure that stands under these keys; None in runs that do not have it."""

        def value(run: Any) -> float | None:
            for key in path:
                run = (run or {}).get(key)
            return None if run is None else float(run)

        return Summary(tuple(map(value, self.runs.values())))

    def mean(self, *path: str) -> float:
        """Return the mean of a figure that all runs have."""
        return float(self.summary(*path).values.mean())


def by_task(records: Iterable[Record], tasks: Iterable[str], name: str, **about: Any) -> dict[str, TaskResults]:
    """Return the results of a measurement by task, in the order of the tasks, but for runs that failed.

    With `about`, only those with these arguments.
    """
    found: dict[str, dict[int, Record]] = {task: {} for task in tasks}
    for one in records:
        given = one.key["arguments"]
        if one.key["name"] == name and about.items() <= given.items() and not one.result.get("failure"):
            found[given["task"]][given["split"] if "split" in given else given["draw"]] = one
    return {
        task: TaskResults(task, {k: each[k].result for k in sorted(each)}, [each[k].made for k in sorted(each)])
        for task, each in found.items()
        if each
    }
