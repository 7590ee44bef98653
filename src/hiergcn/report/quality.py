"""How good the kept model is: a figure of its classes and one of how far its confidence can be believed."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from hiergcn.report.classes import ClassRow
from hiergcn.report.svg import FIRST, INK, MUTED, SECOND, STYLE, legend_above, new_figure, short

MOST_CLASSES = 40
"""Beyond this many the figure shows the classes with the most nodes; the table shows all."""


def classes_figure(rows: Sequence[ClassRow], part: str) -> Figure:
    """Precision and recall of each class as the ends of a line, F1 as a mark on it, with the number of nodes."""
    shown = sorted(rows, key=lambda row: -row.judged)[:MOST_CLASSES]
    place = np.arange(len(shown))
    scores = 100 * np.array([(row.precision, row.recall, row.f1) for row in shown])
    with matplotlib.rc_context(STYLE):
        figure = new_figure(7.2, 1.2 + 0.34 * len(shown))
        axes = figure.subplots()
        axes.hlines(place, scores[:, :2].min(axis=1), scores[:, :2].max(axis=1), color=MUTED, linewidth=1.2, zorder=2)
        axes.plot(scores[:, 0], place, "o", color=FIRST, markersize=7, label="precision", zorder=3)
        axes.plot(scores[:, 1], place, "D", color=SECOND, markersize=6, label="recall", zorder=3)
        axes.plot(scores[:, 2], place, "|", color=INK, markersize=13, markeredgewidth=2, label="F1", zorder=4)
        axes.set_yticks(place, [f"{short(row.name)}  ({row.judged:,})" for row in shown])
        axes.set(xlabel=f"per cent; in brackets the {part} nodes of the class", xlim=(min(50, scores.min() - 3), 101))
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
        legend_above(figure, axes)
        return figure


def reliability_figure(calibration: Mapping[str, Any]) -> Figure:
    """Accuracy of the nodes by the confidence of their predictions, before and after calibration."""
    with matplotlib.rc_context(STYLE):
        figure = new_figure(7.2, 3.6)
        panels = figure.subplots(1, 2, sharey=True)
        for axes, when, colour in ((panels[0], "before", SECOND), (panels[1], "after", FIRST)):
            bins = calibration["reliability"][when]
            confidence, accuracy, nodes = (
                100 * np.array(bins["confidence"]),
                100 * np.array(bins["accuracy"]),
                bins["nodes"],
            )
            axes.plot([0, 100], [0, 100], color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
            axes.vlines(confidence, accuracy, confidence, color=colour, alpha=0.4, linewidth=2, zorder=2)
            size = 12 + 150 * np.array(nodes) / max(nodes, default=1)
            axes.scatter(confidence, accuracy, s=size, color=colour, zorder=3, linewidth=0)
            error = 100 * calibration[f"ece_{when}"]
            axes.set(
                title=f"{when} calibration: {error:.1f} points off on average",
                xlabel="mean confidence, %",
                xlim=(0, 103),
                ylim=(0, 103),
                aspect="equal",
            )
        panels[0].set_ylabel("accuracy, %")
        return figure
