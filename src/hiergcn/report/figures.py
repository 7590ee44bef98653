"""Figures of a run and of a search for settings. Each function takes plain values and returns a matplotlib Figure."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from hiergcn.report.svg import FIRST, INK, LINE, MUTED, PAPER, SECOND, legend_above, name_rows, new_axes, short
from hiergcn.run.tune import FEWEST_FOR_IMPORTANCE, Tuning

MATRIX_NAMES = 20
"""A confusion matrix of more classes has no names and counts."""
CHART_CLASSES = 40
"""With more classes, the chart of classes shows the largest; the table shows all."""
MAP_POINTS = 6000
MAP_NAMES = 10
DASHED = (0, (4, 3))


def seeds_figure(
    seeds: Sequence[int], test: Sequence[float | None], validation: Sequence[float | None], claim: float | None
) -> Figure:
    """Draw the accuracy of every seed, with mean and standard deviation, beside the paper's figure."""
    with new_axes(7.2, 2.9) as (figure, axes):
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
                axes.axhline(mean, color=colour, linewidth=1.2, label="test mean ± standard deviation")
                axes.axhspan(mean - spread, mean + spread, color=colour, alpha=0.13, linewidth=0)
        if claim is not None:
            axes.axhline(100 * claim, color=INK, linewidth=1.2, linestyle=DASHED, label="reported in the paper")
        axes.set(xlabel="seed", ylabel="accuracy, %")
        if len(seeds) <= 30:
            axes.set_xticks(place, [str(seed) for seed in seeds])
        axes.grid(axis="x", visible=False)
        axes.margins(y=0.15)
        legend_above(figure, axes)
        return figure


def curves_figure(history: pd.DataFrame, selected_seed: int, best_epoch: int | None, loss_terms: int) -> Figure:
    """Draw loss and accuracy per epoch: the selected seed as lines, the 10th to 90th percentile of all as bands.

    The training loss is divided by `loss_terms`, the number of terms it sums: networks, times training nodes unless it
    is a mean over nodes.
    """
    frame = history.assign(train_loss=history["train_loss"] / loss_terms)
    with new_axes(7.2, 3.0, columns=2) as (figure, panels):
        for axes, what, factor in ((panels[0], "loss", 1.0), (panels[1], "accuracy", 100.0)):
            for part, colour in (("train", FIRST), ("validation", SECOND)):
                _curve(axes, frame, f"{part}_{what}", selected_seed, colour, factor, part)
            if best_epoch is not None:
                axes.axvline(best_epoch, color=INK, linewidth=1.2, linestyle=DASHED, label="selected epoch")
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


def classes_figure(rows: Sequence[Mapping[str, Any]], part: str) -> Figure:
    """Draw precision and recall of each class as the ends of a line, with F1 as a mark on it."""
    shown = sorted(rows, key=lambda row: -row["support"])[:CHART_CLASSES]
    place = np.arange(len(shown))
    scores = 100 * np.array([(row["precision"], row["recall"], row["f1"]) for row in shown])
    with new_axes(7.2, 1.2 + 0.34 * len(shown)) as (figure, axes):
        axes.hlines(place, scores[:, :2].min(axis=1), scores[:, :2].max(axis=1), color=MUTED, linewidth=1.2, zorder=2)
        axes.plot(scores[:, 0], place, "o", color=FIRST, markersize=7, label="precision", zorder=3)
        axes.plot(scores[:, 1], place, "D", color=SECOND, markersize=6, label="recall", zorder=3)
        axes.plot(scores[:, 2], place, "|", color=INK, markersize=13, markeredgewidth=2, label="F1", zorder=4)
        name_rows(axes, [f"{short(row['name'])}  ({row['support']:,})" for row in shown])
        axes.set(xlabel=f"%; in brackets: {part} nodes of the class", xlim=(min(50, scores.min() - 3), 101))
        legend_above(figure, axes)
        return figure


def confusion_figure(matrix: npt.NDArray[np.int64], names: Sequence[str]) -> Figure:
    """Draw the counts of true (rows) and predicted (columns) classes, shaded by their share of the row."""
    n = len(names)
    share = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    shades = LinearSegmentedColormap.from_list("shades", [to_rgba(FIRST, 0.05), to_rgba(FIRST, 1.0)])
    named = n <= MATRIX_NAMES
    side = min(7.0, 2.2 + 0.42 * n) if named else 6.0
    with new_axes(side + 0.6, side, grid=False) as (figure, axes):
        if named:  # vector squares are sharp in print, but thousands of them would make the page large
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


def reliability_figure(calibration: Mapping[str, Any]) -> Figure:
    """Draw accuracy against confidence, before and after calibration; one panel if there was none."""
    drawn = {"before": ("before calibration: ", SECOND), "after": ("after calibration: ", FIRST)}
    if calibration["temperature"] == 1:
        drawn = {"before": ("", FIRST)}
    with new_axes(3.6 * len(drawn), 3.6, columns=len(drawn), sharey=True) as (figure, made):
        panels = np.atleast_1d(made)
        for axes, (when, (title, colour)) in zip(panels, drawn.items(), strict=True):
            bins = calibration["reliability"][when]
            confidence, accuracy = (100 * np.array(bins[name]) for name in ("confidence", "accuracy"))
            axes.plot([0, 100], [0, 100], color=MUTED, linewidth=1.2, linestyle=DASHED, zorder=1)
            axes.vlines(confidence, accuracy, confidence, color=colour, alpha=0.4, linewidth=2, zorder=2)
            size = 12 + 150 * np.array(bins["nodes"]) / max(bins["nodes"], default=1)
            axes.scatter(confidence, accuracy, s=size, color=colour, zorder=3, linewidth=0)
            title += f"ECE {100 * calibration[f'ece_{when}']:.1f} %"
            axes.set(title=title, xlabel="mean confidence, %", xlim=(0, 103), ylim=(0, 103), aspect="equal")
        panels[0].set_ylabel("accuracy, %")
        return figure


