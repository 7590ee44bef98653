"""The page of a run that predicts numbers: scores, the methods side by side, predicted against true values, errors."""

import math
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from hiergcn.choose.adapt import AUTO
from hiergcn.choose.portfolio import candidate_title
from hiergcn.evaluate.conformal import describe_intervals
from hiergcn.evaluate.metrics import metrics_for
from hiergcn.model.registry import method_title
from hiergcn.report import axes
from hiergcn.report.explorer import value_ends, value_names
from hiergcn.report.figures import DASH
from hiergcn.report.headline import COMPARE, Step, title_of
from hiergcn.report.marks import PlotColumn
from hiergcn.report.palette import FIRST, INK, LINE, MUTED, SECOND, VALUE_COLOURS, method_colour
from hiergcn.report.panels import Entry, Figure, Panel, legend_html
from hiergcn.report.still import Still, place_map
from hiergcn.report.template import rendered, settings_rows
from hiergcn.report.tree_layout import Positions
from hiergcn.run.folder import LoadedRun

FLOORS = ("constant", "label-propagation", "harmonic", "mlp")
"""Methods that an answer must be better than to be worth its cost."""
MOST_DOTS = 2_000
BINS = 41
LARGEST = 10
"""Errors in the table."""
LEAST = -0.5
"""Lowest R² of the plots."""


def render_numbers(run: LoadedRun, **more: Any) -> str:
    """Return the HTML of the page; `more` are values of the template that pages of classes have, too."""
    metrics, on = run.metrics, "test" if run.metrics["test_r2"] else "validation"
    judged = run.predictions[run.predictions["split"] == on]
    judged = judged.assign(error=judged["predicted"] - judged["value"])
    rows, about = _rows(metrics, on), f"{len(judged):,} {on} nodes"
    column = PlotColumn(axes.span([max(row["r2"], LEAST) for row in rows] + [0.0, 1.0], room=0.03, most=1.02))
    return rendered(
        "numbers.html",
        config=run.config,
        metrics=metrics,
        machine=run.environment,
        settings=settings_rows(run.settings, run.config.get("reasons", {})),
        title=title_of(metrics["dataset"]),
        target=metrics["target"],
        kicker="automatic choice" if metrics["model"] == AUTO else method_title(metrics["model"]),
        figure=f"R² {_figure(_delivered(metrics, on, 'r2'))}",
        sentences=_sentences(metrics, on, len(judged), rows),
        steps=_next_steps(metrics, judged, on, rows),
        least=LEAST,
        board_legend=legend_html(_legend(on, rows)),
        digits=_digits(_delivered(metrics, on, "rmse")),
        rows=[(row, _plot(column, row)) for row in rows],
        axis=column.head(),
        on=on,
        left_out=[one for one in metrics["leaderboard"] or () if one["left_out"]],
        scatter=_scatter(judged, metrics["target"]).html(f"predicted against true values of {about}"),
        errors=_errors(judged, metrics).html(f"predicted minus true value of {about}"),
        largest=judged.sort_values("error", key=abs, ascending=False, kind="stable").head(LARGEST).to_dict("records"),
        maps=_maps(run, judged),
        curves=_curves(run),
        **more,
    )


def _delivered(metrics: dict[str, Any], on: str, name: str) -> float | None:
    found: float | None = metrics[f"delivered_{name}" if on == "test" else f"delivered_val_{name}"]
    return found


def _rows(metrics: dict[str, Any], on: str) -> list[dict[str, Any]]:
    """Return the answer and every method beside it, best on validation first."""
    scores = {name: _delivered(metrics, on, name) for name in metrics_for("numbers")}
    title = "The answer" if metrics["leaderboard"] else method_title(metrics["model"])
    ours = {"name": "", "title": title, "validation": metrics["delivered_val_r2"], "weight": None, **scores}
    rows = [ours]
    for one in metrics["leaderboard"] or metrics["baselines"] or ():
        if one["left_out"] is None and one[on]["r2"]:
            about = {"name": one["name"], "title": candidate_title(one["name"], one["model"]), "weight": one["weight"]}
            found = {name: one[on][name]["mean"] for name in metrics_for("numbers")}
            rows.append(about | found | {"validation": one["validation"]["r2"]["mean"]})
    return [row for row in rows if row["r2"] is not None]


def _legend(on: str, rows: list[dict[str, Any]]) -> list[Entry]:
    seen = on == "test" and any(row["validation"] is not None for row in rows)
    return [Entry(f"{on} R²", INK), *([Entry("validation", MUTED, "diamond")] if seen else [])]


def _digits(error: float | None) -> int:
    """Return the decimals of a value so that its error is seen."""
    return max(0, 2 - math.floor(math.log10(error))) if error else 2


