r"""Split conformal prediction: sets of classes, or intervals of numbers, that hold the truth with a chosen probability.

Nodes that neither trained nor selected the model calibrate it: each has a score that is larger the less the model
expected its truth. The threshold q is the :math:`\lceil (m + 1) \cdot coverage \rceil`-th smallest of the m scores.
A value of another node belongs to its set or interval if its score is at most q. If the calibrating nodes and the other
nodes are exchangeable, the truth belongs to it with probability `coverage` or a little more.

Sets of classes use adaptive scores (Romano, Sesia & Candès, NeurIPS 2020) without the class's own probability: the sum
of the probabilities of all classes that are more likely. The most likely class has score 0, so no set is empty and
nothing is drawn at random. Coverage exceeds what was asked for only if the most likely class alone is right more often.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hiergcn.errors import InputError

SEPARATOR = " | "
"""Between the classes of a set in `predictions.csv`."""

Floats = NDArray[np.float64]


def check_coverage(coverage: float) -> None:
    """Refuse a coverage that is not a probability between 0 and 1."""
    if not 0.0 < coverage < 1.0:
        raise InputError(f"Coverage is {coverage:g}; give a probability between 0 and 1, such as 0.9.")


def fewest_nodes(coverage: float) -> int:
    """Return the fewest calibration nodes that give a finite threshold: 9 for a coverage of 0.9."""
    return math.ceil(coverage / (1.0 - coverage) - 1e-9)


def conformal_threshold(scores: NDArray[np.floating], coverage: float) -> float:
    """Return the threshold of the calibrating nodes' scores, (m,); infinity if they are fewer than `fewest_nodes`."""
    check_coverage(coverage)
    rank = math.ceil((len(scores) + 1) * coverage - 1e-9)
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else math.inf


def adaptive_scores(probabilities: NDArray[np.floating]) -> Floats:
    """Return the score of each class at each node, (n, classes): the probability of all more likely classes."""
    p = probabilities.astype(np.float64)
    order = np.argsort(-p, axis=1, kind="stable")
    ranked = np.take_along_axis(p, order, axis=1)
    above = np.cumsum(ranked, axis=1) - ranked
    above[:, 0] = 0.0  # exactly
    scores = np.empty_like(p)
    np.put_along_axis(scores, order, above, axis=1)
    return scores


@dataclass(frozen=True)
class _Promise:
    """What holds the truth with a chosen probability."""

    coverage: float
    """The probability that was asked for."""
    bound: float
    """Threshold of the scores; infinite if there were too few calibrating nodes."""
    nodes: int
    """Number of calibrating nodes."""

    bound_name: ClassVar[str]
    """Name of the bound in `metrics.json`."""

    def to_dict(self) -> dict[str, Any]:
        bound = self.bound if math.isfinite(self.bound) else None  # JSON has no infinity
        return {"coverage": self.coverage, self.bound_name: bound, "calibration_nodes": self.nodes}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any] | None) -> Self | None:
        if saved is None:
            return None
        bound = saved[cls.bound_name]
        return cls(saved["coverage"], math.inf if bound is None else float(bound), saved["calibration_nodes"])


@dataclass(frozen=True)
class PredictionIntervals(_Promise):
    """What turns numbers into intervals. The score is the distance from the predicted number: half an interval."""

    bound_name = "half_width"

    @classmethod
    def calibrated(cls, predicted: Floats, truth: Floats, coverage: float) -> Self:
        """Return the intervals that the calibrating nodes give: predicted and true numbers, (m,) each."""
        return cls(coverage, conformal_threshold(np.abs(truth - predicted), coverage), len(truth))

    def ends(self, predicted: Floats) -> tuple[Floats, Floats]:
        """Return the lower and the upper end for each node, (n,)."""
        return predicted - self.bound, predicted + self.bound


@dataclass(frozen=True)
class PredictionSets(_Promise):
    """What turns probabilities into sets of classes. With an infinite bound, every class is in."""

    bound_name = "threshold"

    @classmethod
    def calibrated(cls, probabilities: NDArray[np.floating], labels: NDArray[np.integer], coverage: float) -> Self:
        """Return the sets that the calibrating nodes give: probabilities (m, classes), labels (m,)."""
        scores = adaptive_scores(probabilities)[np.arange(len(labels)), labels]
        return cls(coverage, conformal_threshold(scores, coverage), len(labels))

    def members(self, probabilities: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return whether each class is in the set of each node, (n, classes); the most likely one always is."""
        inside: NDArray[np.bool_] = adaptive_scores(probabilities) <= self.bound
        return inside

    def names(self, probabilities: NDArray[np.floating], class_names: Sequence[str]) -> NDArray[Any]:
        """Return the classes of each node's set in one text, the most likely first, (n,)."""
        order = np.argsort(-probabilities, axis=1, kind="stable")
        size = self.members(probabilities).sum(axis=1)
        return np.array(
            [SEPARATOR.join(class_names[k] for k in row[:count]) for row, count in zip(order, size, strict=True)],
            dtype=object,
        )


def describe_sets(sets: Mapping[str, Any]) -> str:
    """Describe nominal and measured coverage of the sets, from `prediction_sets` in `metrics.json`."""
    asked, nodes = f"{100 * sets['coverage']:g} %", sets["calibration_nodes"]
    if sets["threshold"] is None:
        needed = fewest_nodes(sets["coverage"])
        return (
            f"Prediction sets of {asked} need at least {needed} labels that neither train nor validate, and there are "
            f"too few labels for that: every set holds every class."
        )
    said = f"Prediction sets of {asked} hold {sets['mean_size']:.2f} classes on average, calibrated on {nodes:,} nodes"
    if sets["measured_coverage"] is None:
        return f"{said}; there are no test nodes to measure their coverage on."
    return f"{said}; {100 * sets['measured_coverage']:.1f} % of the sets of test nodes hold the true class."


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
