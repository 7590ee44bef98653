"""Results of the benchmark of labels: learning curves, labels saved, coverage, precision."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hiergcn.evaluate.metrics import Summary
from hiergcn.evaluate.paired import PairedDifference, paired_difference
from hiergcn.paper.label_strategies import TASKS
from hiergcn.paper.labels import AUTO, COVERAGE, DOUBTFUL, LINEAR, NAME, PER_CLASS, SCALE
from hiergcn.paper.store import Record

Figures = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Curves:
    """Accuracies of every strategy on one task, by labels per class and draw."""

    task: str
    draws: Mapping[int, Figures]
    """By draw: accuracies by strategy, then by labels per class."""

    def of(self, strategy: str, per_class: int) -> Summary:
        """Return the accuracies of the draws; a fit that failed is None."""
        return Summary(tuple(draw.get(strategy, {}).get(str(per_class)) for draw in self.draws.values()))

    def mean(self, strategy: str, per_class: int) -> float | None:
        return self.of(strategy, per_class).mean

    def lead(self, strategy: str, over: str, per_class: int) -> PairedDifference:
        """Return the difference of two strategies, paired by draw."""
        ours, theirs = (
            {(draw, 0): one.get(name, {}).get(str(per_class)) for draw, one in self.draws.items()}
            for name in (strategy, over)
        )
        return paired_difference(strategy, ours, over, theirs)

    def saved(self, strategy: str, per_class: int) -> float | None:
        """Return the share of labels that a strategy saves beside random nodes of the same accuracy.

        The accuracy of random nodes is interpolated over the logarithm of their number. None if so many random nodes
        as were tried are not enough.
        """
        wanted = self.mean(strategy, per_class)
        sizes = sorted(int(size) for size in next(iter(self.draws.values()), {}).get("random", {}))
        known = [(size, mean) for size in sizes if (mean := self.mean("random", size)) is not None]
        if wanted is None or not known:
            return None
        climbing = np.maximum.accumulate([mean for _, mean in known])
        if wanted > climbing[-1]:
            return None
        places = np.log([size for size, _ in known])
        needed = float(np.exp(np.interp(wanted, climbing + 1e-12 * np.arange(len(climbing)), places)))
        return 1.0 - per_class / needed


@dataclass(frozen=True, eq=False)
class LabelsResults:
    """Every result of the benchmark, by its part."""

    records: Sequence[Record]

    def of(self, name: str) -> list[Record]:
        return [one for one in self.records if one.key["name"] == name]

    @cached_property
    def linear(self) -> dict[str, Curves]:
        return self._curves(LINEAR)

    @cached_property
    def auto(self) -> dict[str, Curves]:
        return self._curves(AUTO)

    def _curves(self, name: str) -> dict[str, Curves]:
        found: dict[str, dict[int, Figures]] = {}
        for record in self.of(name):
            about = record.key["arguments"]
            found.setdefault(about["task"], {})[about["draw"]] = record.result["accuracy"]
        return {task: Curves(task, dict(sorted(found[task].items()))) for task in TASKS if task in found}

    def sets(self, model: str, nodes: int, asked: float) -> dict[str, dict[str, Summary]]:
        """Return coverage, mean size and accuracy of the splits of each task."""
        found: dict[str, dict[str, list[float]]] = {}
        for record in self.of(COVERAGE):
            about = record.key["arguments"]
            if about["model"] == model:
                row = next(one for one in record.result["sets"] if (one["nodes"], one["asked"]) == (nodes, asked))
                own = found.setdefault(about["task"], {"covered": [], "size": [], "accuracy": []})
                own["covered"].append(row["covered"])
                own["size"].append(row["size"])
                own["accuracy"].append(record.result["accuracy"])
        return {
            task: {name: Summary(tuple(values)) for name, values in found[task].items()}
            for task in TASKS
            if task in found
        }

    def doubts(self, more: int) -> dict[str, list[Figures]]:
        """Return the figures of each draw by task."""
        found: dict[str, list[Figures]] = {}
        for record in self.of(DOUBTFUL):
            if record.key["arguments"]["more"] == more:
                found.setdefault(record.key["arguments"]["task"], []).append(record.result)
        return {task: found[task] for task in TASKS if task in found}

    @cached_property
    def scale(self) -> dict[int, Figures]:
        """Return seconds by the number of nodes."""
        return {one.key["arguments"]["nodes"]: one.result for one in self.of(SCALE)}


def labels_records(records: Iterable[Record]) -> list[Record]:
    """Return the records of this benchmark; of several of one measurement the latest."""
    ours = [one for one in records if str(one.key.get("name", "")).startswith(f"{NAME}-")]
    latest = {(one.key["name"], *_place(one)): one for one in sorted(ours, key=lambda one: one.finished)}
    return list(latest.values())


def _place(record: Record) -> tuple[Any, ...]:
    about = {name: value for name, value in record.key["arguments"].items() if name not in ("time_limit", "per_class")}
    return tuple(sorted(about.items()))


def cells(curves: Mapping[str, Curves], sizes: Sequence[int] = PER_CLASS) -> list[tuple[Curves, int]]:
    """Return every task with every number of labels that it has results for."""
    return [(one, size) for one in curves.values() for size in sizes if one.mean("random", size) is not None]