def _plot(column: PlotColumn, row: dict[str, Any]) -> Markup:
    colour = INK if not row["name"] else method_colour(row["name"])
    drawn, validation = [column.zero()], row["validation"]
    if validation is not None:
        drawn.append(column.mark(max(validation, LEAST), MUTED, "diamond", 3.5, f"validation {validation:.3f}"))
    drawn.append(column.mark(max(row["r2"], LEAST), colour, "dot", 5, f"{row['title']}: R² {row['r2']:.3f}"))
    return column.cell(*drawn)


def _sentences(metrics: dict[str, Any], on: str, nodes: int, rows: list[dict[str, Any]]) -> list[str]:
    """Return what the headline means, what was chosen, how it compares, and what the intervals promise."""
    mae, rmse = (_figure(_delivered(metrics, on, name)) for name in ("mae", "rmse"))
    errors = f"Mean absolute error {mae}, root mean squared error {rmse}."
    found = [f"{on.capitalize()} R² of the predicted {metrics['target']} on {nodes:,} nodes. {errors}"]
    found += [metrics["verdict"]] if metrics["verdict"] else []
    floors = [row for row in rows if row["name"] in FLOORS]
    if floors and rows[0]["name"] == "":
        best = max(floors, key=lambda row: row["validation"] or 0.0)
        found.append(f"The best simple method on validation, {best['title']}, has R² {_figure(best['r2'])}.")
    if metrics["prediction_intervals"]:
        found.append(describe_intervals(metrics["prediction_intervals"]))
    return found


def _next_steps(metrics: dict[str, Any], judged: pd.DataFrame, on: str, rows: list[dict[str, Any]]) -> list[Step]:
    """Return what to do next, the most useful first."""
    rmse = _delivered(metrics, on, "rmse") or 0.0
    error = judged["error"].abs()
    large, worst = int((error > rmse).sum()), judged.iloc[int(error.to_numpy().argmax())]
    most = f"{worst['id']} is the worst: predicted {worst['predicted']:.4g}, true {worst['value']:.4g}"
    share = f"{large:,} of {len(judged):,} {on} nodes are off by more than {_figure(rmse)}. {most}."
    steps = [Step("Look at large errors", share, "only=wrong")] if large else []
    if not metrics["prediction_intervals"]:
        steps.append(Step("Ask for intervals", "With --coverage 0.9, nine in ten hold the true value of their node."))
    return [*steps, *([COMPARE] if len(rows) == 1 else [])]


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


def _errors(judged: pd.DataFrame, metrics: dict[str, Any]) -> Figure:
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


def _maps(run: LoadedRun, judged: pd.DataFrame) -> list[tuple[str, Markup, Still]]:
    """Return maps of the predicted numbers and of large errors, with title and legend; none without coordinates."""
    if run.coordinates is None:
        return []
    places: Positions = run.coordinates.projected() @ np.array([1, -1j])
    predicted = run.predictions["predicted"].to_numpy(float)
    ends = value_ends(predicted)
    ranges = [Entry(name, colour) for name, colour in zip(value_names(ends), VALUE_COLOURS, strict=True)]
    usual = float(np.sqrt(np.mean(judged["error"] ** 2)))
    sides = np.digitize(judged["error"], [-usual, usual])
    kinds = [("much too low", FIRST), ("near", LINE), ("much too high", SECOND)]
    target = run.metrics["target"]
    found = [
        (f"Predicted {target}", places, np.searchsorted(ends[1:-1], predicted, "right"), ranges),
        (f"Errors beyond {usual:.3g}", places[judged.index.to_numpy()], sides, [Entry(*kind) for kind in kinds]),
    ]
    return [
        (title, legend_html(legend), place_map(spots, group, [one.colour for one in legend], f"Map: {title}."))
        for title, spots, group, legend in found
    ]


def _curves(run: LoadedRun) -> Markup | None:
    """Return the squared error per epoch of the selected seed; None for a method that is done in one step."""
    selected = run.metrics["selected_seed"]
    history = run.history[run.history["seed"] == selected]
    if len(history) < 2:
        return None
    terms = run.metrics["split"]["train"] if run.settings.train.loss == "sum" else 1
    losses = history["train_loss"] / terms, history["validation_loss"]
    y = axes.powers(pd.concat(losses), "mean squared error, in units of the variance of the training values")
    panel = Panel(axes.span(history["epoch"], "epoch", room=0.01), y, height=220)
    for values, colour, name in zip(losses, (FIRST, SECOND), ("training", "validation"), strict=True):
        panel.line(history["epoch"], values, colour, name)
    best = run.metrics["best_epoch"][run.metrics["seeds"].index(selected)]
    panel.rule(x=best, dash=DASH, tip=f"selected epoch {best}")
    legend = [Entry("training", FIRST, "line"), Entry("validation", SECOND, "line")]
    return Figure([panel], [*legend, Entry("selected epoch", INK, "dashed")]).html(f"loss per epoch of seed {selected}")


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
