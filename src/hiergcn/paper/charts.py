"""The figures of the page; each is None if its runs are missing."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from hiergcn.paper.collect import CellResult, Evidence
from hiergcn.paper.experiments import DATASET_TITLES, arm_title
from hiergcn.paper.published import TABLE2
from hiergcn.paper.tables import BESIDE, OF_THE_PAPER
from hiergcn.paper.verdicts import seconds
from hiergcn.report.svg import CLASS_COLOURS, FIRST, INK, MUTED, PAPER, SECOND, STYLE, new_figure

WIDTH = 9.0
"""Inches."""
MARKERS = ("o", "s", "D", "^", "v", "P")
FEW = {"hgcn": FIRST, **dict(zip(("gcn", "gat", "dgcn", "appnp", "grand"), CLASS_COLOURS[1:], strict=False))}
APART = 0.22
"""Horizontal distance between the points of two methods, in labels per class."""
FAR = 3.0
"""A mean that lies this many times farther below the others than they lie apart is left off the axis."""


def varied_figure(evidence: Evidence, experiment: str, what: str, claimed: dict[str, int]) -> Figure | None:
    """Draw accuracy over the values of a setting, one panel per dataset, with the paper's best value."""
    cells = evidence.cells[experiment]
    if not any(cell.done for cell in cells.values()):
        return None
    datasets = evidence.scale.datasets
    values = sorted({int(column) for _, _, column in cells})
    with matplotlib.rc_context(STYLE):
        rows = (len(datasets) + 1) // 2
        figure = new_figure(WIDTH, 0.5 + 2.5 * rows)
        panels = figure.subplots(rows, min(len(datasets), 2), squeeze=False).ravel()
        for axes, name in zip(panels, datasets, strict=False):
            printed = TABLE2["hgcn"][name]
            done = [cell for (_, where, _), cell in cells.items() if where == name and cell.done]
            far = _far_below(done, 100 * printed.mean)
            shown = [cell for cell in done if cell is not far]
            _bars(
                axes, [int(cell.cell.column) for cell in shown], shown, FIRST, "o", "H-GCN, mean ± standard deviation"
            )
            axes.plot(claimed[name], 100 * printed.mean, "*", color=SECOND, markersize=12, label="the paper's best")
            axes.set(title=DATASET_TITLES[name], xlabel=what, ylabel="test accuracy, %")
            axes.set_xticks(values)
            axes.set_xlim(values[0] - 0.4, values[-1] + 0.4)
            axes.margins(y=0.12)
            if far is not None:
                _draw_far(axes, far)
        for axes in panels[len(datasets) :]:
            axes.set_visible(False)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
        return figure


def _far_below(cells: Sequence[CellResult], also: float) -> CellResult | None:
    """Return the cell whose mean would flatten the others into a line, if there is one."""
    ranked = sorted(cells, key=lambda cell: cell.accuracy.mean or 0.0)
    if len(ranked) < 3:
        return None
    lowest, second, highest = (100 * (ranked[place].accuracy.mean or 0.0) for place in (0, 1, -1))
    return ranked[0] if second - lowest > FAR * max(max(highest, also) - second, 1.0) else None


def _draw_far(axes: Axes, cell: CellResult) -> None:
    """Draw an arrow that points below the axis, with the figure."""
    mean, spread = 100 * (cell.accuracy.mean or 0.0), 100 * (cell.accuracy.std or 0.0)
    axes.annotate(
        f"{mean:.1f} ± {spread:.1f}",
        xy=(int(cell.cell.column), 0.0),
        xycoords=("data", "axes fraction"),
        xytext=(int(cell.cell.column), 0.3),
        textcoords=("data", "axes fraction"),
        ha="center",
        rotation=90,  # beside the next value's bar
        color=FIRST,
        arrowprops={"arrowstyle": "-|>", "color": FIRST},
    )


def few_labels_figure(evidence: Evidence) -> Figure | None:
    """Draw accuracy over labels per class: the paper's, ours with all validation labels, and ours with few."""
    if not any(cell.done for cell in evidence.cells["table3"].values()):
        return None
    counts = sorted(evidence.scale.labels)
    with matplotlib.rc_context(STYLE):
        figure = new_figure(WIDTH, 3.9)
        first, *panels = figure.subplots(1, 3, sharey=True)
        for place, ((arm, colour), marker) in enumerate(zip(FEW.items(), MARKERS, strict=True)):
            printed = [(count, one) for count in counts if (one := evidence.printed_few(arm, count))]
            look = {"marker": marker, "color": colour, "linewidth": 1.6, "markersize": 5}
            first.plot([count for count, _ in printed], [100 * one.mean for _, one in printed], **look)
            for axes, small in zip(panels, (False, True), strict=True):
                cells = [evidence.few(arm, f"{count} small" if small else str(count)) for count in counts]
                done = [(count, cell) for count, cell in zip(counts, cells, strict=True) if cell.done]
                places = [count + APART * (place - 2.5) for count, _ in done]
                _bars(axes, places, [cell for _, cell in done], colour, marker, arm_title(arm))
        titles = ("the paper", "ours, 500 validation labels", "ours, validation as small as training")
        for axes, title in zip((first, *panels), titles, strict=True):
            axes.set(xlabel="labels per class", title=title)
            axes.set_xticks(counts)
            axes.set_xlim(counts[0] - 1.5, counts[-1] + 1.5)
        first.set_ylabel("test accuracy, %")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=6)
        return figure