def class_map_figure(probabilities: npt.NDArray[np.floating], names: Sequence[str], colours: Sequence[str]) -> Figure:
    """Draw each node by its probabilities, coloured by predicted class, with class names at the medians."""
    step = -(-len(probabilities) // MAP_POINTS)
    rows = probabilities[::step]
    place, predicted = _principal_components(rows), rows.argmax(axis=1)
    with new_axes(7.2, 4.8, grid=False) as (figure, axes):
        shades = np.array(colours)[predicted]
        axes.scatter(place[:, 0], place[:, 1], s=9, c=list(shades), alpha=0.75, linewidth=0, rasterized=True)
        counts = np.bincount(predicted, minlength=len(names))
        for number in np.argsort(-counts, kind="stable")[:MAP_NAMES]:
            if counts[number]:
                x, y = np.median(place[predicted == number], axis=0)
                axes.text(x, y, short(names[number]), ha="center", va="center", fontsize=9, weight="bold", color=INK)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
        return figure


def _principal_components(probabilities: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Return the first two principal components of the log-probabilities, (n, 2)."""
    logits = np.log(np.maximum(probabilities.astype(np.float64), 1e-4))
    centred = logits - logits.mean(axis=1, keepdims=True)
    centred -= centred.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    axes = vectors[:, ::-1][:, :2]
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])] < 0, -1, 1)
    components: npt.NDArray[np.float64] = centred @ axes
    return components


def levels_figure(nodes: Sequence[int], edges: Sequence[int]) -> Figure:
    """Draw the number of nodes and edges at each level."""
    with new_axes(7.2, 0.9 + 0.52 * len(nodes)) as (figure, axes):
        place = np.arange(len(nodes))
        for sizes, shift, colour, name in ((nodes, -0.2, FIRST, "nodes"), (edges, 0.2, SECOND, "edges")):
            drawn = axes.barh(place + shift, sizes, height=0.36, color=colour, label=name)
            axes.bar_label(drawn, [f"{size:,}" for size in sizes], padding=4, fontsize=9, color=MUTED)
        name_rows(axes, [f"level {level}" for level in place])
        axes.set_xlim(0, 1.14 * max(*nodes, *edges, 1))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.spines["left"].set_color(LINE)
        legend_above(figure, axes)
        return figure


def receptive_field_figure(sizes: npt.NDArray[np.int64], n_nodes: int) -> Figure:
    """Draw the median receptive field by depth, and its middle 50 % and 90 %; `sizes` is (depths, sampled nodes)."""
    share = 100 * sizes / n_nodes
    depths = range(len(share))
    low, first, middle, third, high = np.quantile(share, [0.05, 0.25, 0.5, 0.75, 0.95], axis=1)
    with new_axes(7.2, 2.8) as (figure, axes):
        axes.fill_between(depths, low, high, color=FIRST, alpha=0.14, linewidth=0)
        axes.fill_between(depths, first, third, color=FIRST, alpha=0.25, linewidth=0)
        axes.plot(depths, middle, "o-", color=FIRST, linewidth=1.6)
        for depth, value in zip(depths, middle, strict=True):
            text, at = f"{value:.2g} %" if value < 10 else f"{value:.0f} %", (depth, value)
            axes.annotate(text, at, xytext=(0, 9), textcoords="offset points", ha="center", fontsize=9, color=INK)
        axes.set(xlabel="coarsening levels", ylabel="receptive field, % of nodes", yscale="log")
        axes.set_ylim(top=300)
        axes.set(xlim=(-0.3, len(share) - 0.7), xticks=depths)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        return figure


def tuning_figure(tuning: Tuning) -> Figure:
    """Draw the importance of each setting, and beside it the accuracy of each trial with the best so far."""
    with new_axes(9.0, 3.6, columns=2) as (figure, (left, right)):
        left.set_title("Importance for validation accuracy")
        if tuning.importance:
            names, shares = list(tuning.importance), [100 * share for share in tuning.importance.values()]
            left.barh(names, shares, color=FIRST, alpha=0.7)
            left.invert_yaxis()
            left.set_xlabel("%")
        else:
            left.axis("off")
            few = f"needs {FEWEST_FOR_IMPORTANCE} trials\nwith different accuracies"
            left.text(0.5, 0.5, few, ha="center", va="center", color=MUTED, transform=left.transAxes)
        done = [(trial.number, 100 * trial.accuracy) for trial in tuning.trials if trial.accuracy is not None]
        numbers, accuracy = zip(*done, strict=True)
        right.plot(numbers, accuracy, "o", markersize=3.5, color=FIRST, label="trial")
        right.step(numbers, np.maximum.accumulate(accuracy), where="post", color=SECOND, label="best so far")
        best = 100 * (tuning.best.accuracy or 0.0)
        right.plot(tuning.best.number, best, "o", color=INK, fillstyle="none", label="chosen")
        right.set(title="Validation accuracy, %", xlabel="trial")
        right.legend()
    return figure
