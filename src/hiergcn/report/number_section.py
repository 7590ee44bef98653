"""What the page of a run that predicts numbers has of its own: predicted against true values, errors, maps."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from hiergcn.report import axes
from hiergcn.report.explorer import value_ends, value_names
from hiergcn.report.figures import DASH
from hiergcn.report.headline import next_steps_for_numbers
from hiergcn.report.leaderboard import Board
from hiergcn.report.palette import FIRST, INK, LINE, MUTED, SECOND, VALUE_COLOURS
from hiergcn.report.panels import Entry, Figure, Panel, legend_html
from hiergcn.report.shown import ShownRun
from hiergcn.report.still import Still, place_map
from hiergcn.report.tree_layout import Positions

MOST_DOTS = 2_000
BINS = 41
LARGEST = 10
"""Errors in the table."""


def number_section(run: ShownRun, board: Board) -> dict[str, Any]:
    """Return the values of the templates that are about numbers."""
    metrics = run.scores
    judged = run.table[run.table["split"] == board.on]
    judged = judged.assign(error=judged["predicted"] - judged["value"])
    about = f"{len(judged):,} {board.on} nodes"
    worst = judged.sort_values("error", key=abs, ascending=False, kind="stable")
    rmse = board.score(board.ours, "rmse")
    return {
        "steps": next_steps_for_numbers(metrics, board, judged),
        "target": metrics["target"],
        "digits": max(0, 2 - math.floor(math.log10(rmse))) if rmse else 2,  # so that the error is seen
        "scatter": _scatter(judged, metrics["target"]).html(f"predicted against true values of {about}"),
        "errors": _errors(judged, metrics).html(f"predicted minus true value of {about}"),
        "largest": worst.head(LARGEST).to_dict("records"),
        "maps": _maps(run, judged),
        "curves": _curves(run),
    }


def _scatter(judged: pd.DataFrame, target: str) -> Figure:
    """Draw the predicted against the true value of each node, with the interval around the diagonal."""
    shown = judged.iloc[:: -(-len(judged) // MOST_DOTS)] if len(judged) > MOST_DOTS else judged
    ends = [*shown["value"], *shown["predicted"]]
    panel = Panel(axes.span(ends, f"true {target}"), axes.span(ends, f"predicted {target}"), height=340)
    low, high = min(ends), max(ends)
    if "lower" in judged and judged["lower"].notna().all():
        half = float((judged["upper"] - judged["lower"]).iloc[0]) / 2
        x = np.linspace(low, high, 60)
        inside = [np.clip(x + shift, panel.y.low, panel.y.high).tolist() for shift in (-half, half)]
        panel.band(x.tolist(), inside[0], inside[1], FIRST, 0.12)
    panel.line([low, high], [low, high], MUTED, dash=DASH)
    tips = [f"{row.id}: {row.predicted:g}, true {row.value:g}" for row in shown.itertuples()]
    panel.dots(shown["value"], shown["predicted"], FIRST, size=2.5, tips=tips)
    legend = [Entry("a node", FIRST), Entry("equal", MUTED, "dashed")]
    return Figure([panel], [*legend, Entry("interval", FIRST, "band")] if "lower" in judged else legend)


def _errors(judged: pd.DataFrame, metrics: Mapping[str, Any]) -> Figure:
    """Draw how often each error occurs, with the ends of the interval."""
    counts, edges = np.histogram(judged["error"], bins=BINS)
    panel = Panel(
        axes.span(edges, "predicted minus true"), axes.span([0, counts.max()], "nodes", zero=True), height=340
    )
    for count, low, high in zip(counts.tolist(), edges[:-1], edges[1:], strict=True):
        if count:
            panel.column((low, high), (0, count), FIRST, opacity=0.7, tip=f"{low:.3g} to {high:.3g}: {count:,} nodes")
    panel.rule(x=0.0, colour=INK)
    half = (metrics["prediction_intervals"] or {}).get("half_width")
    for end in (-half, half) if half else ():
        panel.rule(x=end, colour=SECOND, dash=DASH, tip=f"end of the interval: {end:.3g}")
    return Figure([panel], [Entry("end of the interval", SECOND, "dashed")] if half else [])


def _maps(run: ShownRun, judged: pd.DataFrame) -> list[tuple[str, Markup, Still]]:
    """Return maps of the predicted numbers and of large errors, with title and legend; none without coordinates."""
    if run.coordinates is None:
        return []
    places: Positions = run.coordinates.projected() @ np.array([1, -1j])
    predicted = run.table["predicted"].to_numpy(float)
    ends = value_ends(predicted)
    ranges = [Entry(name, colour) for name, colour in zip(value_names(ends), VALUE_COLOURS, strict=True)]
    usual = float(np.sqrt(np.mean(judged["error"] ** 2)))
    sides = np.digitize(judged["error"], [-usual, usual])
    kinds = [("much too low", FIRST), ("near", LINE), ("much too high", SECOND)]
    target = run.scores["target"]
    found = [
        (f"Predicted {target}", places, np.searchsorted(ends[1:-1], predicted, "right"), ranges),
        (f"Errors beyond {usual:.3g}", places[judged.index.to_numpy()], sides, [Entry(*kind) for kind in kinds]),
    ]
    return [
        (title, legend_html(legend), place_map(spots, group, [one.colour for one in legend], f"Map: {title}."))
        for title, spots, group, legend in found
    ]


def _curves(run: ShownRun) -> Markup | None:
    """Return the squared error per epoch of the selected seed; None for a method that is done in one step."""
    selected = run.scores["selected_seed"]
    history = run.history[run.history["seed"] == selected]
    if len(history) < 2:
        return None
    terms = run.scores["split"]["train"] if run.settings.train.loss == "sum" else 1
    losses = history["train_loss"] / terms, history["validation_loss"]
    y = axes.powers(pd.concat(losses), "mean squared error, in units of the variance of the training values")
    panel = Panel(axes.span(history["epoch"], "epoch", room=0.01), y, height=220)
    for values, colour, name in zip(losses, (FIRST, SECOND), ("training", "validation"), strict=True):
        panel.line(history["epoch"], values, colour, name)
    best = run.scores["best_epoch"][run.scores["seeds"].index(selected)]
    panel.rule(x=best, dash=DASH, tip=f"selected epoch {best}")
    legend = [Entry("training", FIRST, "line"), Entry("validation", SECOND, "line")]
    return Figure([panel], [*legend, Entry("selected epoch", INK, "dashed")]).html(f"loss per epoch of seed {selected}")
