"""The figures of a run. Each function takes figures from the run folder and gives a matplotlib Figure."""

from collections.abc import Sequence

import matplotlib
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hiergcn.report.svg import FIRST, INK, LINE, MUTED, PAPER, SECOND, STYLE, legend_above, new_figure, short

NAMED_CLASSES = 20  # more classes than this get no names and figures in the matrix


def seeds_figure(
    seeds: Sequence[int], test: Sequence[float | None], validation: Sequence[float | None], claim: float | None
) -> Figure:
    """Accuracy of every seed, with mean and spread, beside the paper's claim."""
    with matplotlib.rc_context(STYLE):
        figure = new_figure(7.2, 2.9)
        axes = figure.subplots()
        place = np.arange(len(seeds))
        size = 6 if len(seeds) <= 50 else 3
        for values, colour, marker, filled, name in (
            (test, FIRST, "o", "full", "test"),
            (validation, SECOND, "D", "none", "validation"),
        ):
            scores = 100 * np.array([np.nan if value is None else value for value in values], dtype=float)
            if np.isnan(scores).all():
                continue
            axes.plot(place, scores, marker, color=colour, markersize=size, fillstyle=filled, label=name, zorder=3)
            if name == "test" and np.count_nonzero(~np.isnan(scores)) > 1:
                mean, spread = np.nanmean(scores), np.nanstd(scores, ddof=1)
                axes.axhline(mean, color=colour, linewidth=1.2, label="mean of test ± spread")
                axes.axhspan(mean - spread, mean + spread, color=colour, alpha=0.13, linewidth=0)
        if claim is not None:
            axes.axhline(100 * claim, color=INK, linewidth=1.2, linestyle=(0, (4, 3)), label="the paper's claim")
        axes.set(xlabel="seed", ylabel="accuracy, %")
        if len(seeds) <= 30:
            axes.set_xticks(place, [str(seed) for seed in seeds])
        axes.grid(axis="x", visible=False)
        axes.margins(y=0.15)
        legend_above(figure, axes)
        return figure


def curves_figure(history: pd.DataFrame, selected_seed: int, best_epoch: int | None, summed: int) -> Figure:
    """Loss and accuracy by epoch: the selected seed as lines, all seeds as bands from the 10th to the 90th percentile.

    `summed` divides the training loss, which is a sum over so many: networks, times training nodes unless it is their
    mean.
    """
    frame = history.assign(train_loss=history["train_loss"] / summed)
    with matplotlib.rc_context(STYLE):
        figure = new_figure(7.2, 3.0)
        panels = figure.subplots(1, 2)
        for axes, what, factor in ((panels[0], "loss", 1.0), (panels[1], "accuracy", 100.0)):
            for part, colour in (("train", FIRST), ("validation", SECOND)):
                _curve(axes, frame, f"{part}_{what}", selected_seed, colour, factor, part)
            if best_epoch is not None:
                axes.axvline(best_epoch, color=INK, linewidth=1.2, linestyle=(0, (4, 3)), label="selected epoch")
            axes.set(xlabel="epoch", title="mean cross-entropy" if what == "loss" else "accuracy, %")
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        panels[0].set_ylim(bottom=0)
        legend_above(figure, panels[0])
        return figure


def _curve(axes: Axes, frame: pd.DataFrame, column: str, seed: int, colour: str, factor: float, name: str) -> None:
    table = factor * frame.pivot(index="epoch", columns="seed", values=column)
    if table.shape[1] > 1:
        low, high = table.quantile(0.1, axis=1), table.quantile(0.9, axis=1)
        axes.fill_between(table.index, low, high, color=colour, alpha=0.18, linewidth=0)
    if seed in table:
        axes.plot(table.index, table[seed], color=colour, linewidth=1.4, label=name)


def confusion_figure(matrix: npt.NDArray[np.int64], names: Sequence[str]) -> Figure:
    """Counts of true (rows) and predicted (columns) classes, shaded by their share of the row."""
    n = len(names)
    share = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    shades = LinearSegmentedColormap.from_list("shades", [to_rgba(FIRST, 0.05), to_rgba(FIRST, 1.0)])
    named = n <= NAMED_CLASSES
    side = min(7.0, 2.2 + 0.42 * n) if named else 6.0
    with matplotlib.rc_context(STYLE | {"axes.grid": False}):
        figure = new_figure(side + 0.6, side)
        axes = figure.subplots()
        if named:  # squares stay crisp in print; thousands of them would only swell the page
            axes.pcolormesh(share, cmap=shades, vmin=0, vmax=1, edgecolor=PAPER, linewidth=1.5)
            for row, column in np.ndindex(n, n):
                text = f"{matrix[row, column]:,}" if matrix[row, column] else "·"
                colour = PAPER if share[row, column] > 0.7 else INK
                axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=colour, fontsize=9)
            labels = [short(name) for name in names]
            axes.set_xticks(np.arange(n) + 0.5, labels, rotation=40, ha="right", rotation_mode="anchor")
            axes.set_yticks(np.arange(n) + 0.5, labels)
        else:
            axes.imshow(share, cmap=shades, vmin=0, vmax=1, extent=(0, n, n, 0), interpolation="nearest")
        axes.set(xlabel="predicted", ylabel="true", xlim=(0, n), ylim=(n, 0), aspect="equal")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        return figure


def levels_figure(nodes: Sequence[int], edges: Sequence[int]) -> Figure:
    """Nodes and edges of each level."""
    with matplotlib.rc_context(STYLE):
        figure = new_figure(7.2, 0.9 + 0.52 * len(nodes))
        axes = figure.subplots()
        place = np.arange(len(nodes))
        bars = ((nodes, -0.2, FIRST, "nodes"), (edges, 0.2, SECOND, "edges"))
        for sizes, shift, colour, name in bars:
            drawn = axes.barh(place + shift, sizes, height=0.36, color=colour, label=name)
            axes.bar_label(drawn, [f"{size:,}" for size in sizes], padding=4, fontsize=9, color=MUTED)
        axes.set_yticks(place, [f"level {level}" for level in place])
        axes.invert_yaxis()
        axes.set_xlim(0, 1.14 * max(*nodes, *edges, 1))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_color(LINE)
        legend_above(figure, axes)
        return figure
