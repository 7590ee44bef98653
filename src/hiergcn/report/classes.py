"""How each class fares, from the table of predictions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.metrics import confusion_matrix

from hiergcn.evaluate.classes import class_scores


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
    trained = predictions.loc[predictions["split"] == "train", "label"].value_counts()
    rows = tuple(
        ClassRow(score.name, int(trained.get(score.name, 0)), score.support, score.precision, score.recall, score.f1)
        for score in class_scores(true, guess, names)
    )
    return ClassFigures(part, rows, confusion_matrix(true, guess, labels=np.arange(len(names))))
