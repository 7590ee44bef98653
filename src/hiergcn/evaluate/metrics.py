"""Metrics, their summary over seeds, and what an answer is worth, as in `metrics.json`.

This module alone reads test labels: once, after validation has selected the epoch of every seed. An answer is what a
run delivers: probabilities (n, classes), or numbers (n, 1). `Answers` turns it into `predictions.csv`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiergcn import files
from hiergcn.evaluate.calibration import PredictionIntervals, PredictionSets, Temperature, fit_temperature, reliability
from hiergcn.graph.graph import Graph
from hiergcn.graph.split import Split
from hiergcn.graph.target import Kind, Target

Classes = NDArray[np.integer]
Numbers = NDArray[np.floating]
Outputs = NDArray[np.floating]


class Metric(NamedTuple):
    """A score of predictions, and how tables and sentences show it."""

    title: str
    score: Callable[[NDArray[Any], NDArray[Any]], float | None]
    """Called with the true and the predicted classes or numbers of some nodes; None if it is not defined."""
    kind: Kind = "classes"
    """What is predicted."""
    of_outputs: bool = False
    """Whether `score` takes probabilities, (v, classes), in place of the predicted classes."""
    short: str = ""
    """A shorter title for the head of a column."""
    share: bool = False
    """Whether it is a fraction of 1, shown in per cent."""
    form: str = ".4g"
    """Format of the score if it is no share."""
    lower_is_better: bool = False

    @property
    def heading(self) -> str:
        """The head of a column of scores."""
        return f"{self.short or self.title}{' %' if self.share else ''}"

    @property
    def description(self) -> str:
        """The title, with what has to be said beside accuracies in per cent."""
        notes = ["lower is better"] * self.lower_is_better
        notes += ["not in %"] * (self.kind == "classes" and not self.share)
        return f"{self.title} ({', '.join(notes)})" if notes else self.title

    def text(self, value: float) -> str:
        """Return a score, or a difference of scores, as tables show it."""
        return f"{100 * value:.1f}" if self.share else format(value, self.form)

    def rank(self, value: float | None) -> float:
        """Return a number that is higher the better a score is; lowest without a score."""
        return -math.inf if value is None else -value if self.lower_is_better else value


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


_error = partial(Metric, kind="numbers", form="#.4g", lower_is_better=True)
METRICS: dict[str, Metric] = {
    "accuracy": Metric("accuracy", lambda truth, predicted: float((truth == predicted).mean()), share=True),
    "macro_f1": Metric("macro-F1", partial(_mean_over_classes, "f1"), share=True),
    "balanced_accuracy": Metric("balanced accuracy", partial(_mean_over_classes, "recall"), share=True),
    "r2": Metric("R²", _r2, "numbers", form=".3f"),
    "mae": _error("mean absolute error", lambda truth, predicted: float(np.abs(truth - predicted).mean()), short="MAE"),
    "rmse": _error(
        "root mean squared error", lambda truth, predicted: math.sqrt(((truth - predicted) ** 2).mean()), short="RMSE"
    ),
}
"""Every metric by its name; the first of a kind is the main one. Result files, tables and pages list what stands here,
but those of an earlier run only what it was scored by. R² is 1 less the squared error in units of the variance; errors
are in the unit of the target."""


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


def part_report(saved: Mapping[str, Any]) -> PartReport | None:
    """Return the scores on a part of the split from JSON; None if there are none."""
    if not all(saved.values()):
        return None
    return PartReport({name: Summary(tuple(over["per_seed"])) for name, over in saved.items()})


def saved_reports(scores: Mapping[str, Any]) -> dict[str, PartReport | None]:
    """Return the scores of a run over its seeds, by the metrics that its `metrics.json` names and that are known."""
    names = [name for key in scores if key.startswith("val_") and (name := key.removeprefix("val_")) in METRICS]
    return {
        "validation": part_report({name: scores[f"val_{name}"] for name in names}),
        "test": part_report({name: scores[result_key(name)] for name in names}),
    }


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


DIGITS = 4
"""Numbers are rounded to this power of ten of the training values' deviation; a model is never that exact."""


