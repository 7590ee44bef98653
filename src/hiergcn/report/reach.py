"""The picture of how much of the graph a node hears from."""

from collections.abc import Sequence

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from hiergcn.report.svg import FIRST, INK, STYLE, new_figure


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