def _bars(axes: Axes, x: Sequence[float], cells: Sequence[CellResult], colour: str, marker: str, label: str) -> None:
    """Draw a line through the means, with error bars of one standard deviation over all runs."""
    means = [100 * (cell.accuracy.mean or 0.0) for cell in cells]
    spreads = [100 * (cell.accuracy.std or 0.0) for cell in cells]
    axes.errorbar(
        x,
        means,
        yerr=spreads,
        marker=marker,
        color=colour,
        linewidth=1.6,
        markersize=5,
        elinewidth=0.9,
        capsize=2,
        label=label,
    )


def field_figure(evidence: Evidence) -> Figure | None:
    """Draw the receptive field: H-GCN by levels, a flat network of as many layers, and GCN's two layers."""
    found = dict(zip(evidence.scale.datasets, evidence.measured("figure-receptive-field"), strict=True))
    known = {name: one for name, one in found.items() if one is not None}
    if not known:
        return None
    with matplotlib.rc_context(STYLE):
        rows = (len(known) + 1) // 2
        figure = new_figure(WIDTH, 0.5 + 2.5 * rows)
        panels = figure.subplots(rows, min(len(known), 2), squeeze=False).ravel()
        for axes, (name, one) in zip(panels, known.items(), strict=False):
            levels = range(one["depth"] + 1)
            share = {
                what: [100 * point[what] / one["nodes"] for point in one["hgcn"]] for what in ("low", "median", "high")
            }
            axes.fill_between(levels, share["low"], share["high"], color=FIRST, alpha=0.15, linewidth=0)
            axes.plot(levels, share["median"], "o-", color=FIRST, label="H-GCN")
            flat = [100 * point["median"] / one["nodes"] for point in one["flat"]]
            axes.plot(levels, flat, "s--", color=SECOND, markersize=4, label="as many layers without coarsening")
            gcn = 100 * one["gcn"]["median"] / one["nodes"]
            axes.axhline(gcn, color=INK, linewidth=1.2, linestyle=":", label="GCN, 2 layers")
            axes.set(title=DATASET_TITLES[name], xlabel="levels", ylabel="receptive field, % of nodes", yscale="log")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        for axes in panels[len(known) :]:
            axes.set_visible(False)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=3)
        return figure


def cost_figure(evidence: Evidence) -> Figure | None:
    """Draw seconds over nodes on logarithmic axes, with lines of slope 1 for comparison."""
    lines = (
        ("coarsen", "coarsening, 4 levels", FIRST, "o"),
        ("hgcn_epoch", "H-GCN, epoch", SECOND, "s"),
        ("gcn_epoch", "GCN, epoch", CLASS_COLOURS[2], "D"),
        ("gat_epoch", "GAT, epoch", CLASS_COLOURS[3], "^"),
    )
    with matplotlib.rc_context(STYLE):
        figure = new_figure(WIDTH, 4.2)
        axes = figure.subplots()
        for what, label, colour, marker in lines:
            points, _ = seconds(evidence, what)
            if points:
                axes.plot(*zip(*points, strict=True), marker=marker, color=colour, label=label)
        if not axes.lines:
            return None
        axes.set(xscale="log", yscale="log", xlabel="nodes", ylabel="seconds")
        low, high = axes.get_xlim()
        bottom, top = axes.get_ylim()
        for start in (1e-7, 1e-6, 1e-5, 1e-4):
            axes.plot([low, high], [start * low, start * high], ":", color=MUTED, linewidth=0.9, zorder=0)
        axes.set(xlim=(low, high), ylim=(bottom, top))
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=4)
        return figure


