"""The report on an answer: its scores, as in `metrics.json`, and what turns its outputs into `predictions.csv`.

An answer is what a run delivers: probabilities (n, classes), or numbers (n, 1).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from hiergcn import files
from hiergcn.evaluate.calibration import Reliability, Temperature, fit_temperature, reliability
from hiergcn.evaluate.conformal import PredictionIntervals, PredictionSets
from hiergcn.evaluate.metrics import per_class, score
from hiergcn.graph.graph import Graph
from hiergcn.graph.split import Split
from hiergcn.graph.target import Classes, Numbers, Target

DIGITS = 4
"""Numbers are rounded to this power of ten of the training values' deviation; a model is never that exact."""

Outputs = NDArray[np.floating]


class Answers(ABC):
    """What turns the outputs of an answer into predictions."""

    target: Target
    """Without values; of numbers, with the unit of training."""

    @property
    @abstractmethod
    def promise(self) -> PredictionSets | PredictionIntervals | None:
        """Sets or intervals that hold the truth with a chosen probability, if these were asked for."""

    @abstractmethod
    def columns(self, outputs: Outputs) -> dict[str, NDArray[Any]]:
        """Return the columns of `predictions.csv`, rounded as there: a page says the same before a run is written."""


@dataclass(frozen=True)
class ClassAnswers(Answers):
    """Answers that are classes."""

    target: Classes
    temperature: Temperature = Temperature()  # noqa: RUF009  (immutable)
    sets: PredictionSets | None = None

    @property
    def promise(self) -> PredictionSets | None:
        return self.sets

    def columns(self, outputs: Outputs) -> dict[str, NDArray[Any]]:
        """Return the class of each node, its probability, its calibrated probability, and the prediction set."""
        confidence = self.temperature.scale(outputs)
        return {
            "predicted": np.array(self.target.names, dtype=object)[outputs.argmax(axis=1)],
            "probability": np.round(outputs.max(axis=1).astype(np.float64), files.DIGITS),
            "confidence": np.round(confidence.max(axis=1), files.DIGITS),
            **({} if self.sets is None else {"set": self.sets.names(confidence, self.target.names)}),
        }


@dataclass(frozen=True)
class NumberAnswers(Answers):
    """Answers that are numbers."""

    target: Numbers
    intervals: PredictionIntervals | None = None

    @property
    def promise(self) -> PredictionIntervals | None:
        return self.intervals

    @property
    def decimals(self) -> int:
        """Decimals of numbers in tables; negative for tens, hundreds, .."""
        return DIGITS - math.floor(math.log10(self.target.unit.std))

    def columns(self, outputs: Outputs) -> dict[str, NDArray[Any]]:
        """Return the number of each node, (n, 1) -> (n,), and its interval; NaN if that has no end."""
        columns = {"predicted": outputs[:, 0].astype(np.float64)}
        if self.intervals is not None:
            columns["lower"], columns["upper"] = self.intervals.ends(columns["predicted"])
        rounded = {name: np.round(values, self.decimals) for name, values in columns.items()}
        return {name: np.where(np.isfinite(values), values, np.nan) for name, values in rounded.items()}


@dataclass(frozen=True, eq=False)
class Report(ABC):
    """The scores of an answer."""

    target: Target
    """As in `Answers`."""
    on: Literal["test", "validation"]
    """The nodes that are scored: validation, which selected the model, only if there are no test nodes."""
    scores: Mapping[str, float | None]
    """By the name of the metric."""
    validation_scores: Mapping[str, float | None]

    @property
    @abstractmethod
    def answers(self) -> Answers:
        """What turns the outputs of the answer into predictions."""

    @abstractmethod
    def metrics(self) -> dict[str, Any]:
        """Return the part of `metrics.json` that is about the answer."""

    @abstractmethod
    def with_coverage(self, graph: Graph, split: Split, outputs: Outputs, coverage: float) -> Self:
        """Return the report with sets or intervals by the calibration nodes, whose coverage test nodes measure."""

    def _delivered(self, *names: str) -> dict[str, Any]:
        tested = {f"delivered_{name}": self.scores[name] if self.on == "test" else None for name in names}
        return tested | {f"delivered_val_{name}": self.validation_scores[name] for name in names}


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
        return {
            "coverage": self.sets.coverage,
            "threshold": None if self.sets.holds_every_class else self.sets.threshold,
            "calibration_nodes": self.sets.nodes,
            "measured_coverage": self.measured,
            "mean_size": self.mean_size,
            "sizes": list(self.sizes),
        }


