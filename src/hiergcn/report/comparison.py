"""Chart and page of `hiergcn compare`."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from hiergcn.files import written_whole
from hiergcn.graph.split import PUBLIC
from hiergcn.report.svg import FIRST, INK, MUTED, SECOND, inline_svg, name_rows, new_axes
from hiergcn.report.template import rendered, settings_rows
from hiergcn.run.compare import Comparison, MethodRun, describe_splits, read_comparison

MAX_DOTS = 200
"""Methods with more runs are drawn without a dot for each run."""


def write_comparison_page(folder: Path) -> Path:
    """Write `comparison.html` from the files of a comparison."""
    comparison = read_comparison(folder)
    target = folder / "comparison.html"
    with written_whole(target) as part:
        part.write_text(_page(comparison), encoding="utf-8")
    return target


def _page(comparison: Comparison) -> str:
    rows: list[dict[str, Any]] = [
        {
            "run": run,
            "mean": run.test_accuracy.mean,
            "std": run.test_accuracy.std,
            "peak": run.peak.gpu or run.peak.resident,
            "difference": comparison.difference(run.model),
        }
        for run in comparison.runs
    ]
    done = [row for row in rows if row["mean"] is not None]
    best = max(done, key=lambda row: row["mean"], default=None)
    means = "; ".join(f"{row['run'].model} {100 * row['mean']:.1f} %" for row in done)
    return rendered(
        "comparison.html",
        comparison=comparison,
        machine=comparison.environment,
        about=describe_splits(comparison.splits),
        rows=rows,
        settings=[row for run in comparison.runs for row in settings_rows(run.settings, {}, f"{run.model}, ")],
        best=best,
        chart=inline_svg(comparison_figure(comparison), "chart", f"Mean test accuracy of each method: {means}."),
    )


def comparison_figure(comparison: Comparison) -> Figure:
    """Draw a bar per method with its standard deviation and a dot per run. The axis may start above 0, and says so."""
    runs = comparison.runs
    accuracies = [100 * run.test_accuracy.values for run in runs]
    every = np.concatenate(accuracies)
    lowest, highest = (every.min(), every.max()) if every.size else (0.0, 1.0)
    start = _axis_start(lowest, highest)
    with new_axes(7.2, 1.3 + 0.5 * len(runs)) as (figure, axes):
        for place, (run, values) in enumerate(zip(runs, accuracies, strict=True)):
            if values.size == 0:
                axes.text(start, place, "  every run failed", va="center", color=MUTED)
                continue
            spread = values.std(ddof=1) if values.size > 1 else None
            colour = SECOND if run.model == comparison.against else FIRST
            axes.barh(place, values.mean() - start, left=start, height=0.62, color=colour, alpha=0.55)
            if values.size <= MAX_DOTS:
                rows = place + np.linspace(-0.2, 0.2, values.size) if values.size > 1 else [place]
                axes.plot(values, rows, "o", markersize=2.5, color=colour, zorder=3)
            if spread is not None:
                axes.errorbar(values.mean(), place, xerr=spread, color=INK, capsize=4, linewidth=1.4, zorder=4)
            label, end = _bar_label(run, spread), max(values.max(), values.mean() + (spread or 0.0))
            offset = {"xytext": (6, 0), "textcoords": "offset points"}
            axes.annotate(label, (end, place), **offset, va="center", fontsize=9, color=MUTED)
        name_rows(axes, [run.model for run in runs])
        axes.set_xlim(start, start + 1.3 * (highest - start))
        starts = f" (axis starts at {start:g})" if start else ""
        axes.set(xlabel=f"test accuracy, %{starts}", title=_title(comparison))
        return figure


def _title(comparison: Comparison) -> str:
    several = comparison.splits != (PUBLIC,)
    on = f", {len(comparison.splits)} random splits" if several else ""
    seeds = f"{len(comparison.seeds)} seeds{' each' if several else ''}"
    return f"{comparison.dataset}{on}, {seeds}: mean ± standard deviation"


def _bar_label(run: MethodRun, spread: float | None) -> str:
    mean = 100 * (run.test_accuracy.mean or 0.0)
    label = f"{mean:.1f}" if spread is None else f"{mean:.1f} ± {spread:.1f}"
    return f"{label}, {run.failed} of {len(run.scores)} failed" if run.failed else label


def _axis_start(lowest: float, highest: float) -> float:
    """Return 0, or a multiple of 5 well below the lowest run if all runs are close together."""
    start = 5.0 * math.floor((lowest - max(0.5 * (highest - lowest), 2.0)) / 5)
    return start if start > 0.5 * lowest else 0.0