def random_figure(evidence: Evidence) -> Figure | None:
    """Draw mean ± standard deviation over random splits, and the mean on the public split, one panel per dataset."""
    cells = {key: cell for key, cell in evidence.cells["random-splits"].items() if cell.done > 1}
    if not cells:
        return None
    datasets = [name for name in evidence.scale.citation if any(where == name for _, where, _ in cells)]
    arms = [arm for arm in (*OF_THE_PAPER, *BESIDE) if any(arm == one for one, _, _ in cells)]
    with matplotlib.rc_context(STYLE):
        figure = new_figure(WIDTH, 1.4 + 0.3 * len(arms))
        panels = figure.subplots(1, len(datasets), sharey=True, squeeze=False).ravel()
        for axes, name in zip(panels, datasets, strict=True):
            for place, arm in enumerate(arms):
                cell, public = cells.get((arm, name, "")), evidence.cells["table2"].get((arm, name, ""))
                colour = FIRST if arm == "hgcn" else INK
                if cell is not None:
                    mean, spread = 100 * (cell.accuracy.mean or 0.0), 100 * (cell.accuracy.std or 0.0)
                    axes.errorbar(
                        mean, place, xerr=spread, fmt="o", color=colour, capsize=3, markersize=5, label="random splits"
                    )
                if public is not None and public.accuracy.mean is not None:
                    axes.plot(
                        100 * public.accuracy.mean, place, "D", color=SECOND, fillstyle="none", label="public split"
                    )
            axes.set(title=DATASET_TITLES[name], xlabel="test accuracy, %")
        panels[0].set_yticks(range(len(arms)), [arm_title(arm) for arm in arms])
        panels[0].invert_yaxis()
        handles, labels = panels[0].get_legend_handles_labels()
        once = dict(zip(reversed(labels), reversed(handles), strict=True))
        figure.legend(list(once.values()), list(once), loc="outside upper left", ncols=2)
        return figure


TOY_PLACES = {"A": (0.0, 0.35), "B": (-1.0, 1.0), "D": (-1.0, -0.3), "C": (1.0, 1.0), "E": (1.0, -0.3)}


def toy_figure(found: Mapping[str, Any]) -> Figure:
    """Draw the toy graph, the two steps of grouping, and the coarser graph."""
    names: list[str] = found["names"]
    edges = [(one, other, weight) for one, other, weight in found["edges"]]
    with matplotlib.rc_context(STYLE | {"axes.grid": False}):
        figure = new_figure(WIDTH, 2.6)
        panels = figure.subplots(1, 4)
        alone = list(range(len(names)))
        for axes, title, groups in (
            (panels[0], "the graph", alone),
            (panels[1], "same neighbours (SEG)", found["equivalence"]),
            (panels[2], "most similar (SSG)", found["groups"]),
        ):
            _draw_graph(axes, dict(zip(names, [TOY_PLACES[name] for name in names], strict=True)), edges, title)
            _shade(axes, names, groups)
        _coarse(panels[3], names, found)
        return figure


def _draw_graph(
    axes: Axes, places: Mapping[str, tuple[float, float]], edges: Sequence[tuple[str, str, float]], title: str
) -> None:
    for one, other, weight in edges:
        (x, y), (to_x, to_y) = places[one], places[other]
        axes.plot([x, to_x], [y, to_y], color=MUTED, linewidth=1.4, zorder=1)
        middle = (0.45 * x + 0.55 * to_x, 0.45 * y + 0.55 * to_y)
        axes.text(
            *middle,
            f"{weight:g}",
            ha="center",
            va="center",
            fontsize=9,
            color=INK,
            zorder=2,
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1},
        )
    for name, (x, y) in places.items():
        axes.plot(x, y, "o", markersize=19, color=PAPER, markeredgecolor=INK, zorder=3)
        axes.text(x, y, name, ha="center", va="center", fontsize=10, zorder=4)
    axes.set(title=title, xlim=(-1.6, 1.6), ylim=(-0.95, 1.6), aspect="equal")
    axes.axis("off")


def _shade(axes: Axes, names: Sequence[str], groups: Sequence[int]) -> None:
    """Draw a thick line behind the members of every group of more than one."""
    for number, group in enumerate(sorted(set(groups))):
        members = [TOY_PLACES[name] for name, one in zip(names, groups, strict=True) if one == group]
        if len(members) > 1:
            x, y = zip(*members, strict=True)
            axes.plot(x, y, color=CLASS_COLOURS[number % 6], linewidth=30, alpha=0.35, solid_capstyle="round", zorder=0)


def _coarse(axes: Axes, names: Sequence[str], found: Mapping[str, Any]) -> None:
    groups, matrix = found["groups"], np.array(found["coarse"])
    labels = ["".join(n for n, one in zip(names, groups, strict=True) if one == group) for group in range(len(matrix))]
    places = {}
    for label in labels:
        x, y = zip(*(TOY_PLACES[name] for name in label), strict=True)
        places[label] = (float(np.mean(x)), float(np.mean(y)))
    edges = [
        (labels[one], labels[other], float(matrix[one, other]))
        for one, other in zip(*np.nonzero(np.triu(matrix, 1)), strict=True)
    ]
    _draw_graph(axes, places, edges, "the coarser graph")
    for label, weight in zip(labels, found["node_weight"], strict=True):
        loop = matrix[labels.index(label), labels.index(label)]
        text = f"weight {weight}" + (f"\nloop {loop:g}" if loop else "")
        axes.text(places[label][0], places[label][1] - 0.45, text, ha="center", va="top", fontsize=8, color=MUTED)