@dataclass(frozen=True, eq=False)
class ClassReport(Report):
    """The scores of an answer of classes, in all and for each class, and the calibration of its probabilities."""

    target: Classes
    per_class: tuple[ClassScore, ...]
    temperature: Temperature
    before: Reliability
    after: Reliability
    sets: SetReport | None = None

    @property
    def accuracy(self) -> float:
        return self.scores["accuracy"] or 0.0

    @property
    def validation_accuracy(self) -> float:
        return self.validation_scores["accuracy"] or 0.0

    @property
    def answers(self) -> ClassAnswers:
        return ClassAnswers(self.target, self.temperature, None if self.sets is None else self.sets.sets)

    def metrics(self) -> dict[str, Any]:
        return self._delivered("accuracy") | {
            "per_class": {"on": self.on, "classes": [vars(score) for score in self.per_class]},
            "calibration": self.calibration(),
            "prediction_sets": None if self.sets is None else self.sets.to_dict(),
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

    def with_coverage(self, graph: Graph, split: Split, outputs: Outputs, coverage: float) -> "ClassReport":
        return replace(self, sets=evaluate_sets(graph, split, self.temperature.scale(outputs), coverage))


def evaluate_sets(graph: Graph, split: Split, probabilities: Outputs, coverage: float) -> SetReport:
    """Calibrate prediction sets on the calibration nodes and measure their coverage on the test nodes."""
    nodes = split.calibration
    sets = PredictionSets.calibrated(probabilities[nodes], graph.truth[nodes], coverage)
    inside = sets.members(probabilities)
    sizes = np.bincount(inside.sum(axis=1), minlength=graph.n_outputs + 1)[1:]
    held = inside[split.test, graph.truth[split.test]]
    return SetReport(sets, tuple(sizes.tolist()), float(held.mean()) if held.size else None)


@dataclass(frozen=True, eq=False)
class NumberReport(Report):
    """The scores of an answer that is a number for each node."""

    target: Numbers
    intervals: PredictionIntervals | None = None
    measured: float | None = None
    """Share of the test nodes whose interval holds their number; None without test nodes or intervals."""

    @property
    def answers(self) -> NumberAnswers:
        return NumberAnswers(self.target, self.intervals)

    def metrics(self) -> dict[str, Any]:
        intervals = self.intervals
        promised = intervals and {
            "coverage": intervals.coverage,
            "half_width": intervals.half_width if math.isfinite(intervals.half_width) else None,
            "calibration_nodes": intervals.nodes,
            "measured_coverage": self.measured,
        }
        return self._delivered(*self.scores) | {"prediction_intervals": promised, "prediction_sets": None}

    def with_coverage(self, graph: Graph, split: Split, outputs: Outputs, coverage: float) -> "NumberReport":
        numbers, truth, nodes = outputs[:, 0].astype(np.float64), graph.truth, split.calibration
        intervals = PredictionIntervals.calibrated(numbers[nodes], truth[nodes], coverage)
        low, high = intervals.ends(numbers[split.test])
        held = (low <= truth[split.test]) & (truth[split.test] <= high)
        return replace(self, intervals=intervals, measured=float(held.mean()) if held.size else None)


def evaluate(graph: Graph, split: Split, outputs: Outputs) -> Report:
    """Score an answer by its probabilities, (n, classes), or its numbers, (n, 1)."""
    target = graph.target.for_training(split.train)
    on: Literal["test", "validation"] = "test" if len(split.test) else "validation"
    nodes = split.test if on == "test" else split.validation
    truth, scored = graph.truth[nodes], outputs[nodes]
    validated = graph.truth[split.validation], outputs[split.validation]
    scores, validation_scores = score(target, truth, scored), score(target, *validated)
    if isinstance(target, Numbers):
        return NumberReport(target, on, scores, validation_scores)
    assert isinstance(target, Classes)
    temperature = fit_temperature(validated[1], validated[0])
    each = zip(target.names, *per_class(truth, scored.argmax(axis=1), target.n_outputs), strict=True)
    return ClassReport(
        target,
        on,
        scores,
        validation_scores,
        per_class=tuple(ClassScore(name, float(p), float(r), float(f1), int(n)) for name, p, r, f1, n in each),
        temperature=temperature,
        before=reliability(scored, truth),
        after=reliability(temperature.scale(scored), truth),
    )
