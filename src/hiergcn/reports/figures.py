"""Figures of a run: curves of training, calibration, predicted against true numbers, errors, and pictures of nodes.

Pictures of nodes serve print and browsers that run no script: many discs in a small space. A disc is a line of length 0
with round ends, so that a node takes about ten letters.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from markupsafe import Markup

from hiergcn.reports import axes
from hiergcn.reports.explorer import RADIUS, Ints, Positions, Tree
from hiergcn.reports.palette import FIRST, INK, MUTED, SECOND, VALUE_COLOURS, value_ends, value_names
from hiergcn.reports.panels import Entry, Figure, Panel, legend_html, number

if TYPE_CHECKING:
    from hiergcn.run.run import Run

DASH = "5 4"
MAX_POINTS = 300
"""Points of a curve; a longer one is thinned."""
MOST_DOTS = 2_000
BINS = 41
PARTS = (("train", FIRST, "training"), ("validation", SECOND, "validation"))
"""Of the columns of a history, their colours and names."""
SIZE = 600
PICTURE_PANELS = 3
PICTURE_NODES = 3000
PICTURE_EDGES = 3000
MAP_POINTS = 6000
MAP_MARGIN = 10


class Picture(NamedTuple):
    """A picture of nodes and the words below it."""

    svg: Markup
    caption: str


def curves_figure(
    history: pd.DataFrame, selected_seed: int, best_epoch: int | None, loss_terms: int, *, numbers: bool = False
) -> Figure:
    """Draw the loss per epoch and, unless the target is numbers, the accuracy.

    The selected seed is drawn as lines, the 10th to 90th percentile of all as bands. The training loss is divided by
    `loss_terms`, the number of terms it sums: networks, times training nodes unless it is a mean over nodes.
    """
    frame = history.assign(train_loss=history["train_loss"] / loss_terms)
    x, panels = axes.span(frame["epoch"], "epoch", room=0.01), list[Panel]()
    titles = {"loss": "Mean cross-entropy", "accuracy": "Accuracy, %"}
    if numbers:
        titles = {"loss": "Mean squared error, in units of the variance of the training values"}
    for what, title in titles.items():
        factor = 100.0 if what == "accuracy" else 1.0
        tables = [factor * frame.pivot(index="epoch", columns="seed", values=f"{part}_{what}") for part, _, _ in PARTS]
        values = np.concatenate([table.to_numpy().ravel() for table in tables])
        y = axes.span(values, zero=what == "loss", most=100.5 if what == "accuracy" else None)
        panel = Panel(x, axes.powers(values) if numbers else y, title=title)
        for table, (_, colour, name) in zip(tables, PARTS, strict=True):
            thin = table.iloc[:: -(-len(table) // MAX_POINTS)]
            epochs = thin.index.to_list()
            if table.shape[1] > 1:
                low, high = (thin.quantile(q, axis=1).to_list() for q in (0.1, 0.9))
                panel.band(epochs, low, high, colour, 0.18)
            if selected_seed in table:
                panel.line(epochs, thin[selected_seed].to_list(), colour, name)
        if best_epoch is not None:
            panel.rule(x=best_epoch, dash=DASH, tip=f"selected epoch {best_epoch}")
        panels.append(panel)
    legend = [Entry(name, colour, "line") for _, colour, name in PARTS]
    selected = [Entry("selected epoch", INK, "dashed")] if best_epoch is not None else []
    return Figure(panels, legend + selected, columns=len(panels))


def reliability_figure(calibration: Mapping[str, Any]) -> Figure:
    """Draw accuracy against confidence, before and after calibration if there was any."""
    drawn = {"before": ("before calibration, ", SECOND), "after": ("after calibration, ", FIRST)}
    if calibration["temperature"] == 1:
        drawn = {"before": ("", FIRST)}
    ticks, names, legend = (0.0, 25.0, 50.0, 75.0, 100.0), ("0", "25", "50", "75", "100"), []
    x_axis, y_axis = (axes.Axis(0, 102, ticks, names, title) for title in ("mean confidence, %", "accuracy, %"))
    panel = Panel(x_axis, y_axis, height=260)
    panel.line([0, 100], [0, 100], MUTED, dash=DASH)
    for when, (title, colour) in drawn.items():
        bins = calibration["reliability"][when]
        most = max(bins["nodes"], default=1)
        for confidence, accuracy, nodes in zip(bins["confidence"], bins["accuracy"], bins["nodes"], strict=True):
            x, y = 100 * confidence, 100 * accuracy
            tip = f"{nodes:,} nodes: confidence {x:.0f} %, {y:.0f} % correct"
            panel.up(x, x, y, colour, 1.4)
            panel.dots([x], [y], colour, size=3 + 7 * (nodes / most) ** 0.5, tips=[tip])
        legend.append(Entry(f"{title}ECE {100 * calibration[f'ece_{when}']:.1f} %", colour))
    return Figure([panel], legend)


def scatter_figure(judged: pd.DataFrame, target: str) -> Figure:
    """Draw the predicted against the true value of each node, with the interval around the diagonal."""
    shown = judged.iloc[:: -(-len(judged) // MOST_DOTS)]
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
    y = axes.span([0, counts.max()], "nodes", zero=True)
    panel = Panel(axes.span(edges, "predicted minus true"), y, height=340)
    for count, low, high in zip(counts.tolist(), edges[:-1], edges[1:], strict=True):
        if count:
            tip, height = f"{low:.3g} to {high:.3g}: {count:,} nodes", panel.down(0) - panel.down(count)
            panel.bar((low, high), count / 2, height, FIRST, opacity=0.7, tip=tip)
    panel.rule(x=0.0)
    half = (metrics["prediction_intervals"] or {}).get("half_width")
    for end in (-half, half) if half else ():
        panel.rule(x=end, colour=SECOND, dash=DASH, tip=f"end of the interval: {end:.3g}")
    return Figure([panel], [Entry("end of the interval", SECOND, "dashed")] if half else [])


def number_map(run: "Run") -> tuple[Markup, Picture] | None:
    """Return the legend and a map of the predicted numbers; None without coordinates."""
    if run.coordinates is None:
        return None
    places: Positions = run.coordinates.projected() @ np.array([1, -1j])
    predicted = run.table["predicted"].to_numpy(float)
    ends = value_ends(predicted)
    legend = [Entry(name, colour) for name, colour in zip(value_names(ends), VALUE_COLOURS, strict=True)]
    group, about = np.searchsorted(ends[1:-1], predicted, "right"), f"Map of the predicted {run.scores['target']}."
    return legend_html(legend), place_map(places, group, VALUE_COLOURS, about)


def levels_pictures(
    tree: Tree, positions: Sequence[Positions], predicted: Ints, colours: Sequence[str]
) -> list[Picture]:
    """Draw some levels, coarse to fine; each disc has the colour of the most frequent class among its nodes."""
    depth = len(tree.parent)
    small = [level for level in range(depth, -1, -1) if len(tree.weight[level]) <= PICTURE_NODES] or [depth]
    levels = [small[round(at)] for at in np.linspace(0, len(small) - 1, min(PICTURE_PANELS, len(small)))]
    pictures = []
    for level in levels:
        upper = tree.adjacency[level].tocoo()
        keep = np.flatnonzero(upper.row < upper.col)
        keep = keep[np.argsort(-upper.data[keep], kind="stable")[:PICTURE_EDGES]]
        width = 2 * RADIUS * np.sqrt(tree.weight[level])
        hyper_node = np.arange(len(predicted))
        for parent in tree.parent[:level]:
            hyper_node = parent[hyper_node].astype(np.int64)
        pairs = np.bincount(hyper_node * len(colours) + predicted, minlength=len(width) * len(colours))
        most = pairs.reshape(len(width), len(colours)).argmax(axis=1)  # the most frequent class in each
        place, scale = scaled(positions[level].conj(), width.max() / 2)  # up is up, as in the explorer
        ends = np.stack([place[upper.row[keep]], place[upper.col[keep]]], axis=1)
        drawn = [edge_path(ends), disc_paths(place, np.rint(width * scale).astype(int).clip(2), most, colours)]
        words = f"Level {level}: {len(width):,} {'hyper-nodes' if level else 'nodes'}"
        pictures.append(Picture(_svg(drawn, words, place, scale * width.max() / 2), words))
    return pictures


def place_map(places: Positions, group: Ints, colours: Sequence[str], description: str) -> Picture:
    """Draw each node where it is, in the colour of its group; of many nodes some.

    Nodes that are more than a tenth of the range of the middle 98 % away from it are left out.
    """
    known = np.flatnonzero(np.isfinite(places))
    near = np.ones(len(known), np.bool_)
    for values in (places[known].real, places[known].imag):
        low, high = np.quantile(values, [0.01, 0.99])
        near &= (values >= low - 0.1 * (high - low)) & (values <= high + 0.1 * (high - low))
    shown = known[near][:: -(-int(near.sum()) // MAP_POINTS)]
    place, _ = scaled(places[shown], 0.0)
    width = int(np.clip(round(0.8 * SIZE / np.sqrt(len(shown))), 3, 16))
    drawn = disc_paths(place, np.full(len(place), width), group[shown], colours)
    left_out = int((~near).sum())
    words = f"{left_out:,} node{'s lie' if left_out != 1 else ' lies'} far outside the picture." if left_out else ""
    return Picture(_svg([drawn], description, place, MAP_MARGIN), words)


def scaled(places: Positions, margin: float) -> tuple[Positions, float]:
    """Return places in a square of `SIZE`, with a margin given in the old unit, and the factor between the units."""
    low = complex(places.real.min() - margin, places.imag.min() - margin)
    size = complex(np.ptp(places.real) + 2 * margin, np.ptp(places.imag) + 2 * margin)
    scale = (SIZE - 12) / (max(size.real, size.imag) or 1.0)
    moved: Positions = (places - low) * scale + (complex(SIZE, SIZE) - scale * size) / 2
    return moved, float(scale)


def edge_path(ends: npt.NDArray[np.complex128], width: float = 0.7) -> str:
    """Return the edges between pairs of places as one path."""
    whole = np.rint(np.stack([ends.real, ends.imag], axis=2)).astype(int)
    path = "".join(f"M{a} {b}L{c} {d}" for (a, b), (c, d) in whole.tolist())
    return f'<path d="{path}" stroke="var(--edge)" stroke-width="{number(width)}" fill="none"/>'


def disc_paths(place: Positions, width: npt.NDArray[np.integer], group: Ints, colours: Sequence[str]) -> str:
    """Return a path for each colour and width."""
    paths: dict[tuple[str, int], list[str]] = {}
    whole = np.rint(np.stack([place.real, place.imag], axis=1)).astype(int).tolist()
    for (x, y), wide, which in zip(whole, width.tolist(), group.tolist(), strict=True):
        paths.setdefault((colours[which], wide), []).append(f"M{x} {y}h0")
    parts = (f'<path d="{"".join(p)}" stroke="{colour}" stroke-width="{w}"/>' for (colour, w), p in paths.items())
    return f'<g stroke-linecap="round">{"".join(parts)}</g>'


def _svg(drawn: Sequence[str], description: str, place: Positions, margin: float) -> Markup:
    """Return the picture, as high as what is at the places and a margin."""
    top, height = round(place.imag.min() - margin), round(float(np.ptp(place.imag)) + 2 * margin)
    label = f'role="img" aria-label="{escape(description)}"'
    return Markup(f'<svg class="still-picture" viewBox="0 {top} {SIZE} {height}" {label}>{"".join(drawn)}</svg>')  # noqa: S704
