"""From records to cells: which result belongs to which figure of an experiment or of the paper (published.toml).

A record is found by its identity without the digest of the data, so that a page can be made without the datasets. Of
several results of one job, the latest counts.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hiergcn.evaluate.metrics import Summary
from hiergcn.evaluate.paired import Scores
from hiergcn_experiments.experiment import Cell, Experiment, Job
from hiergcn_experiments.experiments import NELL, Scale, packaged, paper_experiments, plus_experiments
from hiergcn_experiments.store import Record, identity


@dataclass(frozen=True)
class Printed:
    """A figure of the paper."""

    mean: float
    std: float | None = None
    runs: int | None = None
    """Number of runs, if the paper says so."""


_TABLES = packaged("published.toml")
TABLE1: dict[str, dict[str, float]] = _TABLES["table1"]
TABLE2, TABLE3, TABLE4 = (
    {arm: {place: Printed(*figure) for place, figure in row.items()} for arm, row in _TABLES[name].items()}
    for name in ("table2", "table3", "table4")
)
TABLE4["hgcn"] = TABLE2["hgcn"]
BEST_LEVELS = {"cora": 4, "citeseer": 4, "pubmed": 4, "nell": 5}
BEST_CHANNELS = dict.fromkeys(BEST_LEVELS, 4)


def printed_figure(experiment: str, arm: str, dataset: str, column: str) -> Printed | None:
    """Return the paper's figure for a cell of an experiment, if it prints one."""
    row = arm.removesuffix("-nell")
    if experiment == "table3":
        return TABLE3.get(row, {}).get(column) if dataset == "pubmed" else None
    return {"table2": TABLE2, "table4": TABLE4}.get(experiment, {}).get(row, {}).get(dataset)


@dataclass(frozen=True, eq=False)
class CellResult:
    """A cell with the records of its runs; None for a run that is missing."""

    cell: Cell
    records: tuple[Record | None, ...]
    """In the order of `cell.runs`."""

    @property
    def printed(self) -> Printed | None:
        """The paper's figure, if it prints one."""
        return printed_figure(self.cell.experiment, *self.cell.place)

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
        """Test accuracy by (split, seed); None for a run that failed."""
        places = {split.name: place for place, split in enumerate(dict.fromkeys(split for split, _ in self.cell.runs))}
        return {
            (places[split.name], seed): record.result["test_accuracy"]
            for (split, seed), record in zip(self.cell.runs, self.records, strict=True)
            if record is not None
        }

    @cached_property
    def accuracy(self) -> Summary:
        """Test accuracy over all runs that are there."""
        return Summary(tuple(self.scores.values()))

    def summary(self, name: str) -> Summary:
        """Summarise another figure of the runs, such as `validation_accuracy`."""
        return Summary(tuple(record.result.get(name) for record in self.found))

    @cached_property
    def by_split(self) -> dict[int, list[float]]:
        found = defaultdict(list)
        for (split, _), accuracy in self.scores.items():
            if accuracy is not None:
                found[split].append(accuracy)
        return found

    @property
    def spread_of_draws(self) -> float | None:
        """Standard deviation of the splits' means; the seeds' share in it is spread_of_seeds / sqrt(seeds)."""
        return Summary(tuple(float(np.mean(values)) for values in self.by_split.values())).std

    @property
    def spread_of_seeds(self) -> float | None:
        """Standard deviation over the seeds of one split, pooled over splits."""
        groups = [values for values in self.by_split.values() if len(values) > 1]
        if not groups:
            return None
        squares = sum(float(np.var(values, ddof=1)) * (len(values) - 1) for values in groups)
        return math.sqrt(squares / sum(len(values) - 1 for values in groups))

    @property
    def depth(self) -> int | None:
        """Levels of the deepest network, which may be fewer than requested."""
        return max((depth for one in self.found if (depth := one.result.get("depth")) is not None), default=None)

    @property
    def seconds(self) -> float | None:
        """Mean seconds per run."""
        known = [record.made["seconds"] for record in self.found if "seconds" in record.made]
        return math.fsum(known) / len(known) if known else None


class Results:
    """All records, found by their job."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.latest = {record.about: record for record in sorted(records, key=lambda one: one.finished)}

    def find(self, job: Job) -> Record | None:
        return self.latest.get(identity(job.key()))

    def cell(self, cell: Cell) -> CellResult:
        return CellResult(cell, tuple(self.find(training) for training in cell.trainings()))


class Evidence:
    """The cells and measurements of all experiments at one scale.

    On NELL H-GCN is judged by our recipe, which learns, and not by the paper's settings, which do not. That favours
    the paper.
    """

    def __init__(self, results: Results, scale: Scale) -> None:
        self.results, self.scale = results, scale
        self.paper, self.plus = paper_experiments(scale), plus_experiments(scale)
        self.cells = {
            name: {cell.place: results.cell(cell) for cell in one.cells()} for name, one in self.experiments.items()
        }
        """By experiment, then by (arm, dataset, column)."""

    @property
    def experiments(self) -> dict[str, Experiment]:
        return self.paper | self.plus

    def table2(self, arm: str, dataset: str) -> CellResult:
        return self.cells["table2"]["hgcn-nell" if (arm, dataset) == ("hgcn", NELL) else arm, dataset, ""]

    def table3(self, arm: str, column: str) -> CellResult:
        return self.cells["table3"][arm, self.scale.few_labels_on, column]

    def table4(self, arm: str, dataset: str) -> CellResult:
        return self.cells["table4"][f"{arm}-nell" if dataset == NELL else arm, dataset, ""]

    def varied(self, experiment: str, dataset: str) -> dict[int, CellResult]:
        """Return the cells of a figure by the value of the varied setting."""
        return {int(column): cell for (_, name, column), cell in self.cells[experiment].items() if name == dataset}

    def measured(self, experiment: str) -> list[dict[str, Any] | None]:
        """Return the figures of an experiment's measurements in order; None for a missing one."""
        found = map(self.results.find, self.experiments[experiment].measurements)
        return [record.result if record else None for record in found]

    def by_dataset(self, experiment: str) -> dict[str, dict[str, Any] | None]:
        """Return the figures of an experiment that measures once per dataset."""
        return dict(zip(self.scale.datasets, self.measured(experiment), strict=True))

    def used(self, experiments: Iterable[str]) -> list[Record]:
        """Return every record that these experiments rest on, once."""
        jobs = (job for name in experiments for job in self.experiments[name].jobs())
        found = (record for job in jobs if (record := self.results.find(job)))
        return list({record.about: record for record in found}.values())
