"""Page of `hiergcn compare`."""

import math
from pathlib import Path

import numpy as np

from hiergcn.comparison.compare import Comparison, MethodRun, title
from hiergcn.comparison.splits import PUBLIC
from hiergcn.evaluate.paired import compare_all
from hiergcn.files import write_text
from hiergcn.reports import axes
from hiergcn.reports.headline import title_of
from hiergcn.reports.palette import INK, method_colour
from hiergcn.reports.panels import Cell, Entry, legend_html
from hiergcn.reports.template import mean_and_std, rendered, script, settings_rows

MAX_DOTS = 200
"""Methods with more runs are drawn without a dot for each run."""
SIGNIFICANT = 0.05
LEGEND = (
    Entry("mean test accuracy, %", INK, "dot"),
    Entry("± standard deviation", INK, "line"),
    Entry("each run", INK, "ring"),
)


def write_comparison_page(comparison: Comparison, path: Path) -> Path:
    """Write the page, with the most accurate methods first."""
    runs = _by_accuracy(comparison)
    accuracies = {run.model: 100 * run.test_accuracy.values for run in runs}
    ends = {}  # of the standard deviation
    for run in runs:
        mean, spread = run.test_accuracy.mean, 100 * (run.test_accuracy.std or 0.0)
        ends[run.model] = (np.nan, np.nan) if mean is None else (100 * mean - spread, 100 * mean + spread)
    shown = [*np.concatenate(list(accuracies.values())), *(end for pair in ends.values() for end in pair)]
    axis, rows = axes.span(shown, room=0.05, round_ends=True), []
    for run in runs:
        values, cell, (mean, std) = accuracies[run.model], Cell(axis), (run.test_accuracy.mean, run.test_accuracy.std)
        if mean is not None:
            colour = method_colour(run.model)
            cell.across(*ends[run.model], 0, colour, 2.4)
            for value in values if values.size <= MAX_DOTS else ():
                cell.dot(value, colour, "ring", 2.5, f"a run: {value:.1f} %")
            cell.dot(100 * mean, colour, "dot", 6, f"{title(run.model)}: {_figure(run)}")
        rows.append({"run": run, "plot": cell.html(), "mean": mean, "std": std})

    pairs = [pair for run in runs if (pair := comparison.difference(run.model)) and pair.mean is not None]
    intervals = [
        [100 * (end if end is not None else pair.mean or 0.0) for end in (pair.low, pair.mean, pair.high)]
        for pair in pairs
    ]
    points = [0.0, *(point for interval in intervals for point in interval)]
    differences, cells = axes.span(points, room=0.08, round_ends=True), []
    for pair, (low, middle, high) in zip(pairs, intervals, strict=True):
        colour, names = method_colour(pair.model), f"{title(pair.model)} minus {title(pair.against)}"
        cell = Cell(differences)
        cell.upright(0.0, INK)
        cell.across(low, high, 0, colour, 2.4)
        cell.dot(middle, colour, "dot", 6, f"{names}: {middle:+.1f} points, {low:+.1f} to {high:+.1f}")
        cells.append(cell.html())
    winner, sentence = verdict(comparison)
    page = rendered(
        "comparison.html",
        script=script("page"),
        comparison=comparison,
        dataset=title_of(comparison.dataset),
        name_of=title,
        headline=winner,
        meaning=sentence,
        machine=comparison.environment,
        rows=rows,
        accuracy_axis=Cell.head(axis),
        legend=legend_html(LEGEND),
        differences=list(zip(pairs, cells, strict=True)),
        difference_axis=Cell.head(differences),
        settings=[row for run in comparison.runs for row in settings_rows(run.settings, {}, f"{title(run.model)}, ")],
    )
    return write_text(path, page)


def _by_accuracy(comparison: Comparison) -> list[MethodRun]:
    """Return the methods, the most accurate first; methods without a result last."""
    return sorted(comparison.runs, key=lambda run: -(run.test_accuracy.mean or -1.0))


def verdict(comparison: Comparison) -> tuple[str, str]:
    """Return the winner, or that there is none, and a sentence with the reason.

    A method wins if it is better than each other one by the paired test, with Holm's correction.
    """
    done = {run.model: run for run in _by_accuracy(comparison) if run.test_accuracy.mean is not None}
    if not done:
        return "Every run failed", "No method has a result."
    first = next(iter(done.values()))
    figures = f"{title(first.model)}: {_figure(first)}"
    if len(done) == 1:
        return figures, "Mean test accuracy of the only method with a result."
    pairs = compare_all({name: run.by_pair for name, run in done.items()}, first.model)
    level = [pair for pair in pairs if pair.p_holm is None or pair.p_holm >= SIGNIFICANT]
    if not level:
        return figures, "The most accurate method, significantly better than every other."
    highest = f"{title(first.model)} has the highest mean, {_figure(first)}"
    runs = min(pair.units for pair in pairs)
    enough = 2 + math.floor(math.log2(len(pairs) / SIGNIFICANT))  # all can be significant, after Holm's correction
    if runs < enough:
        few = f"no difference can be significant with {runs} run{'s' if runs != 1 else ''} per method"
        unit = "seeds" if comparison.splits == (PUBLIC,) else "splits"
        return "Too few runs to tell", f"{highest}, but {few}; take at least {enough} {unit}."
    near = " and ".join(f"{title(pair.model)} ({_figure(done[pair.model])})" for pair in level[:3])
    more = f" and {len(level) - 3} more" if len(level) > 3 else ""
    p = max((pair.p_holm for pair in level if pair.p_holm is not None), default=None)
    sure = "" if p is None else f" (p up to {p:.2f})" if len(level) > 1 else f" (p = {p:.2f})"
    return "No clear winner", f"{highest}, but is not significantly better than {near}{more}{sure}."


def _figure(run: MethodRun) -> str:
    return f"{mean_and_std(run.test_accuracy.to_dict())} %"
