"""Metrics and their summary over seeds.

This module and `number_report` alone read test labels: once, after validation has selected the epoch of every seed.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiergcn.evaluate.calibration import Reliability, Temperature, reliability
from hiergcn.evaluate.conformal import PredictionSets, fewest_nodes
from hiergcn.graph.graph import Graph
from hiergcn.graph.split import Split

Classes = NDArray[np.integer]
Numbers = NDArray[np.floating]


class Metric(NamedTuple):
    """A score of predicted classes or numbers."""

    title: str
    """As shown to people."""
    score: Callable[[NDArray[Any], NDArray[Any]], float | None]
    """Called with the true and the predicted classes or numbers of some nodes; None if it is not defined."""


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
}
"""Every metric of classes by its name. Result files, tables and pages list what stands here; accuracy comes first.
Higher is better, 1 is perfect."""

NUMBER_METRICS: dict[str, Metric] = {
    "r2": Metric("R²", _r2),
    "mae": Metric("mean absolute error", lambda truth, predicted: float(np.abs(truth - predicted).mean())),
    "rmse": Metric("root mean squared error", lambda truth, predicted: math.sqrt(((truth - predicted) ** 2).mean())),
}
"""The same of numbers. R² is 1 less the squared error in units of the variance; errors are in the unit of the target,
and lower is better."""


def metrics_for(graph: Graph) -> dict[str, Metric]:
    """Return the metrics of what is predicted, the main one first."""
    return METRICS if graph.targets is None else NUMBER_METRICS


def decided(outputs: NDArray[np.floating]) -> NDArray[Any]:
    """Return the class of each node by its probabilities (n, classes), or its number if there is one column; (n,)."""
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs.argmax(axis=1)


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


@dataclass(frozen=True)
class ClassScore:
    """Precision, recall and F1 of one class; 0 if there is nothing to divide by."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int
    """Number of nodes of the class."""


@dataclass(frozen=True, eq=False)
class ModelReport:
    """The scores of an answer, in all and for each class, and the calibration of its probabilities."""

    on: Literal["test", "validation"]
    """The nodes that are scored: validation, which selected the model, only if there are no test nodes."""
    accuracy: float
    validation_accuracy: float
    per_class: tuple[ClassScore, ...]
    temperature: Temperature
    before: Reliability
    after: Reliability

    def metrics(self) -> dict[str, Any]:
        """The part of `metrics.json` that is about the answer."""
        return {
            "delivered_accuracy": self.accuracy if self.on == "test" else None,
            "delivered_val_accuracy": self.validation_accuracy,
            "per_class": {"on": self.on, "classes": [vars(score) for score in self.per_class]},
            "calibration": self.calibration(),
        }

    def calibration(self) -> dict[str, Any]:
        return {
            "temperature": self.temperature.value,
            "note": self.temperature.note,
            "ece_before": self.before.error,
            "ece_after": self.after.error,
            "on": self.on,
            "reliability": {"before": self.before.to_dict(), "after": self.after.to_dict()},
        }


def evaluate_test(
    graph: Graph, split: Split, predicted: Mapping[int, np.ndarray], seeds: Sequence[int]
) -> PartReport | None:
    """Score the predictions (n,) of each seed on the test nodes; None if the split has none. See `decided`."""
    return evaluate_part(graph, split.test, predicted, seeds) if len(split.test) else None


def evaluate_part(
    graph: Graph, nodes: np.ndarray, predicted: Mapping[int, np.ndarray], seeds: Sequence[int]
) -> PartReport:
    """Score the predictions (n,) of each seed on these nodes; a seed without any has failed."""
    truth = graph.truth[nodes]

    def over_seeds(metric: Metric) -> Summary:
        found = [metric.score(truth, predicted[seed][nodes]) if seed in predicted else None for seed in seeds]
        return Summary(tuple(found))

    return PartReport({name: over_seeds(metric) for name, metric in metrics_for(graph).items()})


def evaluate_model(graph: Graph, split: Split, probabilities: np.ndarray, temperature: Temperature) -> ModelReport:
    """Score an answer by its probabilities (n, classes)."""
    on: Literal["test", "validation"] = "test" if len(split.test) else "validation"
    nodes: np.ndarray = getattr(split, on)
    truth, found = graph.truth[nodes], probabilities[nodes]
    predicted = found.argmax(axis=1)
    scores = zip(graph.class_names, *per_class(truth, predicted, len(graph.class_names)), strict=True)
    return ModelReport(
        on=on,
        accuracy=_accuracy(truth, predicted),
        validation_accuracy=_accuracy(graph.truth[split.validation], probabilities[split.validation].argmax(axis=1)),
        per_class=tuple(ClassScore(name, float(p), float(r), float(f1), int(n)) for name, p, r, f1, n in scores),
        temperature=temperature,
        before=reliability(found, truth),
        after=reliability(temperature.of(found), truth),
    )


@dataclass(frozen=True, eq=False)
class SetReport:
    """Prediction sets, their sizes over all nodes, and how often they hold the truth at test nodes."""

    sets: PredictionSets
    sizes: tuple[int, ...]
    """Number of nodes whose set has 1, 2, ... classes."""
    measured: float | None
    """Share of the test nodes whose set holds their class; None without test nodes."""

    @property
    def mean_size(self) -> float:
        return float(np.average(np.arange(1, len(self.sizes) + 1), weights=self.sizes))

    def to_dict(self) -> dict[str, Any]:
        sets = self.sets
        return {
            "coverage": sets.coverage,
            "threshold": None if sets.holds_every_class else sets.threshold,
            "calibration_nodes": sets.nodes,
            "measured_coverage": self.measured,
            "mean_size": self.mean_size,
            "sizes": list(self.sizes),
        }


def evaluate_sets(graph: Graph, split: Split, probabilities: np.ndarray, coverage: float) -> SetReport:
    """Calibrate prediction sets on the calibration nodes and measure their coverage on the test nodes."""
    nodes = split.calibration
    sets = PredictionSets.calibrated(probabilities[nodes], graph.truth[nodes], coverage)
    inside = sets.of(probabilities)
    sizes = np.bincount(inside.sum(axis=1), minlength=graph.n_classes + 1)[1:]
    held = inside[split.test, graph.truth[split.test]]
    return SetReport(sets, tuple(sizes.tolist()), float(held.mean()) if held.size else None)


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


def accuracy_interval(accuracy: float, nodes: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of an accuracy measured on a random sample of nodes."""
    z, n = 1.96, max(nodes, 1)
    middle = (accuracy + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(accuracy * (1 - accuracy) / n + z * z / (4 * n * n))
    return max(middle - half, 0.0), min(middle + half, 1.0)
