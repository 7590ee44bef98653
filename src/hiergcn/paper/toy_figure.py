"""The toy graph of the paper's coarsening figure: the graph, the two steps of grouping, the coarser graph."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hiergcn.report.svg import CLASS_COLOURS, INK, MUTED, PAPER, STYLE, new_figure

PLACES = {"A": (0.0, 0.35), "B": (-1.0, 1.0), "D": (-1.0, -0.3), "C": (1.0, 1.0), "E": (1.0, -0.3)}


def toy_figure(found: Mapping[str, Any]) -> Figure:
    names: list[str] = found["names"]
    edges = [(one, other, weight) for one, other, weight in found["edges"]]
    with matplotlib.rc_context(STYLE | {"axes.grid": False}):
        figure = new_figure(9.0, 2.6)
        panels = figure.subplots(1, 4)
        alone = list(range(len(names)))
        for axes, title, groups in (
            (panels[0], "the graph", alone),
            (panels[1], "same neighbours (SEG)", found["equivalence"]),
            (panels[2], "most similar (SSG)", found["groups"]),
        ):
            _graph(axes, dict(zip(names, [PLACES[name] for name in names], strict=True)), edges, title)
            _shade(axes, names, groups)
        _coarse(panels[3], names, found)
        return figure


def _graph(
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
    """A thick line behind the members of every group of more than one."""
    for number, group in enumerate(sorted(set(groups))):
        members = [PLACES[name] for name, one in zip(names, groups, strict=True) if one == group]
        if len(members) > 1:
            x, y = zip(*members, strict=True)
            axes.plot(x, y, color=CLASS_COLOURS[number % 6], linewidth=30, alpha=0.35, solid_capstyle="round", zorder=0)


def _coarse(axes: Axes, names: Sequence[str], found: Mapping[str, Any]) -> None:
    groups, matrix = found["groups"], np.array(found["coarse"])
    labels = ["".join(n for n, one in zip(names, groups, strict=True) if one == group) for group in range(len(matrix))]
    places = {}
    for label in labels:
        x, y = zip(*(PLACES[name] for name in label), strict=True)
        places[label] = (float(np.mean(x)), float(np.mean(y)))
    edges = [
        (labels[one], labels[other], float(matrix[one, other]))
        for one, other in zip(*np.nonzero(np.triu(matrix, 1)), strict=True)
    ]
    _graph(axes, places, edges, "the coarser graph")
    for label, weight in zip(labels, found["node_weight"], strict=True):
        loop = matrix[labels.index(label), labels.index(label)]
        text = f"weight {weight}" + (f"\nloop {loop:g}" if loop else "")
        axes.text(places[label][0], places[label][1] - 0.45, text, ha="center", va="top", fontsize=8, color=MUTED)
