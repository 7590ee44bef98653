"""How much of the graph a node hears from, by the levels that the network goes down.

A network that goes k levels down and back convolves 2k + 1 times: once at every level on the way down, at the coarsest,
and once at every level on the way up. A node is reached by another if some way through these steps leads from it.
"""

from collections.abc import Sequence

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from hiergcn.coarsen import Hierarchy, Level
from hiergcn.report.svg import FIRST, INK, STYLE, new_figure

SAMPLE = 64
MOST_WORK = 400_000_000
"""Entries of the adjacency times nodes sampled: a larger graph is sampled less, down to `LEAST_SAMPLE`."""
LEAST_SAMPLE = 8

Marks = npt.NDArray[np.float32]  # (n_l, sampled nodes): above 0 where a sampled node is reached from


def reach(hierarchy: Hierarchy) -> npt.NDArray[np.int64]:
    """(levels, sampled nodes): how many nodes reach each sampled node when the network goes that many levels down."""
    n = hierarchy.levels[0].n_nodes
    sample = min(SAMPLE, n, max(LEAST_SAMPLE, MOST_WORK // max(hierarchy.levels[0].adjacency.nnz, 1)))
    marks = np.zeros((n, sample), dtype=np.float32)
    marks[np.linspace(0, n - 1, sample).astype(np.int64), np.arange(sample)] = 1
    reached = []
    for depth in range(hierarchy.depth + 1):
        marks = _convolved(hierarchy.levels[depth], marks)
        reached.append(_back(hierarchy, depth, marks))
        if depth < hierarchy.depth:
            marks = (hierarchy.grouping_matrix(depth).T.astype(np.float32) @ marks > 0).astype(np.float32)
    return np.array(reached)


def _convolved(level: Level, marks: Marks) -> Marks:
    spread: Marks = ((level.adjacency.astype(np.float32) @ marks + marks) > 0).astype(np.float32)
    return spread


def _back(hierarchy: Hierarchy, depth: int, marks: Marks) -> npt.NDArray[np.int64]:
    """Nodes of level 0 that are reached on the way back up from `depth`."""
    for level in range(depth - 1, -1, -1):
        marks = _convolved(hierarchy.levels[level], marks[hierarchy.levels[level].grouping()])
    reached: npt.NDArray[np.int64] = np.count_nonzero(marks, axis=0)
    return reached


def reach_figure(reached: npt.NDArray[np.int64], n_nodes: int) -> Figure:
    """The median over the sampled nodes, with the middle half and the middle nine tenths."""
    share = 100 * reached / n_nodes
    levels: Sequence[int] = range(len(share))
    low, first, middle, third, high = np.quantile(share, [0.05, 0.25, 0.5, 0.75, 0.95], axis=1)
    with matplotlib.rc_context(STYLE):
        figure = new_figure(7.2, 2.8)
        axes = figure.subplots()
        axes.fill_between(levels, low, high, color=FIRST, alpha=0.14, linewidth=0)
        axes.fill_between(levels, first, third, color=FIRST, alpha=0.25, linewidth=0)
        axes.plot(levels, middle, "o-", color=FIRST, linewidth=1.6)
        for level, value in zip(levels, middle, strict=True):
            axes.annotate(
                f"{value:.2g} %" if value < 10 else f"{value:.0f} %",
                (level, value),
                xytext=(0, 9),
                textcoords="offset points",
                ha="center",
                fontsize=9,
                color=INK,
            )
        axes.set(xlabel="levels down", ylabel="nodes reached, %", yscale="log")
        axes.set_ylim(top=300)
        axes.set_xlim(-0.3, len(share) - 0.7)
        axes.set_xticks(list(levels))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        return figure
