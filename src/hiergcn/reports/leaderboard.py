"""The leaderboard: one list of rows, and how a page, a notebook and the terminal show it.

A run writes the rows to `metrics.json`. A table of them is a heading and the text of a cell for each column, so that a
column is added here for every place that shows it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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
from hiergcn.fragments import duration, percent, sentence, table
from hiergcn.reports.template import in_percent, in_seconds, mean_and_std, signed
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
        def scores(report: PartReport | None) -> dict[str, Any]:
            return {
                name: None if report is None else report[name].to_dict()
                for name in self.validation or metrics_for("classes")
            }

        about = {name: value for name, value in vars(self).items() if name != "ours"}
        return about | {"test": scores(self.test), "validation": scores(self.validation)}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "Row":
        parts = {part: part_report(saved[part]) for part in ("validation", "test")}
        return cls(**{**saved, **parts})


class Leaderboard(tuple[Row, ...]):
    """Candidates, best on validation first; a notebook shows them as a table."""

    @property
    def done(self) -> list[Row]:
        return [row for row in self if row.validation is not None]

    def __repr__(self) -> str:
        done = [f"{row.name} {score_text(row.validation)}" for row in self.done]
        return f"Leaderboard({', '.join(done)}; {len(self) - len(done)} gave no result)"

    def _repr_html_(self) -> str:
        rows = self.done
        columns = [
            Column("candidate", lambda row: row.title),
            Column("validation", lambda row: score_text(row.validation)),
            Column("test", lambda row: score_text(row.test)),
            Column("weight", lambda row: _weight(row, " %")),
            Column("seeds", lambda row: f"{row.seeds:,}"),
            Column("time", lambda row: "" if row.seconds is None else f"{row.seconds:.1f} s"),
        ]
        if not any(row.test for row in rows):
            del columns[2]
        shares = [(row.test or row.validation or PartReport()).main.mean for row in rows]
        more = len(self) - len(rows)
        texts = [[column.cell(row) for column in columns] for row in rows]
        left_out = sentence(f"{more} more gave no result.") if more else ""
        return table([column.title for column in columns], texts, shares) + left_out


class Column(NamedTuple):
    """A column of a table of rows."""

    title: str
    cell: Callable[[Row], str]


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
        main = Column("R²", lambda row: signed(self.text(row)))
        if self.metric == "accuracy":
            main = Column(f"{self.on},\u00a0%", lambda r: mean_and_std({"mean": self.score(r), "std": self.spread(r)}))
        return [main, *([Column("weight", lambda row: _weight(row, " %"))] if self.automatic else [])]

    @property
    def further_columns(self) -> list[Column]:
        """The columns of the table that a page folds."""
        if self.metric == "accuracy":
            return [
                *(self.main_columns[:1] if self.on == "test" else []),
                Column("validation,\u00a0%", lambda row: in_percent(self.validation(row))),
                Column("seeds", lambda row: str(row.seeds)),
                Column("time", lambda row: "" if row.seconds is None else in_seconds(row.seconds)),
            ]
        seen = Column("R² on validation", lambda row: signed(self.shown(self.validation(row))))
        errors = [column._replace(title=self.metrics[name].title) for name, column in self.scores.items()][1:]
        return [*errors, *([seen] if self.on == "test" else [])]

    @property
    def further_title(self) -> str:
        if self.metric == "r2":
            more = f"; {len(self.left_out)} more without a result" if self.left_out else ""
            return f"Errors{' and validation' if self.on == 'test' else ''}{more}"
        if self.automatic:
            return f"All {len(self.rows) - 1 + len(self.left_out)} candidates"
        return "Validation, seeds and time"

    @property
    def screen_columns(self) -> list[Column]:
        """The columns in a terminal, after the name."""
        weight, time = Column("weight %", _weight), Column("time", lambda row: duration(row.seconds or 0.0))
        seeds = Column("seeds", lambda row: str(row.seeds))
        if self.metric == "r2":
            return [*self.scores.values(), weight, time]
        if self.automatic:
            test = Column("test %", lambda row: percent(row.test.accuracy.mean if row.test else None))
            return [Column("validation %", lambda row: percent(self.validation(row))), test, weight, seeds, time]

        def with_spread(row: Row) -> str:
            over: Summary = getattr(row, self.on).main
            return percent(over.mean) + ("" if over.std is None else f" ± {percent(over.std)}")

        main, *further = self.scores.values()
        return [main._replace(cell=with_spread), *further, seeds, time]

    @property
    def scores(self) -> dict[str, Column]:
        """A column for each metric."""
        return {name: Column(metric.heading, partial(self.text, metric=name)) for name, metric in self.metrics.items()}

    def text(self, row: Row, metric: str | None = None) -> str:
        """Return a score of a row as tables show it, by default the main one."""
        return self.shown(self.score(row, metric), metric)

    def shown(self, score: float | None, metric: str | None = None) -> str:
        """Return a score as tables show it; "-" if there is none."""
        return "-" if score is None else self.metrics[metric or self.metric].text(score)

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
        """Return the head of the column of plots, its cells row by row, and its legend."""
        from hiergcn.reports import axes
        from hiergcn.reports.axes import PlotColumn
        from hiergcn.reports.palette import INK, MUTED, method_colour
        from hiergcn.reports.panels import Entry, legend_html

        classes = self.metric == "accuracy"  # numbers have neither an interval nor a mark for each seed
        title, unit, sign = ("accuracy, %", 100.0, " %") if classes else ("R²", 1.0, "")

        def shown(value: float) -> float:
            return unit * value if classes else max(value, LEAST_R2)

        scores = [self.score(row) or 0.0 for row in self.rows]
        seeds = [getattr(row, self.on).main.values for row in self.rows]
        spreads = [self.spread(row) for row in self.rows]
        has_spread = any(spread is not None for spread in spreads)
        if has_spread or not classes:
            intervals = [(at - (std or 0.0), at + (std or 0.0)) for at, std in zip(scores, spreads, strict=True)]
        else:
            intervals = [accuracy_interval(at, self.nodes) for at in scores]
        seen = [self.validation(row) for row in self.rows]
        if classes:
            values = [end for pair in intervals for end in pair] + [
                one for one in (*seen, self.claim) if one is not None
            ]
            values += [value for found in seeds for value in found]
            axis = axes.span(map(shown, values), room=0.03, most=100.5, round_ends=True)
        else:
            axis = axes.span([*map(shown, scores), 0.0, 1.0], room=0.03, most=1.02)
        column, cells = PlotColumn(axis), []
        for row, score, each, ends, chosen in zip(self.rows, scores, seeds, intervals, seen, strict=True):
            colour, drawn = INK if not row.name else method_colour(row.name), []
            tip = f"{row.title}: {self.on if classes else title} {self.shown(score)}{sign}"
            if classes:
                low, high = map(shown, ends)
                tip += f", {low:.1f} to {high:.1f}"
                drawn.append(column.interval(low, high, colour, 2.4 if row.ours else 1.6))
                if 1 < len(set(each)) <= MAX_DOTS:
                    drawn += [column.mark(shown(v), colour, "ring", 2.5, f"a seed: {100 * v:.1f} %") for v in each]
            else:
                drawn.append(column.zero())
            if chosen is not None and self.on == "test":
                about = f"{row.title}: validation {self.shown(chosen)}{sign}"
                drawn.append(column.mark(shown(chosen), MUTED, "diamond", 3.5, about))
            if self.claim is not None and row.ours:
                drawn.append(column.mark(shown(self.claim), INK, "star", 6, f"the paper: {100 * self.claim:.1f} %"))
            drawn.append(column.mark(shown(score), colour, "dot", 6 if row.ours else 5, tip))
            cells.append(column.cell(*drawn))
        legend = [Entry(f"{self.on} {title}", INK, "dot")]
        if classes:
            over = "± standard deviation over seeds" if has_spread else f"95 % interval for {self.nodes:,} nodes"
            legend.append(Entry(over, INK, "line"))
            legend += [Entry("each seed", INK, "ring")] if any(len(set(each)) > 1 for each in seeds) else []
        legend += [Entry("validation", MUTED, "diamond")] if self.on == "test" else []
        legend += [] if self.claim is None else [Entry("reported in the paper", INK, "star")]
        return column.head(), cells, legend_html(legend)


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
        nodes = sum(one["support"] for one in metrics["per_class"]["classes"])
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


def _weight(row: Row, unit: str = "") -> str:
    return f"{100 * row.weight:.0f}{unit}" if row.weight else ""
