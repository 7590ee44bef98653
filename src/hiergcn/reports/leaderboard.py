"""The leaderboard: one list of rows, and how a page, a notebook and the terminal show it.

A run writes the rows to `metrics.json`. A table of them is a heading and the text of a cell for each column, so that a
column is added here for every place that shows it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from hiergcn.choose.portfolio import PORTFOLIO, candidate_title
from hiergcn.evaluate.metrics import (
    METRICS,
    Metric,
    PartReport,
    Summary,
    accuracy_interval,
    metrics_for,
    part_report,
    saved_reports,
)
from hiergcn.fragments import duration, sentence, table
from hiergcn.reports.template import mean_and_std, signed
from hiergcn.settings.registry import method_title
from hiergcn.settings.settings import AUTO

if TYPE_CHECKING:  # imported when a page is made
    from markupsafe import Markup


_SIMPLE = tuple(entry.name for entry in PORTFOLIO[:4])
SIMPLE = {"accuracy": _SIMPLE, "r2": ("constant", *_SIMPLE[:3])}
"""Methods that an answer must be better than to be worth its cost, by the main metric."""
LEAST_R2 = -0.5
"""Lowest R² in plots."""


@dataclass(frozen=True)
class Row:
    """A method with its scores on the split, or the reason why there are none."""

    name: str
    """The method and how it differs from its usual settings, such as `gcn+harmonic`; empty for an answer."""
    model: str
    seeds: int = 0
    validation: PartReport | None = None
    test: PartReport | None = None
    seconds: float | None = None
    left_out: str | None = None
    weight: float = 0.0
    """Its weight in the answer."""
    ours: bool = False
    """Whether the row is the run itself."""

    @property
    def title(self) -> str:
        if not self.name:
            return "The answer" if self.model == AUTO else method_title(self.model)
        return candidate_title(self.name)

    def to_dict(self) -> dict[str, Any]:
        about = {name: value for name, value in vars(self).items() if name != "ours"}
        for part in ("test", "validation"):
            report = getattr(self, part)
            names = self.validation or metrics_for("classes")
            about[part] = {name: None if report is None else report[name].to_dict() for name in names}
        return about

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "Row":
        parts = {part: part_report(saved[part]) for part in ("validation", "test")}
        return cls(**{**saved, **parts})


class Column(NamedTuple):
    """A column of a table of rows."""

    title: str
    cell: Callable[[Row], str]


WEIGHT = Column("weight", lambda row: f"{100 * row.weight:.0f} %" if row.weight else "")
SEEDS = Column("seeds", lambda row: f"{row.seeds:,}")
TIME = Column("time", lambda row: "" if row.seconds is None else duration(row.seconds))


class Leaderboard(tuple[Row, ...]):
    """Candidates, best on validation first; a notebook shows them as a table."""

    def __repr__(self) -> str:
        done = [f"{row.name} {score_text(row.validation)}" for row in self if row.validation]
        return f"Leaderboard({', '.join(done)}; {len(self) - len(done)} gave no result)"

    def _repr_html_(self) -> str:
        rows = [row for row in self if row.validation]
        columns = [Column("candidate", lambda row: row.title)]
        columns.append(Column("validation", lambda row: score_text(row.validation)))
        if any(row.test for row in rows):
            columns.append(Column("test", lambda row: score_text(row.test)))
        columns += [WEIGHT, SEEDS, TIME]
        shares = [(row.test or row.validation or PartReport()).main.mean for row in rows]
        texts = [[column.cell(row) for column in columns] for row in rows]
        more = len(self) - len(rows)
        left_out = sentence(f"{more} more gave no result.") if more else ""
        return table([column.title for column in columns], texts, shares) + left_out


@dataclass(frozen=True)
class Board:
    """The run and the methods beside it, by their scores on the nodes that the run is judged by."""

    rows: Sequence[Row]
    """Those with a score."""
    left_out: Sequence[tuple[str, str]]
    """Methods without a result, and why."""
    metrics: Mapping[str, Metric]
    """Those that the run was scored by, the main one first."""
    on: str
    """`test` or `validation`."""
    nodes: int
    automatic: bool
    """Whether these are the candidates of the automatic choice, not simpler methods beside one that was named."""
    claim: float | None = None
    """Accuracy that the paper reports."""

    @property
    def metric(self) -> str:
        """The main metric: `accuracy` or `r2`."""
        return next(iter(self.metrics))

    @property
    def ours(self) -> Row:
        return next(row for row in self.rows if row.ours)

    def score(self, row: Row, metric: str | None = None) -> float | None:
        """Return a score of a row, by default the main one, on the nodes that the run is judged by."""
        report: PartReport = getattr(row, self.on) or PartReport()
        return over.mean if (over := report.get(metric or self.metric)) else None

    def spread(self, row: Row) -> float | None:
        """Return the standard deviation over seeds; None for an answer that is one, or that draws nothing."""
        over: Summary = getattr(row, self.on).main
        return None if row.ours and len(set(over.values)) < 2 else over.std

    def validation(self, row: Row) -> float | None:
        return None if row.validation is None else row.validation[self.metric].mean

    @property
    def columns(self) -> list[Column]:
        """The columns of every table of the rows, after the name; the first has the scores that they are judged by."""
        (name, main), *further = self.metrics.items()
        unit = "%" if main.share else main.title

        def judged(row: Row) -> str:
            return signed(mean_and_std({"mean": self.score(row), "std": self.spread(row)}, main.text))

        columns = [Column(f"{self.on} {unit}", judged), *([WEIGHT] if self.automatic else [])]
        if self.on == "test":
            columns.append(Column(f"validation {unit}", lambda row: self.shown(self.validation(row), name)))
        for other, metric in further:  # of classes those of probabilities, which tell methods apart that decide alike
            if metric.of_outputs or metric.kind == "numbers":
                columns.append(Column(metric.heading, partial(self.text, metric=other)))
        return [*columns, SEEDS, TIME]

    def text(self, row: Row, metric: str) -> str:
        return self.shown(self.score(row, metric), metric)

    def shown(self, score: float | None, metric: str) -> str:
        """Return a score as tables show it; "-" if there is none."""
        return "-" if score is None else signed(self.metrics[metric].text(score))

    @property
    def explanation(self) -> str:
        """What R² is, how candidates are ordered, and what the answer is made of."""
        sentences = []
        if self.metric == "r2":
            sentences.append("R² is 1 for perfect predictions and 0 for the mean of all values.")
        if any((self.score(row) or 0.0) < LEAST_R2 for row in self.rows):
            sentences.append(f"A mark at the left edge has an R² below {signed(f'{LEAST_R2:.1f}')}.")
        if self.automatic and (members := [row for row in self.rows if row.weight]):
            made = f"that of {members[0].title}" if len(members) == 1 else "their weighted mean"
            sentences.append(f"Ordered by validation, which chose the weights. The answer is {made}.")
        return " ".join(sentences)

    def comparison(self) -> str | None:
        """Say whether the run is better than the best simple method, or that it cannot be told."""
        others = [row for row in self.rows if row.name in SIMPLE[self.metric] and not row.ours]
        simple = max(others, key=lambda row: self.validation(row) or 0.0, default=None)  # the best on validation
        if simple is None or simple.weight == 1.0:  # or it is the answer
            return None
        ours, theirs = self.score(self.ours) or 0.0, self.score(simple) or 0.0
        if self.metric == "r2":
            return f"The best simple method on validation, {simple.title}, has R² {theirs:.3g}."
        points = 100 * (ours - theirs)
        name = f"{simple.title} alone" if simple.weight else simple.title  # or it is a part of the answer
        figure = f"{100 * theirs:.1f} %"
        p = min(max(ours, 0.02), 0.98)
        resolution = 196 * math.sqrt(2 * p * (1 - p) / max(self.nodes, 1))  # which chance alone hardly gives
        if abs(points) < resolution:
            gap = f"on {self.nodes:,} {self.on} nodes, a gap below {resolution:.0f} points may be chance"
            return f"No clear difference from {name} ({figure}): {gap}."
        side = "above" if points > 0 else "below"
        rest = "" if points > 0 else " Use that method, or leave out --model to let hiergcn choose."
        return f"{abs(points):.1f} points {side} {name} ({figure}), the best simple method on validation.{rest}"

    def plots(self) -> "tuple[Markup, list[Markup], Markup]":
        """Return the head of the column of plots, its cells row by row, and its legend.

        Accuracies have an interval; numbers have none.
        """
        from hiergcn.reports.axes import span
        from hiergcn.reports.palette import INK, MUTED, method_colour
        from hiergcn.reports.panels import Cell, Entry, legend_html

        classes = self.metric == "accuracy"
        sign, most = (" %", 100.5) if classes else ("", 1.02)
        title = self.metrics[self.metric].title
        scores, spreads = [self.score(row) or 0.0 for row in self.rows], [self.spread(row) for row in self.rows]
        intervals, over = [(score, score) for score in scores], f"95 % interval for {self.nodes:,} nodes"
        if classes and all(spread is None for spread in spreads):
            intervals = [accuracy_interval(score, self.nodes) for score in scores]
        elif classes:
            intervals = [(s - (std or 0.0), s + (std or 0.0)) for s, std in zip(scores, spreads, strict=True)]
            over = "± standard deviation over seeds"

        def plotted(value: float) -> float:
            return 100 * value if classes else max(value, LEAST_R2)

        seen = [self.validation(row) if self.on == "test" else None for row in self.rows]
        values = [end for ends in intervals for end in ends] + ([] if classes else [0.0, 1.0])
        values += [value for value in (self.claim, *seen) if value is not None]
        axis, cells = span(map(plotted, values), room=0.03, most=most, round_ends=classes), []
        for row, score, ends, validation in zip(self.rows, scores, intervals, seen, strict=True):
            colour, cell = INK if not row.name else method_colour(row.name), Cell(axis)
            tip = f"{row.title}: {self.on} {title} {self.shown(score, self.metric)}{sign}"
            if classes:
                low, high = map(plotted, ends)
                tip += f", {low:.1f} to {high:.1f}"
                cell.across(low, high, 0, colour, 2.4 if row.ours else 1.6)
            else:
                cell.upright(0.0, INK)
            if validation is not None:
                text = f"{row.title}: validation {self.shown(validation, self.metric)}{sign}"
                cell.dot(plotted(validation), MUTED, "diamond", 3.5, text)
            if self.claim is not None and row.ours:
                cell.dot(plotted(self.claim), INK, "star", 6, f"the paper: {100 * self.claim:.1f} %")
            cell.dot(plotted(score), colour, "dot", 6 if row.ours else 5, tip)
            cells.append(cell.html())
        legend = [Entry(f"{self.on} {title}", INK)]
        legend += [Entry(over, INK, "line")] if classes else []
        legend += [Entry("validation", MUTED, "diamond")] if self.on == "test" else []
        legend += [Entry("reported in the paper", INK, "star")] if self.claim is not None else []
        return Cell.head(axis), cells, legend_html(legend)


def evaluated_parts(metrics: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parts of the split that the run is judged by.

    In cross-validation all labels have validated, but for the only label of a class.
    """
    if "per_class" not in metrics:
        return ("test" if metrics["test_r2"] else "validation",)
    on: str = metrics["per_class"]["on"]
    return ("train", "validation") if on == "validation" and metrics["turns"] > 1 else (on,)


