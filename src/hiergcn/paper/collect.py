"""From records to cells: which result belongs to which figure of an experiment.

A record is looked up by what it is about (dataset, settings, split, seed), not by its id, so that a page can be made
where neither the datasets nor the code of that day are at hand. Of several the latest counts; how many versions of the
code there are among them, the page says.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from hiergcn.evaluate.metrics import Summary
from hiergcn.evaluate.paired import Scores
from hiergcn.paper.experiment import Cell, Experiment
from hiergcn.paper.identity import Job, MeasureJob
from hiergcn.paper.store import Record
from hiergcn.run.settings import GROUPS, Settings


@dataclass(frozen=True, eq=False)
class CellResult:
    """A cell with the records of its runs, None where one is missing."""

    cell: Cell
    records: tuple[Record | None, ...]
    """In the order of `cell.runs`."""

    @property
    def missing(self) -> int:
        return sum(record is None for record in self.records)

    @property
    def failed(self) -> int:
        return sum(record is not None and record.result["test_accuracy"] is None for record in self.records)

    @property
    def done(self) -> int:
        """Runs with an accuracy."""
        return len(self.records) - self.missing - self.failed

    @property
    def splits(self) -> int:
        return len({split.name for split, _ in self.cell.runs})

    @cached_property
    def scores(self) -> Scores:
        """Test accuracy by (split, seed); None where the run failed."""
        places = {split.name: place for place, split in enumerate(dict.fromkeys(split for split, _ in self.cell.runs))}
        return {
            (places[split.name], seed): record.result["test_accuracy"]
            for (split, seed), record in zip(self.cell.runs, self.records, strict=True)
            if record is not None
        }

    @cached_property
    def accuracy(self) -> Summary:
        """Of the test, over all runs that are there."""
        return Summary(tuple(self.scores.values()))

    def summary(self, name: str) -> Summary:
        """Another figure of the runs: `validation_accuracy`, `train_accuracy`, ..."""
        return Summary(tuple(record.result.get(name) for record in self.records if record is not None))

    @cached_property
    def by_split(self) -> dict[int, list[float]]:
        found: dict[int, list[float]] = {}
        for (split, _), accuracy in self.scores.items():
            if accuracy is not None:
                found.setdefault(split, []).append(accuracy)
        return found

    @property
    def spread_of_draws(self) -> float | None:
        """Standard deviation of the splits' means; the seeds' share in it is spread_of_seeds / sqrt(seeds)."""
        means = [float(np.mean(values)) for values in self.by_split.values()]
        return float(np.std(means, ddof=1)) if len(means) > 1 else None

    @property
    def spread_of_seeds(self) -> float | None:
        """Standard deviation over the seeds of one split, pooled over splits."""
        groups = [values for values in self.by_split.values() if len(values) > 1]
        if not groups:
            return None
        squares = sum(float(np.var(values, ddof=1)) * (len(values) - 1) for values in groups)
        return math.sqrt(squares / sum(len(values) - 1 for values in groups))

    @property
    def depths(self) -> tuple[int, ...]:
        """Levels that the networks had, which may be fewer than were asked for."""
        found = {record.result.get("depth") for record in self.records if record is not None}
        return tuple(sorted(depth for depth in found if depth is not None))

    @property
    def seconds(self) -> float | None:
        known = [record.made["seconds"] for record in self.records if record is not None and "seconds" in record.made]
        return math.fsum(known) / len(known) if known else None


class Results:
    """All records, found by what they are about."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.trainings: dict[tuple[Any, ...], list[Record]] = {}
        self.measurements: dict[tuple[str, str], Record] = {}
        for record in sorted(records, key=lambda one: one.finished):
            key = record.key
            if key["kind"] == "training":
                where = (key["dataset"], key["method"], key["split"], key["seed"])
                self.trainings.setdefault(where, []).append(record)
            else:
                self.measurements[key["name"], _text(key["arguments"])] = record
        self._same: dict[tuple[str, Settings], bool] = {}

    def cell(self, cell: Cell) -> CellResult:
        return CellResult(
            cell, tuple(self._training(cell.dataset, cell.settings, split.name, seed) for split, seed in cell.runs)
        )

    def cells(self, experiment: Experiment) -> dict[tuple[str, str, str], CellResult]:
        """By (arm, dataset, column)."""
        return {cell.key: self.cell(cell) for cell in experiment.cells()}

    def answers(self, job: Job) -> bool:
        """Whether there is a result of this job, whatever version of the code made it."""
        if isinstance(job, MeasureJob):
            return self.measured(job.name, job.arguments) is not None
        return self._training(job.dataset, job.settings, job.split.name, job.seed) is not None

    def measured(self, name: str, arguments: Mapping[str, Any]) -> Record | None:
        return self.measurements.get((name, _text(arguments)))

    def _training(self, dataset: str, settings: Settings, split: str, seed: int) -> Record | None:
        candidates = self.trainings.get((dataset, settings.method, split, seed), [])
        fitting = (one for one in reversed(candidates) if self._fits(one.key["settings"], settings))
        return next(fitting, None)

    def _fits(self, stored: Mapping[str, Any], settings: Settings) -> bool:
        """Whether a result was made with these settings. One that a setting is newer than was made with its default."""
        key = (_text(stored), settings)
        if key not in self._same:
            self._same[key] = all(_same_group(stored[group], getattr(settings, group)) for group in GROUPS)
        return self._same[key]


def _same_group(stored: Mapping[str, Any], group: Any) -> bool:
    for field in fields(group):
        default = field.default if field.default is not MISSING else None
        if stored.get(field.name, default) != getattr(group, field.name):
            return False
    return True


def _text(arguments: Mapping[str, Any]) -> str:
    return json.dumps(dict(arguments), sort_keys=True)
