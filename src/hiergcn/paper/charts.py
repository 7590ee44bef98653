"""The figures of the page; each is None if its runs are missing."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from hiergcn.paper.collect import TABLE2, CellResult, Evidence
from hiergcn.paper.experiments import DATASET_TITLES, arm_title
from hiergcn.paper.tables import BESIDE, OF_THE_PAPER
from hiergcn.paper.verdicts import members, seconds
from hiergcn.report.svg import CLASS_COLOURS, FIRST, INK, MUTED, PAPER, SECOND, STYLE, legend_above, new_figure

WIDTH = 9.0
"""Inches."""
MARKERS = ("o", "s", "D", "^", "v", "P")
FEW = {"hgcn": FIRST, **dict(zip(("gcn", "gat", "dgcn", "appnp", "grand"), CLASS_COLOURS[1:], strict=False))}
APART = 0.22
"""Horizontal distance between the points of two methods, in labels per class."""
FAR = 3.0
"""A mean that lies this many times farther below the others than they lie apart is left off the axis."""


@contextmanager
def _panel_per_dataset(datasets: Sequence[str]) -> Iterator[tuple[Figure, list[tuple[str, Axes]]]]:
    """Give a figure with one titled panel per dataset, two in a row; the legend is that of the first panel."""
    with matplotlib.rc_context(STYLE):
        rows = (len(datasets) + 1) // 2
        figure = new_figure(WIDTH, 0.5 + 2.5 * rows)
        panels = figure.subplots(rows, min(len(datasets), 2), squeeze=False).ravel()
        for axes in panels[len(datasets) :]:
            axes.set_visible(False)
        for axes, name in zip(panels, datasets, strict=False):
            axes.set_title(DATASET_TITLES[name])
        yield figure, list(zip(datasets, panels, strict=False))
        legend_above(figure, panels[0])


def varied_figure(evidence: Evidence, experiment: str, what: str, best: dict[str, int]) -> Figure | None:
    """Draw accuracy over the values of a setting, one panel per dataset, with the paper's best value."""
    if not any(cell.done for cell in evidence.cells[experiment].values()):
        return None
    with _panel_per_dataset(evidence.scale.datasets) as (figure, panels):
        for name, axes in panels:
            cells, printed = evidence.varied(experiment, name), 100 * TABLE2["hgcn"][name].mean
            done = {value: cell for value, cell in cells.items() if cell.done}
            far = _far_below(done, printed)
            shown = {value: cell for value, cell in done.items() if value != far}
            _bars(axes, list(shown), list(shown.values()), FIRST, "o", "H-GCN, mean ± standard deviation")
            axes.plot(best[name], printed, "*", color=SECOND, markersize=12, label="the paper's best")
            axes.set(xlabel=what, ylabel="test accuracy, %", xticks=list(cells))
            axes.set_xlim(min(cells) - 0.4, max(cells) + 0.4)
            axes.margins(y=0.12)
            if far is not None:
                _draw_far(axes, far, done[far])
    return figure


def _far_below(cells: Mapping[int, CellResult], printed: float) -> int | None:
    """Return the value whose mean would flatten the others into a line, if there is one."""
    ranked = sorted((_percent(cell.accuracy.mean), value) for value, cell in cells.items())
    if len(ranked) < 3:
        return None
    (lowest, value), (second, _), (highest, _) = ranked[0], ranked[1], ranked[-1]
    return value if second - lowest > FAR * max(max(highest, printed) - second, 1.0) else None


def _draw_far(axes: Axes, value: int, cell: CellResult) -> None:
    """Draw an arrow that points below the axis, with the figure."""
    axes.annotate(
        f"{_percent(cell.accuracy.mean):.1f} ± {_percent(cell.accuracy.std):.1f}",
        xy=(value, 0.0),
        xytext=(value, 0.3),
        xycoords=("data", "axes fraction"),
        ha="center",
        rotation=90,  # beside the next value's bar
        color=FIRST,
        arrowprops={"arrowstyle": "-|>", "color": FIRST},
    )


def _percent(fraction: float | None) -> float:
    return 100 * (fraction or 0.0)


def _bars(axes: Axes, x: Sequence[float], cells: Sequence[CellResult], colour: str, marker: str, label: str) -> None:
    """Draw a line through the means, with error bars of one standard deviation over all runs."""
    means, spreads = ([_percent(getattr(cell.accuracy, what)) for cell in cells] for what in ("mean", "std"))
    look: dict[str, Any] = {"linewidth": 1.6, "markersize": 5, "elinewidth": 0.9, "capsize": 2}
    axes.errorbar(x, means, yerr=spreads, marker=marker, color=colour, label=label, **look)


