"""The only place that reads test labels: once, after every seed has been selected on validation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import f1_score, recall_score

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
class TestReport:
    """How the seeds did on the test nodes."""

    __test__ = False  # not a test, whatever pytest makes of its name

    accuracy: Summary
    macro_f1: Summary
    balanced_accuracy: Summary


def evaluate_test(
    graph: Graph, split: Split, predicted: Mapping[int, np.ndarray], seeds: Sequence[int]
) -> TestReport | None:
    """Score each seed's predicted classes (n,) on the test nodes; None where the split keeps none."""
    if graph.labels is None or len(split.test) == 0:
        return None
    truth = graph.labels[split.test]

    def over_seeds(score: Any) -> Summary:
        return Summary(
            tuple(float(score(truth, predicted[seed][split.test])) if seed in predicted else None for seed in seeds)
        )

    return TestReport(
        accuracy=over_seeds(lambda true, guess: (true == guess).mean()),
        macro_f1=over_seeds(lambda true, guess: f1_score(true, guess, labels=np.unique(true), average="macro")),
        balanced_accuracy=over_seeds(
            lambda true, guess: recall_score(true, guess, labels=np.unique(true), average="macro")
        ),
    )
