"""Scores of each class, and which classes are taken for which. Classes have the same order everywhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from hiergcn.reports import axes
from hiergcn.reports.axes import PlotColumn
from hiergcn.reports.leaderboard import ShownRun, evaluated_parts
from hiergcn.reports.palette import FIRST, INK, MUTED, SECOND
from hiergcn.reports.panels import Entry, legend_html

MANY = 20
"""With more classes the page shows the weakest and folds the others, and lists mistakes instead of a matrix."""
WEAKEST = 15
FREQUENT_MISTAKES = 15
FEWER_MISTAKES = 8
"""Beside a matrix."""
LEGEND = (Entry("precision", FIRST, "dot"), Entry("recall", SECOND, "diamond"), Entry("F1", INK, "tick"))


@dataclass(frozen=True)
class ClassRow:
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

    @property
    def show(self) -> str:
        """What the explorer shows for it."""
        return f"label={self.number}&only=judged"


@dataclass(frozen=True)
class Mistake:
    """Nodes of one class that were taken for another, or were right."""

    true: int
    predicted: int
    nodes: int
    share: float
    """Of the nodes of the true class."""

    @property
    def show(self) -> str:
        return f"label={self.true}&predicted={self.predicted}&only=judged"


@dataclass(frozen=True)
class Classes:
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
    def weakest(self) -> list[ClassRow]:
        judged = [row for row in self.rows if row.f1 is not None and row.f1 < 1]
        return sorted(judged, key=lambda row: row.f1 or 0.0)[:WEAKEST]

    def confusion(self) -> list[tuple[ClassRow, list[Mistake]]]:
        """Return the cells of the matrix, row by row."""
        order = [row.number for row in self.rows]
        return [(row, [self._cell(row.number, other) for other in order]) for row in self.rows]

    def mistakes(self) -> list[Mistake]:
        wrong = self.matrix - np.diag(self.matrix.diagonal())
        shown = FREQUENT_MISTAKES if self.many else FEWER_MISTAKES
        places = np.argsort(-wrong, axis=None, kind="stable")[:shown]
        pairs = zip(*np.unravel_index(places, wrong.shape), strict=True)
        return [self._cell(int(true), int(predicted)) for true, predicted in pairs if wrong[true, predicted]]

    @property
    def constant_accuracy(self) -> float:
        """Accuracy of the most frequent training class, predicted for every node."""
        largest = max(self.rows, key=lambda row: row.trained)
        return largest.support / max(int(self.matrix.sum()), 1)

    def taken_for(self, number: int) -> Mistake | None:
        """Return the mistake that is made most often with a class."""
        others = self.matrix[number].copy()
        others[number] = 0
        return self._cell(number, int(others.argmax())) if others.any() else None

    def _cell(self, true: int, predicted: int) -> Mistake:
        nodes = int(self.matrix[true, predicted])
        return Mistake(true, predicted, nodes, nodes / max(int(self.matrix[true].sum()), 1))


def class_section(run: ShownRun, colours: Sequence[str]) -> Classes:
    """Return the scores of each class and the confusion matrix of the evaluated nodes."""
    scores, names = run.scores["per_class"]["classes"], run.config["class_names"]
    trained = run.table.loc[run.table["split"] == "train", "label"].value_counts()
    known = [row for row in scores if row["support"]]
    lowest = min((row[what] for row in known for what in ("precision", "recall")), default=0.0)
    column = PlotColumn(axes.span([min(50.0, 100 * lowest), 100.0], most=102, room=0.02))
    rows = []
    for number in class_order(scores):
        row = scores[number]
        name, drawn = row["name"], list[str]()
        about = {what: row[what] if row["support"] else None for what in ("precision", "recall", "f1")}
        if row["support"]:
            precision, recall, f1 = (100 * row[what] for what in about)
            drawn = [
                column.interval(min(precision, recall), max(precision, recall), MUTED, 1.4),
                column.mark(precision, FIRST, "dot", 5, f"{name}: precision {precision:.1f} %"),
                column.mark(recall, SECOND, "diamond", 5, f"{name}: recall {recall:.1f} %"),
                column.mark(f1, INK, "tick", 7, f"{name}: F1 {f1:.1f} %"),
            ]
        counts = row["support"], int(trained.get(name, 0))
        scored = about["precision"], about["recall"], about["f1"]
        rows.append(ClassRow(number, name, colours[number], *scored, *counts, column.cell(*drawn)))

    parts = evaluated_parts(run.scores)
    nodes = run.table[run.table["split"].isin(parts)]
    if "train" in parts:  # the only label of a class never validates
        nodes = nodes[nodes.groupby("label")["label"].transform("size") > 1]
    position = {name: index for index, name in enumerate(names)}
    true, predicted = (nodes[what].map(position).to_numpy(np.int64) for what in ("label", "predicted"))
    pairs = np.bincount(true * len(names) + predicted, minlength=len(names) ** 2)
    return Classes(rows, pairs.reshape(len(names), len(names)), column.head(), legend_html(LEGEND))


def class_order(classes: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the order of the classes on the page: by number if their names are numbers, else the largest first."""
    try:
        keys = [float(row["name"]) for row in classes]
    except ValueError:
        keys = [-row["support"] for row in classes]
    return sorted(range(len(keys)), key=keys.__getitem__)