def board_of(metrics: Mapping[str, Any]) -> Board:
    """Return the run and the methods beside it, from the content of `metrics.json`."""
    parts = saved_reports(metrics)  # scores of the seeds, which are compared with those of other methods
    measured = {name: METRICS[name] for name in parts["validation"] or ()}
    metric, on = next(iter(measured)), "test" if parts["test"] else "validation"
    automatic = metrics["leaderboard"] is not None
    if automatic or metric == "r2":  # the scores of the answer
        keys = {"test": "delivered_{}", "validation": "delivered_val_{}"}
        given = {part: {name: metrics.get(key.format(name)) for name in measured} for part, key in keys.items()}
        parts = {
            part: PartReport({name: Summary((score,)) for name, score in scores.items() if score is not None}) or None
            for part, scores in given.items()
        }
    ours = Row(
        "" if automatic or metric == "r2" else metrics["model"],
        metrics["model"],
        sum(score is not None for score in metrics[f"val_{metric}"]["per_seed"]),
        seconds=None if automatic else metrics["seconds"]["train"],
        ours=True,
        test=parts["test"],
        validation=parts["validation"],
    )
    rows, left_out = [ours], []
    for saved in metrics["leaderboard"] or metrics["baselines"] or ():
        row = Row.from_dict(saved)
        report = getattr(row, on)
        if row.left_out or report is None or report.main.mean is None:
            left_out.append((row.title, row.left_out or "it failed"))
        else:
            rows.append(row)
    nodes = metrics["split"]["test" if on == "test" else "val"]
    if metric == "accuracy":
        nodes = sum(row["support"] for row in metrics["per_class"]["classes"])
        if not automatic:
            rows.sort(key=lambda row: -measured[metric].rank(getattr(row, on).main.mean))
    return Board(rows, left_out, measured, on, nodes, automatic, metrics["claim"] if on == "test" else None)


def score_text(report: PartReport | None) -> str:
    """Return the main score of a part as people read it: an accuracy in per cent, or R²."""
    if report is None or report.main.mean is None:
        return ""
    metric = METRICS[next(iter(report))]
    text = metric.text(report.main.mean)
    return f"{text} %" if metric.share else f"{metric.title} {text}"
