"""Metrics and their summary over seeds.

This module and `report` alone read test labels: once, after validation has selected the epoch of every seed.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiergcn.graph.graph import Graph
from hiergcn.graph.split import Split
from hiergcn.graph.target import Kind, Target

Classes = NDArray[np.integer]
Numbers = NDArray[np.floating]
Outputs = NDArray[np.floating]


class Metric(NamedTuple):
    """A score of predictions."""

    title: str
    """As shown to people."""
    score: Callable[[NDArray[Any], NDArray[Any]], float | None]
    """Called with the true and the predicted classes or numbers of some nodes; None if it is not defined."""
    kind: Kind = "classes"
    """What is predicted."""
    of_outputs: bool = False
    """Whether `score` takes probabilities, (v, classes), in place of the predicted classes."""


def _accuracy(truth: Classes, predicted: Classes) -> float:
    return float((truth == predicted).mean())


class PerClass(NamedTuple):
    """Precision, recall and F1 of each class, (classes,); 0 if there is nothing to divide by."""

    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    f1: NDArray[np.float64]
    support: NDArray[np.int64]
    """Nodes of each class."""


def per_class(truth: Classes, predicted: Classes, n_classes: int) -> PerClass:
    """Score the predictions of each class, as scikit-learn's `precision_recall_fscore_support` does."""
    support, claimed = (np.bincount(classes, minlength=n_classes) for classes in (truth, predicted))
    right = np.bincount(truth[truth == predicted], minlength=n_classes)

    def share(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.divide(part, whole, out=np.zeros(n_classes), where=whole > 0)

    return PerClass(share(right, claimed), share(right, support), share(2 * right, support + claimed), support)


def _mean_over_classes(figure: Literal["f1", "recall"], truth: Classes, predicted: Classes) -> float:
    """Return the mean over the classes that occur; their precision counts every node that was predicted so."""
    scores = per_class(truth, predicted, int(max(truth.max(), predicted.max())) + 1)
    return float(getattr(scores, figure)[scores.support > 0].mean())


def _r2(truth: Numbers, predicted: Numbers) -> float | None:
    around_mean = float(((truth - truth.mean()) ** 2).sum())
    return 1.0 - float(((truth - predicted) ** 2).sum()) / around_mean if around_mean else None


METRICS: dict[str, Metric] = {
    "accuracy": Metric("accuracy", _accuracy),
    "macro_f1": Metric("macro-F1", partial(_mean_over_classes, "f1")),
    "balanced_accuracy": Metric("balanced accuracy", partial(_mean_over_classes, "recall")),
    "r2": Metric("R²", _r2, "numbers"),
    "mae": Metric("mean absolute error", lambda truth, predicted: float(np.abs(truth - predicted).mean()), "numbers"),
    "rmse": Metric(
        "root mean squared error", lambda truth, predicted: math.sqrt(((truth - predicted) ** 2).mean()), "numbers"
    ),
}
"""Every metric by its name; the first of a kind is the main one. Result files list what stands here, and so do tables
and pages of classes; those of numbers name R² and both errors themselves.
Of classes, higher is better and 1 is perfect. R² is 1 less the squared error in units of the variance; errors are in
the unit of the target, and lower is better."""


def metrics_for(target: Target | Kind) -> dict[str, Metric]:
    """Return the metrics of what is predicted, the main one first."""
    kind = target if isinstance(target, str) else target.kind
    return {name: metric for name, metric in METRICS.items() if metric.kind == kind}


def result_key(metric: str) -> str:
    """Return the name of a metric on test nodes in result files: `test_accuracy`, `test_r2`, but `macro_f1`, `mae`."""
    return f"test_{metric}" if metric in ("accuracy", "r2") else metric


@dataclass(frozen=True)
class Summary:
    """A metric over seeds. Failed seeds are None: they are counted beside the mean, never in it."""

    per_seed: tuple[float | None, ...]

    @property
    def values(self) -> np.ndarray:
        return np.array([value for value in self.per_seed if value is not None], dtype=np.float64)

    @property
    def mean(self) -> float | None:
        return float(self.values.mean()) if len(self.values) else None

    @property
    def std(self) -> float | None:
        """Sample standard deviation; None for fewer than two seeds."""
        return float(self.values.std(ddof=1)) if len(self.values) > 1 else None

    def to_dict(self) -> dict[str, Any]:
        return {"mean": self.mean, "std": self.std, "per_seed": list(self.per_seed)}


class PartReport(dict[str, Summary]):
    """Every metric on one part of the split, by its name."""

    @property
    def accuracy(self) -> Summary:
        return self["accuracy"]

    @property
    def main(self) -> Summary:
        """The first metric: accuracy of classes, R² of numbers."""
        return next(iter(self.values()))


def score(target: Target, truth: NDArray[Any], outputs: Outputs) -> dict[str, float | None]:
    """Return each metric of the target, by the truth of some nodes, (v,), and their outputs, (v, n_outputs)."""
    hard = target.hard_predictions(outputs)
    return {
        name: metric.score(truth, outputs if metric.of_outputs else hard)
        for name, metric in metrics_for(target).items()
    }


def evaluate_test(
    graph: Graph, split: Split, outputs: Mapping[int, Outputs], seeds: Sequence[int]
) -> PartReport | None:
    """Score the outputs of each seed on the test nodes; None if the split has none."""
    return evaluate_part(graph, split.test, outputs, seeds) if len(split.test) else None


def evaluate_part(
    graph: Graph, nodes: NDArray[np.int64], outputs: Mapping[int, Outputs], seeds: Sequence[int]
) -> PartReport:
    """Score the outputs of each seed, (n, n_outputs), on these nodes; a seed without any has failed."""
    scores = {seed: score(graph.target, graph.truth[nodes], each[nodes]) for seed, each in outputs.items()}
    names = metrics_for(graph.target)
    return PartReport({name: Summary(tuple(scores.get(seed, {}).get(name) for seed in seeds)) for name in names})


def accuracy_interval(accuracy: float, nodes: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of an accuracy measured on a random sample of nodes."""
    z, n = 1.96, max(nodes, 1)
    middle = (accuracy + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(accuracy * (1 - accuracy) / n + z * z / (4 * n * n))
    return max(middle - half, 0.0), min(middle + half, 1.0)