@dataclass(frozen=True)
class Answers:
    """What turns the outputs of an answer into predictions."""

    target: Target
    """Without values; of numbers, with the unit of training."""
    temperature: Temperature = Temperature()  # noqa: RUF009  (immutable)
    """Calibration of the probabilities; 1 for numbers."""
    promise: PredictionSets | PredictionIntervals | None = None
    """Sets or intervals that hold the truth with a chosen probability, if these were asked for."""

    @classmethod
    def from_metrics(cls, target: Target, metrics: Mapping[str, Any]) -> "Answers":
        """Return the answers that are saved as the content of `metrics.json`."""
        if target.kind == "numbers":
            return cls(target, promise=PredictionIntervals.from_dict(metrics["prediction_intervals"]))
        temperature = Temperature(float(metrics["calibration"]["temperature"]))
        return cls(target, temperature, PredictionSets.from_dict(metrics["prediction_sets"]))

    def confidence(self, outputs: Outputs) -> NDArray[np.float64]:
        """Return calibrated probabilities, (n, classes)."""
        return self.temperature.scale(outputs)

    def columns(self, outputs: Outputs) -> dict[str, NDArray[Any]]:
        """Return the columns of `predictions.csv`, rounded as there: a page says the same before a run is written.

        They are the class of each node, its probability, its calibrated probability, and the prediction set; or the
        number and the ends of its interval, NaN if it has none.
        """
        if self.target.scale is None:
            confidence, names = self.confidence(outputs), self.target.names
            columns = {
                "predicted": np.array(names, dtype=object)[outputs.argmax(axis=1)],
                "probability": np.round(outputs.max(axis=1).astype(np.float64), files.DIGITS),
                "confidence": np.round(confidence.max(axis=1), files.DIGITS),
            }
            if isinstance(self.promise, PredictionSets):
                columns["set"] = self.promise.names(confidence, names)
            return columns
        numbers = {"predicted": outputs[:, 0].astype(np.float64)}
        if isinstance(self.promise, PredictionIntervals):
            numbers["lower"], numbers["upper"] = self.promise.ends(numbers["predicted"])
        decimals = DIGITS - math.floor(math.log10(self.target.std))  # negative for tens, hundreds, ..
        rounded = {name: np.round(values, decimals) for name, values in numbers.items()}
        return {name: np.where(np.isfinite(values), values, np.nan) for name, values in rounded.items()}


def evaluate(
    graph: Graph, split: Split, outputs: Outputs, coverage: float | None = None
) -> tuple[Answers, dict[str, Any]]:
    """Return what turns the outputs of an answer into predictions, and its part of `metrics.json`.

    Test nodes are scored, or if there are none, validation nodes, which selected the model.
    """
    target, validation = graph.target.for_training(split.train), split.validation
    on, nodes = ("test", split.test) if len(split.test) else ("validation", validation)
    truth, scored = graph.truth[nodes], outputs[nodes]
    scores, validated = score(target, truth, scored), score(target, graph.truth[validation], outputs[validation])
    of_classes = [name for name, metric in metrics_for(target).items() if metric.of_outputs or name == "accuracy"]
    delivered = scores if target.kind == "numbers" else of_classes
    metrics: dict[str, Any] = {f"delivered_{name}": scores[name] if on == "test" else None for name in delivered}
    metrics |= {f"delivered_val_{name}": validated[name] for name in delivered}
    temperature = Temperature()
    if target.kind == "classes":
        temperature = fit_temperature(outputs[validation], graph.truth[validation])
    promise, promised = None, None
    if coverage is not None:
        promise, promised = evaluate_promise(graph, split, temperature.scale(outputs), coverage)
    answers = Answers(target, temperature, promise)
    if target.kind == "numbers":
        return answers, metrics | {"prediction_intervals": promised, "prediction_sets": None}

    before, after = reliability(scored, truth), reliability(temperature.scale(scored), truth)
    columns = ("name", "precision", "recall", "f1", "support")
    classes = per_class(truth, scored.argmax(axis=1), target.n_outputs)
    rows = zip(target.names, *(figures.tolist() for figures in classes), strict=True)
    return answers, metrics | {
        "per_class": {"on": on, "classes": [dict(zip(columns, row, strict=True)) for row in rows]},
        "calibration": {
            "temperature": temperature.value,
            "note": temperature.note,
            "ece_before": before.error,
            "ece_after": after.error,
            "on": on,
            "reliability": {"before": before.to_dict(), "after": after.to_dict()},
        },
        "prediction_sets": promised,
    }


def evaluate_promise(
    graph: Graph, split: Split, outputs: Outputs, coverage: float
) -> tuple[PredictionSets | PredictionIntervals, dict[str, Any]]:
    """Calibrate sets or intervals on the calibration nodes and measure their coverage on the test nodes.

    Outputs are calibrated probabilities, (n, classes), or numbers, (n, 1).
    """
    promise: PredictionSets | PredictionIntervals
    nodes, test = split.calibration, split.test
    truth, measured = graph.truth[test], dict[str, Any]()
    if graph.target.kind == "numbers":
        promise = PredictionIntervals.calibrated(outputs[nodes, 0], graph.truth[nodes], coverage)
        low, high = promise.ends(outputs[test, 0])
        held = (low <= truth) & (truth <= high)
    else:
        promise = PredictionSets.calibrated(outputs[nodes], graph.truth[nodes], coverage)
        inside = promise.members(outputs)
        sizes = np.bincount(inside.sum(axis=1), minlength=graph.n_outputs + 1)[1:]  # nodes with 1, 2, ... classes
        held, mean_size = inside[test, truth], np.average(np.arange(1, len(sizes) + 1), weights=sizes)
        measured = {"mean_size": float(mean_size), "sizes": sizes.tolist()}
    return promise, promise.to_dict() | {"measured_coverage": float(held.mean()) if held.size else None} | measured