def few_labels_figure(evidence: Evidence) -> Figure | None:
    """Draw accuracy over labels per class: the paper's, ours with all validation labels, and ours with few."""
    if not any(cell.done for cell in evidence.cells["table3"].values()):
        return None
    counts = sorted(evidence.scale.labels)
    with matplotlib.rc_context(STYLE):
        figure = new_figure(WIDTH, 3.9)
        first, *panels = figure.subplots(1, 3, sharey=True)
        for place, ((arm, colour), marker) in enumerate(zip(FEW.items(), MARKERS, strict=True)):
            printed = {count: 100 * one.mean for count in counts if (one := evidence.few(arm, str(count)).printed)}
            first.plot(*zip(*printed.items(), strict=True) if printed else ([], []), marker=marker, color=colour)
            for axes, end in zip(panels, ("", " small"), strict=True):
                cells = {count: cell for count in counts if (cell := evidence.few(arm, f"{count}{end}")).done}
                places = [count + APART * (place - 2.5) for count in cells]
                _bars(axes, places, list(cells.values()), colour, marker, arm_title(arm))
        titles = ("the paper", "ours, 500 validation labels", "ours, validation as small as training")
        for axes, title in zip((first, *panels), titles, strict=True):
            axes.set(xlabel="labels per class", title=title, xticks=counts)
            axes.set_xlim(counts[0] - 1.5, counts[-1] + 1.5)
        first.set_ylabel("test accuracy, %")
        legend_above(figure, panels[0])
        return figure


def field_figure(evidence: Evidence) -> Figure | None:
    """Draw the receptive field: H-GCN by levels, a flat network of as many layers, and GCN's two layers."""
    found = evidence.by_dataset("figure-receptive-field")
    known = {name: one for name, one in found.items() if one is not None}
    if not known:
        return None
    with _panel_per_dataset(list(known)) as (figure, panels):
        for name, axes in panels:
            one, levels = known[name], range(known[name]["depth"] + 1)
            low, median, high, flat = (
                [100 * point[what] / one["nodes"] for point in one[network]]
                for network, what in (("hgcn", "low"), ("hgcn", "median"), ("hgcn", "high"), ("flat", "median"))
            )
            axes.fill_between(levels, low, high, color=FIRST, alpha=0.15, linewidth=0)
            axes.plot(levels, median, "o-", color=FIRST, label="H-GCN")
            axes.plot(levels, flat, "s--", color=SECOND, markersize=4, label="as many layers without coarsening")
            gcn = 100 * one["gcn"]["median"] / one["nodes"]
            axes.axhline(gcn, color=INK, linewidth=1.2, linestyle=":", label="GCN, 2 layers")
            axes.set(xlabel="levels", ylabel="receptive field, % of nodes", yscale="log")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


def cost_figure(evidence: Evidence) -> Figure | None:
    """Draw seconds over nodes on logarithmic axes, with lines of slope 1 for comparison."""
    lines = {
        "coarsen": ("coarsening, 4 levels", FIRST, "o"),
        "hgcn_epoch": ("H-GCN, epoch", SECOND, "s"),
        "gcn_epoch": ("GCN, epoch", CLASS_COLOURS[2], "D"),
        "gat_epoch": ("GAT, epoch", CLASS_COLOURS[3], "^"),
    }
    with matplotlib.rc_context(STYLE):
        figure = new_figure(WIDTH, 4.2)
        axes = figure.subplots()
        for what, (label, colour, marker) in lines.items():
            if points := seconds(evidence, what)[0]:
                axes.plot(*zip(*points, strict=True), marker=marker, color=colour, label=label)
        if not axes.lines:
            return None
        axes.set(xscale="log", yscale="log", xlabel="nodes", ylabel="seconds")
        (low, high), heights = axes.get_xlim(), axes.get_ylim()
        for slope in (1e-7, 1e-6, 1e-5, 1e-4):
            axes.plot([low, high], [slope * low, slope * high], ":", color=MUTED, linewidth=0.9, zorder=0)
        axes.set(xlim=(low, high), ylim=heights)
        legend_above(figure, axes)
        return figure


