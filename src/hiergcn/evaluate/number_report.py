"""The scores of an answer that is a number for each node, and of its intervals."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from hiergcn.evaluate.conformal import PredictionIntervals, fewest_nodes
from hiergcn.evaluate.metrics import NUMBER_METRICS
from hiergcn.graph.graph import Graph
from hiergcn.graph.split import Split


@dataclass(frozen=True, eq=False)
class NumberReport:
    """The scores of an answer that is a number for each node."""

    on: Literal["test", "validation"]
    """As in `ModelReport`."""
    scores: Mapping[str, float | None]
    """By the name of the metric."""
    validation_scores: Mapping[str, float | None]
    intervals: PredictionIntervals | None = None
    measured: float | None = None
    """Share of the test nodes whose interval holds their number; None without test nodes or intervals."""

    def metrics(self) -> dict[str, Any]:
        """The part of `metrics.json` that is about the answer."""
        return {
            **{f"delivered_{name}": value if self.on == "test" else None for name, value in self.scores.items()},
            **{f"delivered_val_{name}": value for name, value in self.validation_scores.items()},
            "prediction_intervals": self._intervals(),
        }

    def _intervals(self) -> dict[str, Any] | None:
        found = self.intervals
        if found is None:
            return None
        return {
            "coverage": found.coverage,
            "half_width": found.half_width if math.isfinite(found.half_width) else None,
            "calibration_nodes": found.nodes,
            "measured_coverage": self.measured,
        }


def evaluate_numbers(graph: Graph, split: Split, numbers: np.ndarray, coverage: float | None = None) -> NumberReport:
    """Score an answer by its numbers, (n,). With a coverage, the calibration nodes give it intervals."""

    def scores(nodes: np.ndarray) -> dict[str, float | None]:
        truth = graph.truth[nodes]
        return {name: metric.score(truth, numbers[nodes]) for name, metric in NUMBER_METRICS.items()}

    on: Literal["test", "validation"] = "test" if len(split.test) else "validation"
    report = NumberReport(on, scores(getattr(split, on)), scores(split.validation))
    if coverage is None:
        return report
    nodes = split.calibration
    intervals = PredictionIntervals.calibrated(numbers[nodes], graph.truth[nodes], coverage)
    low, high = intervals.of(numbers[split.test])
    held = (low <= graph.truth[split.test]) & (graph.truth[split.test] <= high)
    return replace(report, intervals=intervals, measured=float(held.mean()) if held.size else None)


def describe_intervals(intervals: Mapping[str, Any]) -> str:
    """Describe nominal and measured coverage of the intervals, from `prediction_intervals` in `metrics.json`."""
    asked, half = f"{100 * intervals['coverage']:g} %", intervals["half_width"]
    if half is None:
        return (
            f"Intervals of {asked} need at least {fewest_nodes(intervals['coverage'])} values that neither train nor "
            f"validate, and there are too few values for that: they have no ends."
        )
    nodes = f"{intervals['calibration_nodes']:,} nodes"
    said = f"Intervals of {asked} are the predicted value ± {half:.3g}, calibrated on {nodes}"
    if intervals["measured_coverage"] is None:
        return f"{said}; there are no test nodes to measure their coverage on."
    return f"{said}; {100 * intervals['measured_coverage']:.1f} % of the intervals of test nodes hold the true value."
