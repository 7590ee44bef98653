"""The leaderboard: one list of rows, and how a page, a notebook and the terminal show it.

A run writes the rows to `metrics.json`. A table of them is a heading and the text of a cell for each column, so that a
column is added here for every place that shows it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

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
from hiergcn.settings.settings import AUTO, Settings

if TYPE_CHECKING:  # imported when a page is made
    import pandas as pd
    from markupsafe import Markup
    from numpy.typing import NDArray

    from hiergcn.coarsening import Hierarchy
    from hiergcn.explanation.votes import Votes
    from hiergcn.graph.coordinates import Coordinates

MAIN_ROWS = 7
"""Rows of the first screen."""
MAX_DOTS = 50


class ShownRun(Protocol):
    """What the page of a run reads of it. `run.run.Run` has all of it, in the room above."""

    @property
    def name(self) -> str: ...
    @property
    def config(self) -> Mapping[str, Any]: ...
    @property
    def scores(self) -> Mapping[str, Any]: ...
    @property
    def table(self) -> "pd.DataFrame": ...
    @property
    def probabilities(self) -> "NDArray[Any]": ...
    @property
    def confidence(self) -> "NDArray[Any]": ...
    @property
    def history(self) -> "pd.DataFrame": ...
    @property
    def settings(self) -> Settings: ...
    @property
    def hierarchy(self) -> "Hierarchy | None": ...
    @property
    def view(self) -> "Hierarchy | None": ...
    @property
    def votes(self) -> "Votes | None": ...
    @property
    def coordinates(self) -> "Coordinates | None": ...
    @property
    def doubtful(self) -> "pd.DataFrame | None": ...
    @property
    def suggestions(self) -> "pd.DataFrame | None": ...
    @property
    def environment(self) -> Mapping[str, Any]: ...


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

    def validation(self, row: Row) -> float | None:
        return None if row.validation is None else row.validation[self.metric].mean

    def spread(self, row: Row) -> float | None:
        """Return the standard deviation over seeds; None for an answer that is one, or that draws nothing."""
        over: Summary = getattr(row, self.on).main
        return None if row.ours and len(set(over.values)) < 2 else over.std

    @property
    def main_columns(self) -> list[Column]:
        """The columns beside the plot, on the first screen of a page."""
        main = Column("R²", self.text) if self.metric == "r2" else self.with_spread(f"{self.on},\u00a0%")
        return [main, *([WEIGHT] if self.automatic else [])]

    @property
    def further_columns(self) -> list[Column]:
        """The columns of the table that a page folds."""
        if self.metric == "accuracy":
            validation = Column("validation,\u00a0%", lambda row: self.shown(self.validation(row)))
            main = self.main_columns[:1] if self.on == "test" else []
            return [*main, validation, *self.probability_scores, SEEDS, TIME]
        seen = Column("R² on validation", lambda row: self.shown(self.validation(row)))
        errors = [column._replace(title=self.metrics[name].title) for name, column in self.scores.items()][1:]
        return [*errors, *([seen] if self.on == "test" else [])]

    @property
    def further_title(self) -> str:
        what = f"{len(self.rows) - 1} candidates" if self.automatic else f"{len(self.rows)} methods"
        return f"All {what}" + (f"; {len(self.left_out)} more without a result" if self.left_out else "")

    @property
    def screen_columns(self) -> list[Column]:
        """The columns in a terminal, after the name."""
        main, *further = self.scores.values()
        if self.metric == "r2":
            return [main, *further, WEIGHT, TIME]
        if self.automatic:
            test = Column("test %", lambda row: self.shown(row.test.main.mean if row.test else None))
            validation = Column("validation %", lambda row: self.shown(self.validation(row)))
            return [validation, test, *self.probability_scores, WEIGHT, SEEDS, TIME]
        return [self.with_spread(main.title), *further, SEEDS, TIME]

    def with_spread(self, title: str) -> Column:
        """Return a column of the main scores with their standard deviation."""
        return Column(title, lambda row: mean_and_std({"mean": self.score(row), "std": self.spread(row)}))

    @property
    def scores(self) -> dict[str, Column]:
        """A column for each metric."""
        return {name: Column(metric.heading, partial(self.text, metric=name)) for name, metric in self.metrics.items()}

    @property
    def probability_scores(self) -> list[Column]:
        """The columns of metrics of probabilities, which tell methods apart that decide alike."""
        return [column for name, column in self.scores.items() if self.metrics[name].of_outputs]

    def text(self, row: Row, metric: str | None = None) -> str:
        """Return a score of a row as tables show it, by default the main one."""
        return self.shown(self.score(row, metric), metric)

    def shown(self, score: float | None, metric: str | None = None) -> str:
        """Return a score as tables show it; "-" if there is none."""
        return "-" if score is None else signed(self.metrics[metric or self.metric].text(score))

    @property
    def main_rows(self) -> Sequence[Row]:
        """The rows of the first screen: the answer, its members and simple methods, then the best of the rest."""
        if self.metric == "r2":
            return self.rows
        wanted = sorted(self.rows, key=lambda row: not (row.ours or row.weight or row.name in SIMPLE[self.metric]))
        return [row for row in self.rows if row in wanted[:MAIN_ROWS]]

    @property
    def explanation(self) -> str:
        """How candidates are ordered and what the answer is made of, or what R² is."""
        if self.metric == "r2":
            text = "R² is 1 for perfect predictions and 0 for the mean of all values."
            text += " Validation chose the weights; test values were read once, at the end." if self.automatic else ""
            beyond = any((self.score(row) or 0.0) < LEAST_R2 for row in self.rows)
            return text + (f" A mark at the left edge has an R² below {signed(f'{LEAST_R2:.1f}')}." if beyond else "")
        members = [row for row in self.rows if row.weight]
        if not members or not self.automatic:
            return ""
        made = f"that of {members[0].title}" if len(members) == 1 else "their weighted mean"
        return f"Ordered by validation, which chose the weights. The answer is {made}."

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

        Accuracies have an interval and a mark for each seed, numbers have neither.
        """
        from hiergcn.reports.axes import span
        from hiergcn.reports.palette import INK, MUTED, method_colour
        from hiergcn.reports.panels import Cell, Entry, legend_html

        classes = self.metric == "accuracy"
        title, unit, sign = ("accuracy, %", 100.0, " %") if classes else ("R²", 1.0, "")

        def plotted(value: float) -> float:
            return unit * value if classes else max(value, LEAST_R2)

        scores = [self.score(row) or 0.0 for row in self.rows]
        seeds = [getattr(row, self.on).main.values for row in self.rows]
        spreads = [self.spread(row) for row in self.rows]
        has_spread = any(spread is not None for spread in spreads)
        if has_spread or not classes:
            intervals = [
                (score - (std or 0.0), score + (std or 0.0)) for score, std in zip(scores, spreads, strict=True)
            ]
        else:
            intervals = [accuracy_interval(score, self.nodes) for score in scores]
        values = [0.0, 1.0, *scores]
        if classes:
            further = [value for value in (*map(self.validation, self.rows), self.claim) if value is not None]
            values = [*chain(*seeds, *intervals), *further]
        axis, cells = span(map(plotted, values), room=0.03, most=100.5 if classes else 1.02, round_ends=classes), []
        for row, score, each, ends in zip(self.rows, scores, seeds, intervals, strict=True):
            colour, cell = INK if not row.name else method_colour(row.name), Cell(axis)
            tip = f"{row.title}: {self.on if classes else title} {self.shown(score)}{sign}"
            if classes:
                low, high = map(plotted, ends)
                tip += f", {low:.1f} to {high:.1f}"
                cell.across(low, high, 0, colour, 2.4 if row.ours else 1.6)
                for value in each if 1 < len(set(each)) <= MAX_DOTS else ():
                    cell.dot(plotted(value), colour, "ring", 2.5, f"a seed: {100 * value:.1f} %")
            else:
                cell.upright(0.0, INK)
            seen = self.validation(row)
            if seen is not None and self.on == "test":
                cell.dot(plotted(seen), MUTED, "diamond", 3.5, f"{row.title}: validation {self.shown(seen)}{sign}")
            if self.claim is not None and row.ours:
                cell.dot(plotted(self.claim), INK, "star", 6, f"the paper: {100 * self.claim:.1f} %")
            cell.dot(plotted(score), colour, "dot", 6 if row.ours else 5, tip)
            cells.append(cell.html())
        over = "± standard deviation over seeds" if has_spread else f"95 % interval for {self.nodes:,} nodes"
        legend = {
            Entry(f"{self.on} {title}", INK, "dot"): True,
            Entry(over, INK, "line"): classes,
            Entry("each seed", INK, "ring"): classes and any(len(set(each)) > 1 for each in seeds),
            Entry("validation", MUTED, "diamond"): self.on == "test",
            Entry("reported in the paper", INK, "star"): self.claim is not None,
        }
        return Cell.head(axis), cells, legend_html([entry for entry, drawn in legend.items() if drawn])


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
