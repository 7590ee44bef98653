"""Predictions of each node, as columns of `predictions.csv`: a class, or a number."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiergcn import files
from hiergcn.evaluate.calibration import Temperature
from hiergcn.evaluate.conformal import PredictionIntervals, PredictionSets
from hiergcn.graph.target import Scale

DIGITS = 4
"""Numbers are rounded to this power of ten of the training values' deviation; a model is never that exact."""


@dataclass(frozen=True)
class ClassAnswers:
    """Answers that are classes."""

    class_names: tuple[str, ...]
    temperature: Temperature
    sets: PredictionSets | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return self.class_names

    def columns(self, probabilities: NDArray[np.floating]) -> dict[str, NDArray[Any]]:
        """Return the class of each node, its probability, its calibrated probability, and the prediction set.

        Probabilities are rounded as in files, so that a page says the same before and after a run is written.
        """
        confidence = self.temperature.of(probabilities)
        return {
            "predicted": np.array(self.class_names, dtype=object)[probabilities.argmax(axis=1)],
            "probability": np.round(probabilities.max(axis=1).astype(np.float64), files.DIGITS),
            "confidence": np.round(confidence.max(axis=1), files.DIGITS),
            **({} if self.sets is None else {"set": self.sets.names(confidence, self.class_names)}),
        }


@dataclass(frozen=True)
class NumberAnswers:
    """Answers that are numbers."""

    name: str
    """Of the target."""
    scale: Scale
    intervals: PredictionIntervals | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Name of the only output."""
        return (self.name,)

    @property
    def decimals(self) -> int:
        """Decimals of numbers in tables; negative for tens, hundreds, .."""
        return DIGITS - math.floor(math.log10(self.scale.std))

    def columns(self, numbers: NDArray[np.floating]) -> dict[str, NDArray[Any]]:
        """Return the number of each node, (n, 1) -> (n,), and its interval; NaN if that has no end."""
        predicted = numbers[:, 0].astype(np.float64)
        found = {"predicted": predicted}
        if self.intervals is not None:
            found["lower"], found["upper"] = self.intervals.of(predicted)
        rounded = {name: np.round(values, self.decimals) for name, values in found.items()}
        return {name: np.where(np.isfinite(values), values, np.nan) for name, values in rounded.items()}
