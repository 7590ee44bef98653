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
from hiergcn.coarsen.csr import rows_of
from hiergcn.graph.compiled import kernel
from hiergcn.report.svg import FIRST, INK, STYLE, new_figure

SAMPLE = 64  # nodes, one bit of a mark each

Marks = npt.NDArray[np.uint64]  # (n_l,): which of the sampled nodes a node reaches


def reach(hierarchy: Hierarchy) -> npt.NDArray[np.int64]:
    """(levels, sampled nodes): how many nodes reach each sampled node when the network goes that many levels down."""
    n = hierarchy.levels[0].n_nodes
    sample = min(SAMPLE, n)
    marks = np.zeros(n, dtype=np.uint64)
    marks[np.linspace(0, n - 1, sample).astype(np.int64)] = np.uint64(1) << np.arange(sample, dtype=np.uint64)
    reached = []
    for depth, level in enumerate(hierarchy.levels):
        marks = _convolved(level, marks)
        reached.append(_back(hierarchy, depth, marks)[:sample])
        if level.group is not None:
            joined = np.zeros(hierarchy.levels[depth + 1].n_nodes, dtype=np.uint64)
            np.bitwise_or.at(joined, level.group, marks)
            marks = joined
    return np.array(reached)


def _back(hierarchy: Hierarchy, depth: int, marks: Marks) -> npt.NDArray[np.int64]:
    """How many nodes of level 0 have each bit on the way back up from `depth`."""
    for level in reversed(hierarchy.levels[:depth]):
        marks = _convolved(level, marks[level.grouping()])
    bits = np.unpackbits(marks.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    reached: npt.NDArray[np.int64] = bits.sum(axis=0, dtype=np.int64)
    return reached


def _convolved(level: Level, marks: Marks) -> Marks:
    rows = rows_of(level.adjacency)
    return _spread(rows.indptr, rows.indices, marks)


@kernel
def _spread(indptr: npt.NDArray[np.int64], indices: npt.NDArray[np.int32], marks: Marks) -> Marks:
    spread = marks.copy()
    for i in range(len(marks)):
        for at in range(indptr[i], indptr[i + 1]):
            spread[i] |= marks[indices[at]]
    return spread


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
