"""What an answer is worth, as in `metrics.json`, and what turns its outputs into `predictions.csv`.

An answer is what a run delivers: probabilities (n, classes), or numbers (n, 1).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiergcn import files
from hiergcn.evaluate.calibration import Temperature, fit_temperature, reliability
from hiergcn.evaluate.conformal import PredictionIntervals, PredictionSets
from hiergcn.evaluate.metrics import per_class, score
from hiergcn.graph.graph import Graph
from hiergcn.graph.split import Split
from hiergcn.graph.target import Target

DIGITS = 4
"""Numbers are rounded to this power of ten of the training values' deviation; a model is never that exact."""

Outputs = NDArray[np.floating]


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
    delivered = scores if target.kind == "numbers" else ["accuracy"]
    metrics: dict[str, Any] = {f"delivered_{name}": scores[name] if on == "test" else None for name in delivered}
    metrics |= {f"delivered_val_{name}": validated[name] for name in delivered}
    if target.kind == "numbers":
        intervals, promised = None, None
        if coverage is not None:
            intervals, promised = evaluate_intervals(graph, split, outputs, coverage)
        return Answers(target, promise=intervals), metrics | {"prediction_intervals": promised, "prediction_sets": None}

    temperature = fit_temperature(outputs[validation], graph.truth[validation])
    before, after = reliability(scored, truth), reliability(temperature.scale(scored), truth)
    columns = ("name", "precision", "recall", "f1", "support")
    classes = per_class(truth, scored.argmax(axis=1), target.n_outputs)
    rows = zip(target.names, *(figures.tolist() for figures in classes), strict=True)
    sets, promised = None, None
    if coverage is not None:
        sets, promised = evaluate_sets(graph, split, temperature.scale(outputs), coverage)
    return Answers(target, temperature, sets), metrics | {
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


def evaluate_sets(
    graph: Graph, split: Split, probabilities: Outputs, coverage: float
) -> tuple[PredictionSets, dict[str, Any]]:
    """Calibrate prediction sets on the calibration nodes and measure their coverage on the test nodes."""
    nodes = split.calibration
    sets = PredictionSets.calibrated(probabilities[nodes], graph.truth[nodes], coverage)
    inside = sets.members(probabilities)
    sizes = np.bincount(inside.sum(axis=1), minlength=graph.n_outputs + 1)[1:]  # nodes whose set has 1, 2, ... classes
    held = inside[split.test, graph.truth[split.test]]
    return sets, sets.to_dict() | {
        "measured_coverage": float(held.mean()) if held.size else None,
        "mean_size": float(np.average(np.arange(1, len(sizes) + 1), weights=sizes)),
        "sizes": sizes.tolist(),
    }


def evaluate_intervals(
    graph: Graph, split: Split, outputs: Outputs, coverage: float
) -> tuple[PredictionIntervals, dict[str, Any]]:
    """Calibrate intervals on the calibration nodes and measure their coverage on the test nodes."""
    numbers, truth, nodes = outputs[:, 0].astype(np.float64), graph.truth, split.calibration
    intervals = PredictionIntervals.calibrated(numbers[nodes], truth[nodes], coverage)
    low, high = intervals.ends(numbers[split.test])
    held = (low <= truth[split.test]) & (truth[split.test] <= high)
    return intervals, intervals.to_dict() | {"measured_coverage": float(held.mean()) if held.size else None}
