"""Figures of a run: curves of training, calibration, predicted against true numbers, errors, maps."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from markupsafe import Markup

from hiergcn.reports import axes
from hiergcn.reports.palette import FIRST, INK, LINE, MUTED, SECOND, VALUE_COLOURS
from hiergcn.reports.panels import Entry, Figure, Panel, legend_html
from hiergcn.reports.shown import ShownRun
from hiergcn.reports.still import Still, place_map
from hiergcn.reports.tree_layout import Positions

DASH = "5 4"
MAX_POINTS = 300
"""Points of a curve; a longer one is thinned."""
MOST_DOTS = 2_000
BINS = 41
PARTS = (("train", FIRST, "training"), ("validation", SECOND, "validation"))
"""Of the columns of a history, their colours and names."""


def curves_figure(history: pd.DataFrame, selected_seed: int, best_epoch: int | None, loss_terms: int) -> Figure:
    """Draw loss and accuracy per epoch: the selected seed as lines, the 10th to 90th percentile of all as bands.

    The training loss is divided by `loss_terms`, the number of terms it sums: networks, times training nodes unless it
    is a mean over nodes.
    """
    frame = history.assign(train_loss=history["train_loss"] / loss_terms)
    x, panels = axes.span(frame["epoch"], "epoch", room=0.01), list[Panel]()
    for what, title, factor in (("loss", "Mean cross-entropy", 1.0), ("accuracy", "Accuracy, %", 100.0)):
        tables = [factor * frame.pivot(index="epoch", columns="seed", values=f"{part}_{what}") for part, _, _ in PARTS]
        values = np.concatenate([table.to_numpy().ravel() for table in tables])
        y = axes.span(values, zero=what == "loss", most=100.5 if what == "accuracy" else None)
        panel = Panel(x, y, title=title)
        for table, (_, colour, name) in zip(tables, PARTS, strict=True):
            thin = table.iloc[:: -(-len(table) // MAX_POINTS)]
            epochs = thin.index.to_list()
            if table.shape[1] > 1:
                low, high = (thin.quantile(q, axis=1).to_list() for q in (0.1, 0.9))
                panel.band(epochs, low, high, colour, 0.18)
            if selected_seed in table:
                panel.line(epochs, thin[selected_seed].to_list(), colour, name)
        panels.append(panel)
    return _with_selected_epoch(panels, best_epoch)


def loss_figure(history: pd.DataFrame, best_epoch: int, loss_terms: int) -> Figure:
    """Draw the squared error per epoch of one seed that learned numbers."""
    losses = [history["train_loss"] / loss_terms, history["validation_loss"]]
    y = axes.powers(pd.concat(losses), "mean squared error, in units of the variance of the training values")
    panel = Panel(axes.span(history["epoch"], "epoch", room=0.01), y, height=220)
    for values, (_, colour, name) in zip(losses, PARTS, strict=True):
        panel.line(history["epoch"], values, colour, name)
    return _with_selected_epoch([panel], best_epoch)


def _with_selected_epoch(panels: list[Panel], best_epoch: int | None) -> Figure:
    legend = [Entry(name, colour, "line") for _, colour, name in PARTS]
    if best_epoch is not None:
        for panel in panels:
            panel.rule(x=best_epoch, dash=DASH, tip=f"selected epoch {best_epoch}")
        legend.append(Entry("selected epoch", INK, "dashed"))
    return Figure(panels, legend, columns=len(panels))


def reliability_figure(calibration: Mapping[str, Any]) -> Figure:
    """Draw accuracy against confidence, before and after calibration; one panel if there was none."""
    drawn = {"before": ("Before calibration: ", SECOND), "after": ("After calibration: ", FIRST)}
    if calibration["temperature"] == 1:
        drawn = {"before": ("", FIRST)}
    panels, ticks = [], (0.0, 25.0, 50.0, 75.0, 100.0)
    names = tuple(f"{tick:.0f}" for tick in ticks)
    x_axis, y_axis = (axes.Axis(0, 102, ticks, names, title) for title in ("mean confidence, %", "accuracy, %"))
    for when, (title, colour) in drawn.items():
        bins = calibration["reliability"][when]
        title += f"ECE {100 * calibration[f'ece_{when}']:.1f} %"
        panel = Panel(x_axis, y_axis, title=title, height=260)
        panel.line([0, 100], [0, 100], MUTED, dash=DASH)
        most = max(bins["nodes"], default=1)
        for confidence, accuracy, nodes in zip(bins["confidence"], bins["accuracy"], bins["nodes"], strict=True):
            x, y = 100 * confidence, 100 * accuracy
            tip = f"{nodes:,} nodes: confidence {x:.0f} %, {y:.0f} % correct"
            panel.up(x, x, y, colour, 1.4)
            panel.dots([x], [y], colour, size=3 + 7 * (nodes / most) ** 0.5, tips=[tip])
        panels.append(panel)
    return Figure(panels, columns=2)


def principal_components(probabilities: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Return the first two principal components of the log-probabilities, (n, 2)."""
    logits = np.log(np.maximum(probabilities.astype(np.float64), 1e-4))
    centred = logits - logits.mean(axis=1, keepdims=True)
    centred -= centred.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    main = vectors[:, ::-1][:, :2]
    main = main * np.where(main[np.abs(main).argmax(axis=0), np.arange(main.shape[1])] < 0, -1, 1)
    components: npt.NDArray[np.float64] = centred @ main
    return components


def value_ends(values: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Return the ends of ranges that hold about as many numbers each, one per colour."""
    ends: npt.NDArray[np.float64] = np.quantile(values, np.linspace(0, 1, len(VALUE_COLOURS) + 1))
    return ends


def value_names(ends: npt.NDArray[np.float64]) -> list[str]:
    return [f"{low:.3g} to {high:.3g}".replace("-", "−") for low, high in pairwise(ends)]


def scatter_figure(judged: pd.DataFrame, target: str) -> Figure:
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


def error_figure(judged: pd.DataFrame, metrics: Mapping[str, Any]) -> Figure:
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


def number_maps(run: ShownRun, judged: pd.DataFrame) -> list[tuple[str, Markup, Still]]:
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
