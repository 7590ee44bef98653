"""How each class fares."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_fscore_support


@dataclass(frozen=True)
class ClassScore:
    """Of the nodes that are judged."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int
    """Nodes of the class."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def class_scores(
    truth: NDArray[np.integer], guess: NDArray[np.integer], names: Sequence[str]
) -> tuple[ClassScore, ...]:
    """A score for each class, 0 where there is nothing to divide by."""
    labels = np.arange(len(names))
    columns = precision_recall_fscore_support(truth, guess, labels=labels, zero_division=0)
    return tuple(
        ClassScore(name, float(precision), float(recall), float(f1), int(support))
        for name, precision, recall, f1, support in zip(names, *columns, strict=True)
    )
