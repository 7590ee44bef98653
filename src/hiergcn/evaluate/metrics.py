"""The only place that reads test labels: once, after every seed has been selected on validation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.metrics import f1_score, recall_score

from hiergcn.evaluate.calibration import Reliability, Temperature, reliability
from hiergcn.evaluate.classes import ClassScore, class_scores
from hiergcn.graph.graph import Graph
from hiergcn.graph.split import Split


@dataclass(frozen=True)
class Summary:
    """A figure over seeds. Failed seeds are None: they are counted beside the mean, never inside it."""

    per_seed: tuple[float | None, ...]

    @property
    def values(self) -> np.ndarray:
        return np.array([value for value in self.per_seed if value is not None], dtype=np.float64)

    @property
    def mean(self) -> float | None:
        return float(self.values.mean()) if len(self.values) else None

    @property
    def std(self) -> float | None:
        """Sample standard deviation; a single seed has no spread to speak of."""
        return float(self.values.std(ddof=1)) if len(self.values) > 1 else None

    def to_dict(self) -> dict[str, Any]:
        return {"mean": self.mean, "std": self.std, "per_seed": list(self.per_seed)}


@dataclass(frozen=True)
class PartReport:
    """How the seeds did on one part of the split."""

    accuracy: Summary
    macro_f1: Summary
    balanced_accuracy: Summary


@dataclass(frozen=True, eq=False)
class ModelReport:
    """How the model that was kept does, class by class, and how far its probabilities can be believed."""

    on: Literal["test", "validation"]
    """The nodes that the figures are about; validation, which chose the model, only where there is no test."""
    per_class: tuple[ClassScore, ...]
    temperature: Temperature
    before: Reliability
    after: Reliability

    def calibration(self) -> dict[str, Any]:
        return {
            "temperature": self.temperature.value,
            "ece_before": self.before.error,
            "ece_after": self.after.error,
            "on": self.on,
            "reliability": {"before": self.before.to_dict(), "after": self.after.to_dict()},
        }


def evaluate_test(
    graph: Graph, split: Split, predicted: Mapping[int, np.ndarray], seeds: Sequence[int]
) -> PartReport | None:
    """Score each seed's predicted classes (n,) on the test nodes; None where the split keeps none."""
    return evaluate_part(graph, split.test, predicted, seeds) if len(split.test) else None


def evaluate_part(
    graph: Graph, nodes: np.ndarray, predicted: Mapping[int, np.ndarray], seeds: Sequence[int]
) -> PartReport:
    """Score each seed's predicted classes (n,) on these nodes; a seed without any failed."""
    truth = _labels(graph, nodes)

    def over_seeds(score: Any) -> Summary:
        return Summary(
            tuple(float(score(truth, predicted[seed][nodes])) if seed in predicted else None for seed in seeds)
        )

    return PartReport(
        accuracy=over_seeds(lambda true, guess: (true == guess).mean()),
        macro_f1=over_seeds(lambda true, guess: f1_score(true, guess, labels=np.unique(true), average="macro")),
        balanced_accuracy=over_seeds(
            lambda true, guess: recall_score(true, guess, labels=np.unique(true), average="macro")
        ),
    )


def evaluate_model(graph: Graph, split: Split, probabilities: np.ndarray, temperature: Temperature) -> ModelReport:
    """Look at the model that was kept, by its probabilities (n, classes)."""
    on: Literal["test", "validation"] = "test" if len(split.test) else "validation"
    nodes: np.ndarray = getattr(split, on)
    truth, found = _labels(graph, nodes), probabilities[nodes]
    return ModelReport(
        on=on,
        per_class=class_scores(truth, found.argmax(axis=1), graph.class_names),
        temperature=temperature,
        before=reliability(found, truth),
        after=reliability(temperature.of(found), truth),
    )


def _labels(graph: Graph, nodes: np.ndarray) -> np.ndarray:
    assert graph.labels is not None
    labels: np.ndarray = graph.labels[nodes]
    return labels
