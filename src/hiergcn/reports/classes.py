"""Scores of each class, and which classes are taken for which. Classes have the same order everywhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from markupsafe import Markup

from hiergcn.reports import axes
from hiergcn.reports.leaderboard import evaluated_parts
from hiergcn.reports.palette import FIRST, INK, MUTED, SECOND
from hiergcn.reports.panels import Cell, Entry, Shape, legend_html

if TYPE_CHECKING:
    from hiergcn.run.run import Run

MANY = 20
"""With more classes the page folds their table, and lists mistakes instead of a matrix."""
FREQUENT_MISTAKES = 10
SCORES: dict[str, tuple[str, str, Shape, float]] = {  # title, colour, mark and its size
    "precision": ("precision", FIRST, "dot", 5),
    "recall": ("recall", SECOND, "diamond", 5),
    "f1": ("F1", INK, "tick", 7),
}

LEGEND = [Entry(title, colour, shape) for title, colour, shape, _ in SCORES.values()]


class ClassRow(NamedTuple):
    """Scores of a class; None if it has no evaluated node."""

    number: int
    name: str
    colour: str
    precision: float | None
    recall: float | None
    f1: float | None
    support: int
    trained: int
    plot: Markup


@dataclass(frozen=True)
class ClassSection:
    """The section of the classes."""

    rows: Sequence[ClassRow]
    matrix: npt.NDArray[np.int64]
    """(classes, classes): true classes are rows; in the order of the labels, not of `rows`."""
    head: Markup
    legend: Markup

    @property
    def many(self) -> bool:
        return len(self.rows) > MANY

    @property
    def shares(self) -> npt.NDArray[np.float64]:
        """The matrix as shares of its rows."""
        shares: npt.NDArray[np.float64] = self.matrix / np.maximum(self.matrix.sum(axis=1, keepdims=True), 1)
        return shares

    @property
    def mistakes(self) -> list[list[int]]:
        """The true and the predicted class of the most frequent mistakes."""
        wrong = self.matrix - np.diag(self.matrix.diagonal())
        order = np.argsort(-wrong, axis=None, kind="stable")[:FREQUENT_MISTAKES]
        return [list(divmod(k, len(wrong))) for k in order.tolist() if wrong.flat[k]]


def class_section(run: "Run", colours: Sequence[str]) -> ClassSection:
    """Return the scores of each class and the confusion matrix of the evaluated nodes."""
    scores, names = run.scores["per_class"]["classes"], run.config["class_names"]
    trained = run.table.loc[run.table["split"] == "train", "label"].value_counts()
    known = [100 * row[what] for row in scores if row["support"] for what in ("precision", "recall")]
    axis, rows = axes.span([min([50.0, *(known or [0.0])]), 100.0], most=102, room=0.02), []
    for number in class_order(scores):
        row, cell = scores[number], Cell(axis)
        if row["support"]:
            ends = sorted((100 * row["precision"], 100 * row["recall"]))
            cell.across(ends[0], ends[1], 0, MUTED, 1.4)
            for what, (title, colour, shape, size) in SCORES.items():
                cell.dot(100 * row[what], colour, shape, size, f"{row['name']}: {title} {100 * row[what]:.1f} %")
        shown: dict[str, Any] = {what: row[what] if row["support"] else None for what in SCORES}
        shown |= {"support": row["support"], "trained": int(trained.get(row["name"], 0))}
        rows.append(ClassRow(number, row["name"], colours[number], **shown, plot=cell.html()))
    parts = evaluated_parts(run.scores)
    nodes = run.table[run.table["split"].isin(parts)]
    if "train" in parts:  # the only label of a class never validates
        nodes = nodes[nodes.groupby("label")["label"].transform("size") > 1]
    true, predicted = (pd.Index(names).get_indexer(pd.Index(nodes[what])) for what in ("label", "predicted"))
    matrix = np.bincount(true * len(names) + predicted, minlength=len(names) ** 2).reshape(len(names), len(names))
    return ClassSection(rows, matrix, Cell.head(axis), legend_html(LEGEND))


def class_order(classes: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the order of the classes on the page: by number if their names are numbers, else the largest first."""
    try:
        keys = [float(row["name"]) for row in classes]
    except ValueError:
        keys = [-row["support"] for row in classes]
    return sorted(range(len(keys)), key=keys.__getitem__)
