"""How each class fares, from the table of predictions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support


@dataclass(frozen=True)
class ClassRow:
    name: str
    trained: int
    """Labels of the class that the model learned from."""
    judged: int
    """Nodes of the class among those that the figures are about."""
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, eq=False)
class ClassFigures:
    part: str
    """The nodes that the figures are about: `test`, or `validation` where there is no test."""
    rows: tuple[ClassRow, ...]
    confusion: npt.NDArray[np.int64]  # (classes, classes), true by predicted


def class_figures(predictions: pd.DataFrame, names: Sequence[str]) -> ClassFigures:
    """Precision, recall and F1 of each class, by the model that was kept."""
    number = {name: index for index, name in enumerate(names)}
    part = "test" if (predictions["split"] == "test").any() else "validation"
    judged = predictions[predictions["split"] == part]
    true, guess = (judged[column].map(number).to_numpy(np.int64) for column in ("label", "predicted"))
    labels = np.arange(len(names))
    precision, recall, f1, support = precision_recall_fscore_support(true, guess, labels=labels, zero_division=0)
    trained = predictions.loc[predictions["split"] == "train", "label"].value_counts()
    rows = tuple(
        ClassRow(name, int(trained.get(name, 0)), int(support[k]), float(precision[k]), float(recall[k]), float(f1[k]))
        for k, name in enumerate(names)
    )
    return ClassFigures(part, rows, confusion_matrix(true, guess, labels=labels))