def random_figure(evidence: Evidence) -> Figure | None:
    """Draw mean ± standard deviation over random splits, and the mean on the public split, one panel per dataset."""
    cells = {place: cell for place, cell in evidence.cells["random-splits"].items() if cell.done > 1}
    if not cells:
        return None
    datasets = [name for name in evidence.scale.citation if any(name == where for _, where, _ in cells)]
    arms = [arm for arm in (*OF_THE_PAPER, *BESIDE) if any(arm == one for one, _, _ in cells)]
    with matplotlib.rc_context(STYLE):
        figure = new_figure(WIDTH, 1.4 + 0.3 * len(arms))
        panels = figure.subplots(1, len(datasets), sharey=True, squeeze=False).ravel()
        for axes, name in zip(panels, datasets, strict=True):
            for place, arm in enumerate(arms):
                if cell := cells.get((arm, name, "")):
                    mean, spread = _percent(cell.accuracy.mean), _percent(cell.accuracy.std)
                    look: dict[str, Any] = {"color": FIRST if arm == "hgcn" else INK, "capsize": 3, "markersize": 5}
                    axes.errorbar(mean, place, xerr=spread, fmt="o", label="random splits", **look)
                public = evidence.cells["table2"].get((arm, name, ""))
                if public is not None and public.done:
                    mean = _percent(public.accuracy.mean)
                    axes.plot(mean, place, "D", color=SECOND, fillstyle="none", label="public split")
            axes.set(title=DATASET_TITLES[name], xlabel="test accuracy, %")
        panels[0].set_yticks(range(len(arms)), list(map(arm_title, arms)))
        panels[0].invert_yaxis()
        handles, labels = panels[0].get_legend_handles_labels()
        once = dict(zip(reversed(labels), reversed(handles), strict=True))
        figure.legend(list(once.values()), list(once), loc="outside upper left", ncols=2)
        return figure


TOY_PLACES = {"A": (0.0, 0.35), "B": (-1.0, 1.0), "D": (-1.0, -0.3), "C": (1.0, 1.0), "E": (1.0, -0.3)}


def toy_figure(found: Mapping[str, Any]) -> Figure:
    """Draw the toy graph, the two steps of grouping, and the coarser graph."""
    names, edges = found["names"], [tuple(edge) for edge in found["edges"]]
    steps = {
        "the graph": range(len(names)),
        "same neighbours (SEG)": found["equivalence"],
        "most similar (SSG)": found["groups"],
    }
    with matplotlib.rc_context(STYLE | {"axes.grid": False}):
        figure = new_figure(WIDTH, 2.6)
        panels = figure.subplots(1, 4)
        for axes, (title, groups) in zip(panels, steps.items(), strict=False):
            _draw_graph(axes, {name: TOY_PLACES[name] for name in names}, edges, title)
            for number, group in enumerate(members(names, groups)):
                x, y = zip(*(TOY_PLACES[name] for name in group), strict=True)
                if len(group) > 1:
                    colour = CLASS_COLOURS[number % 6]
                    axes.plot(x, y, color=colour, linewidth=30, alpha=0.35, solid_capstyle="round", zorder=0)
        _draw_coarse(panels[3], found)
        return figure


def _draw_graph(
    axes: Axes, places: Mapping[str, tuple[float, float]], edges: Sequence[tuple[Any, ...]], title: str
) -> None:
    for one, other, weight in edges:
        (x, y), (to_x, to_y) = places[one], places[other]
        axes.plot([x, to_x], [y, to_y], color=MUTED, linewidth=1.4, zorder=1)
        look: dict[str, Any] = {"fontsize": 9, "color": INK, "zorder": 2}
        box = {"facecolor": PAPER, "edgecolor": "none", "pad": 1}
        middle = 0.45 * x + 0.55 * to_x, 0.45 * y + 0.55 * to_y
        axes.text(*middle, f"{weight:g}", ha="center", va="center", bbox=box, **look)
    for name, (x, y) in places.items():
        axes.plot(x, y, "o", markersize=19, color=PAPER, markeredgecolor=INK, zorder=3)
        axes.text(x, y, name, ha="center", va="center", fontsize=10, zorder=4)
    axes.set(title=title, xlim=(-1.6, 1.6), ylim=(-0.95, 1.6), aspect="equal")
    axes.axis("off")


def _draw_coarse(axes: Axes, found: Mapping[str, Any]) -> None:
    labels, matrix = members(found["names"], found["groups"]), np.array(found["coarse"])
    places = {label: tuple(np.mean([TOY_PLACES[name] for name in label], axis=0)) for label in labels}
    edges = [(labels[i], labels[j], matrix[i, j]) for i, j in zip(*np.nonzero(np.triu(matrix, 1)), strict=True)]
    _draw_graph(axes, places, edges, "the coarser graph")
    for label, weight, loop in zip(labels, found["node_weight"], matrix.diagonal(), strict=True):
        text = f"weight {weight}" + (f"\nloop {loop:g}" if loop else "")
        x, y = places[label]
        axes.text(x, y - 0.45, text, ha="center", va="top", fontsize=8, color=MUTED)
