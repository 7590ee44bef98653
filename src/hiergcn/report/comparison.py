"""The picture of a comparison: a bar for each method, its spread, and every single run as a dot."""

import math
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from hiergcn.files import written_whole
from hiergcn.report.svg import FIRST, INK, MUTED, SECOND, STYLE, new_figure
from hiergcn.run.comparison import Comparison, MethodRun

_DOTS = 200  # runs of a method beyond which dots would only darken the bar


def write_chart(comparison: Comparison, folder: Path) -> tuple[Path, Path]:
    """`comparison.svg` and `comparison.png` in the folder."""
    figure = comparison_figure(comparison)
    paths = (folder / "comparison.svg", folder / "comparison.png")
    with matplotlib.rc_context({"svg.hashsalt": "comparison", "svg.fonttype": "none"}):
        for path, metadata in zip(paths, ({"Date": None}, {"Software": None}), strict=True):
            with written_whole(path) as part:
                figure.savefig(part, format=path.suffix[1:], dpi=200, facecolor="white", metadata=metadata)
    return paths


def comparison_figure(comparison: Comparison) -> Figure:
    """Mean test accuracy with one standard deviation to either side; the axis need not begin at 0, and says so."""
    runs = comparison.runs
    with matplotlib.rc_context(STYLE):
        figure = new_figure(7.2, 1.3 + 0.5 * len(runs))
        axes = figure.subplots()
        start = _axis_start(runs)
        for place, run in enumerate(runs):
            values = 100 * run.test_accuracy.values
            if values.size == 0:
                axes.text(start, place, "  every run failed", va="center", color=MUTED)
                continue
            spread = values.std(ddof=1) if values.size > 1 else None
            colour = SECOND if run.model == comparison.against else FIRST
            axes.barh(place, values.mean() - start, left=start, height=0.62, color=colour, alpha=0.55)
            if values.size <= _DOTS:
                rows = place + np.linspace(-0.2, 0.2, values.size) if values.size > 1 else [place]
                axes.plot(values, rows, "o", markersize=2.5, color=colour, zorder=3)
            if spread is not None:
                axes.errorbar(values.mean(), place, xerr=spread, color=INK, capsize=4, linewidth=1.4, zorder=4)
            axes.annotate(
                _words(run, spread),
                (max(values.max(), values.mean() + (spread or 0.0)), place),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
                color=MUTED,
            )
        axes.set_yticks(range(len(runs)), [run.model for run in runs])
        axes.invert_yaxis()
        axes.set_xlim(start, start + 1.3 * (_highest(runs) - start))
        begins = f", axis begins at {start:g}" if start else ""
        axes.set(xlabel=f"test accuracy, %{begins}", title=_title(comparison))
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
        return figure


def _title(comparison: Comparison) -> str:
    splits = comparison.plan.count
    on = "" if splits is None else f", {splits} random splits"
    return f"{comparison.dataset}{on}, {len(comparison.seeds)} seeds{' each' if splits else ''}: mean ± one deviation"


def _words(run: MethodRun, spread: float | None) -> str:
    mean = 100 * (run.test_accuracy.mean or 0.0)
    words = f"{mean:.1f}" if spread is None else f"{mean:.1f} ± {spread:.1f}"
    return f"{words}, {run.failed} of {len(run.scores)} failed" if run.failed else words


def _axis_start(runs: tuple[MethodRun, ...]) -> float:
    """0, or the multiple of 5 well below the lowest run where all lie close together."""
    lowest = min((100 * run.test_accuracy.values.min() for run in runs if run.test_accuracy.values.size), default=0.0)
    room = 0.5 * (_highest(runs) - lowest)
    start = 5.0 * math.floor((lowest - max(room, 2.0)) / 5)
    return start if start > 0.5 * lowest else 0.0


def _highest(runs: tuple[MethodRun, ...]) -> float:
    return max(
        (100 * float(run.test_accuracy.values.max()) for run in runs if run.test_accuracy.values.size), default=1
    )
