"""The hierarchy as a still picture: for print, and for browsers that cannot show the explorer."""

from collections.abc import Sequence

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.collections import EllipseCollection, LineCollection
from matplotlib.figure import Figure

from hiergcn.report.graph_layout import RADIUS, Positions
from hiergcn.report.svg import MUTED, STYLE, new_figure
from hiergcn.report.tree import Tree

PANELS = 3
MOST_NODES = 3000
MOST_EDGES = 3000


def levels_picture(
    tree: Tree, positions: Sequence[Positions], predicted: npt.NDArray[np.int64], colours: Sequence[str]
) -> Figure:
    """Some levels side by side, coarse to fine, each disc in the colour of most of its nodes; `predicted` is (n_0,)."""
    fit = [level for level in range(tree.depth, -1, -1) if len(tree.weight[level]) <= MOST_NODES] or [tree.depth]
    levels = [fit[round(at)] for at in np.linspace(0, len(fit) - 1, min(PANELS, len(fit)))]
    votes = {level: _votes(tree, level, predicted, len(colours)) for level in set(levels)}
    with matplotlib.rc_context(STYLE):
        figure = new_figure(7.2, 2.75)
        panels = np.atleast_1d(figure.subplots(1, len(levels)))
        for axes, level in zip(panels, levels, strict=True):
            place, weight = positions[level], tree.weight[level]
            upper = tree.adjacency[level].tocoo()
            keep = np.flatnonzero(upper.row < upper.col)
            keep = keep[np.argsort(-upper.data[keep], kind="stable")[:MOST_EDGES]]
            ends = np.stack([place[upper.row[keep]], place[upper.col[keep]]], axis=1)
            lines = np.stack([ends.real, ends.imag], axis=2)
            axes.add_collection(LineCollection(list(lines), colors=MUTED, linewidths=0.25, alpha=0.5, rasterized=True))
            width = 2 * RADIUS * np.sqrt(weight)
            discs = EllipseCollection(
                width,
                width,
                np.zeros(len(weight)),
                units="xy",
                offsets=np.c_[place.real, place.imag],
                offset_transform=axes.transData,
                facecolors=list(np.array(colours)[votes[level].argmax(axis=1)]),
                linewidth=0,
                rasterized=True,
                zorder=2,
            )
            axes.add_collection(discs)
            axes.set(title=f"level {level}: {len(weight):,}", xticks=[], yticks=[], aspect="equal")
            axes.autoscale_view()
            axes.spines[:].set_visible(False)
            axes.grid(visible=False)
        return figure


def _votes(tree: Tree, level: int, predicted: npt.NDArray[np.int64], classes: int) -> npt.NDArray[np.int64]:
    """(n_l, classes): how many nodes of each predicted class are in each hyper-node of `level`."""
    inside = np.arange(len(predicted))
    for finer in range(level):
        inside = tree.parent[finer][inside].astype(np.int64)
    n = len(tree.weight[level])
    return np.bincount(inside * classes + predicted, minlength=n * classes).reshape(n, classes)
