"""The methods side by side: the answer, the candidates or baselines beside it, and whether it is better than they."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from hiergcn.choose.portfolio import PORTFOLIO, candidate_title
from hiergcn.evaluate.metrics import accuracy_interval
from hiergcn.model.registry import method_title
from hiergcn.report import axes
from hiergcn.report.marks import PlotColumn
from hiergcn.report.palette import INK, MUTED, method_colour
from hiergcn.report.panels import Entry, legend_html

SIMPLE = tuple(entry.name for entry in PORTFOLIO[:4])
"""Methods that an answer must be better than to be worth its cost."""
MAIN_ROWS = 7
"""Rows of the first screen."""
MAX_DOTS = 50


@dataclass(frozen=True)
class Row:
    """A method with its scores on the nodes that the run is judged by; accuracies are fractions of 1."""

    name: str
    title: str
    accuracy: float
    validation: float | None
    spread: float | None = None
    """Standard deviation over seeds."""
    per_seed: Sequence[float] = ()
    weight: float | None = None
    seeds: int = 1
    seconds: float | None = None
    ours: bool = False
    """Whether the row is the run itself."""


@dataclass(frozen=True)
class Leaderboard:
    """Rows in order, and the nodes that they are measured on."""

    rows: Sequence[Row]
    on: str
    """`test` or `validation`."""
    nodes: int
    left_out: Sequence[tuple[str, str]]
    """Methods without a result, and why."""
    claim: float | None = None

    @property
    def ours(self) -> Row:
        return next(row for row in self.rows if row.ours)

    @property
    def simplest(self) -> Row | None:
        """The simple method that is best on validation; None if there is none but the run itself."""
        simple = [row for row in self.rows if row.name in SIMPLE and not row.ours]
        return max(simple, key=lambda row: row.validation or 0.0, default=None)

    @property
    def main_rows(self) -> Sequence[Row]:
        """The rows of the first screen: the answer, its members and simple methods, then the best of the rest."""
        wanted = sorted(self.rows, key=lambda row: not (row.ours or row.weight or row.name in SIMPLE))[:MAIN_ROWS]
        return [row for row in self.rows if row in wanted]

    @property
    def explanation(self) -> str:
        """How candidates are ordered, and what the answer is made of; nothing if a method was named."""
        members = [row for row in self.rows if row.weight]
        if not members:
            return ""
        made = f"that of {members[0].title}" if len(members) == 1 else "their weighted mean"
        return f"Ordered by validation, which chose the weights. The answer is {made}."

    @property
    def has_spread(self) -> bool:
        return any(row.spread is not None for row in self.rows)

    def resolution(self) -> float:
        """Return the difference of two accuracies that chance alone hardly gives, with so few nodes."""
        p = min(max(self.ours.accuracy, 0.02), 0.98)
        return 1.96 * math.sqrt(2 * p * (1 - p) / max(self.nodes, 1))


def leaderboard(metrics: dict[str, Any]) -> Leaderboard:
    """Return the rows of `metrics.json`."""
    on = metrics["per_class"]["on"]
    nodes = sum(one["support"] for one in metrics["per_class"]["classes"])
    chosen = metrics.get("leaderboard")
    rows, left_out = [_own(metrics, chosen is not None)], []
    for one in chosen or metrics.get("baselines") or ():
        title = candidate_title(one["name"], one["model"])
        found = one[on]["accuracy"]
        if one["left_out"] or not found or found["mean"] is None:
            left_out.append((title, one["left_out"] or "it failed"))
            continue
        validation = one["validation"]["accuracy"]
        per_seed = [value for value in found["per_seed"] if value is not None]
        rest = one.get("weight") if chosen else None, one["seeds"], one["seconds"]
        rows.append(Row(one["name"], title, found["mean"], validation["mean"], found["std"], per_seed, *rest))
    if chosen is None:
        rows.sort(key=lambda row: -row.accuracy)
    return Leaderboard(rows, on, nodes, left_out, metrics["claim"] if on == "test" else None)


def _own(metrics: dict[str, Any], automatic: bool) -> Row:
    """Return the row of the run: the accuracy of its answer, or the mean over its seeds if a method was named."""
    test = metrics["test_accuracy"]
    over = test or metrics["val_accuracy"]
    per_seed = [value for value in over["per_seed"] if value is not None]
    if not automatic:
        name = metrics["model"]
        spread = over["std"] if len(set(per_seed)) > 1 else None  # some methods draw nothing
        values = over["mean"], metrics["val_accuracy"]["mean"], spread, per_seed
        return Row(name, method_title(name), *values, None, len(per_seed), metrics["seconds"]["train"], ours=True)
    delivered = metrics["delivered_accuracy" if test else "delivered_val_accuracy"]
    return Row(
        "", "The answer", delivered, metrics["delivered_val_accuracy"], None, (), None, len(per_seed), None, ours=True
    )


def comparison_sentence(board: Leaderboard) -> str | None:
    """Say whether the run is better than the best simple method, or that it cannot be told."""
    simple, ours = board.simplest, board.ours
    if simple is None or simple.weight == 1.0:  # or it is the answer
        return None
    points = 100 * (ours.accuracy - simple.accuracy)
    name = f"{simple.title} alone" if simple.weight else simple.title  # or it is a part of the answer
    figure = f"{100 * simple.accuracy:.1f} %"
    if abs(points) < 100 * board.resolution():
        gap = f"on {board.nodes:,} {board.on} nodes, a gap below {100 * board.resolution():.0f} points may be chance"
        return f"No clear difference from {name} ({figure}): {gap}."
    side = "above" if points > 0 else "below"
    rest = "" if points > 0 else " Use that method, or leave out --model to let hiergcn choose."
    return f"{abs(points):.1f} points {side} {name} ({figure}), the best simple method on validation.{rest}"


def leaderboard_plots(board: Leaderboard) -> tuple[PlotColumn, list[Markup], Markup]:
    """Return the column of plots, its cells row by row, and its legend."""
    intervals = [_interval(board, row) for row in board.rows]
    values = [100 * value for pair in intervals for value in pair]
    values += [100 * row.validation for row in board.rows if row.validation is not None]
    values += [100 * value for row in board.rows for value in row.per_seed]
    values += [] if board.claim is None else [100 * board.claim]
    column = PlotColumn(axes.span(values, room=0.03, most=100.5, round_ends=True))
    cells = []
    for row, (low, high) in zip(board.rows, intervals, strict=True):
        colour = INK if not row.name else method_colour(row.name)
        drawn = [column.interval(100 * low, 100 * high, colour, 2.4 if row.ours else 1.6)]
        if 1 < len(set(row.per_seed)) <= MAX_DOTS:
            drawn += [
                column.mark(100 * value, colour, "ring", 2.5, f"a seed: {100 * value:.1f} %") for value in row.per_seed
            ]
        if row.validation is not None and board.on == "test":
            tip = f"{row.title}: validation {100 * row.validation:.1f} %"
            drawn.append(column.mark(100 * row.validation, MUTED, "diamond", 3.5, tip))
        if board.claim is not None and row.ours:
            drawn.append(column.mark(100 * board.claim, INK, "star", 6, f"the paper: {100 * board.claim:.1f} %"))
        tip = f"{row.title}: {board.on} {100 * row.accuracy:.1f} %, {100 * low:.1f} to {100 * high:.1f}"
        drawn.append(column.mark(100 * row.accuracy, colour, "dot", 6 if row.ours else 5, tip))
        cells.append(column.cell(*drawn))
    return column, cells, legend_html(_legend(board))


def _legend(board: Leaderboard) -> list[Entry]:
    what = "± standard deviation over seeds" if board.has_spread else f"95 % interval for {board.nodes:,} nodes"
    entries = [Entry(f"{board.on} accuracy, %", INK, "dot"), Entry(what, INK, "line")]
    if any(len(set(row.per_seed)) > 1 for row in board.rows):
        entries.append(Entry("each seed", INK, "ring"))
    if board.on == "test":
        entries.append(Entry("validation", MUTED, "diamond"))
    return [*entries, *([] if board.claim is None else [Entry("reported in the paper", INK, "star")])]


def _interval(board: Leaderboard, row: Row) -> tuple[float, float]:
    """Return one standard deviation over seeds on both sides, or the 95 % interval for so few nodes."""
    if board.has_spread:
        return row.accuracy - (row.spread or 0.0), row.accuracy + (row.spread or 0.0)
    return accuracy_interval(row.accuracy, board.nodes)
