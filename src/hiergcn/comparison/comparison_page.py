"""Chart and page of `hiergcn compare`, and the chart of `hiergcn tune`."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hiergcn.comparison.compare import Comparison, MethodRun, read_comparison, title
from hiergcn.comparison.tune import FEWEST_FOR_IMPORTANCE, Tuning
from hiergcn.evaluate.paired import PairedDifference, compare_all
from hiergcn.files import write_text
from hiergcn.graph.split import PUBLIC
from hiergcn.reports import axes
from hiergcn.reports.axes import PlotColumn
from hiergcn.reports.headline import title_of
from hiergcn.reports.palette import FIRST, INK, MUTED, SECOND, method_colour
from hiergcn.reports.panels import Entry, Figure, Panel, legend_html
from hiergcn.reports.template import mean_and_std, rendered, script, settings_rows

MAX_DOTS = 200
"""Methods with more runs are drawn without a dot for each run."""
SIGNIFICANT = 0.05


LEGEND = (
    Entry("mean test accuracy, %", INK, "dot"),
    Entry("± standard deviation", INK, "line"),
    Entry("each run", INK, "ring"),
)


def write_comparison_page(folder: Path) -> Path:
    """Write `comparison.html` from the files of a comparison."""
    comparison = read_comparison(folder)
    runs = by_accuracy(comparison)
    column, rows = PlotColumn(_accuracy_axis(runs)), []
    for run in runs:
        values, drawn = _values(run), []
        if values.size:
            colour, (mean, spread) = method_colour(run.model), _mean_and_spread(run)
            drawn.append(column.interval(mean - spread, mean + spread, colour, 2.4))
            if values.size <= MAX_DOTS:
                drawn += [column.mark(value, colour, "ring", 2.5, f"a run: {value:.1f} %") for value in values]
            drawn.append(column.mark(mean, colour, "dot", 6, f"{title(run.model)}: {_figure(run)}"))
        accuracy = run.test_accuracy
        rows.append({"run": run, "plot": column.cell(*drawn), "mean": accuracy.mean, "std": accuracy.std})
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
        accuracy_axis=column.head(),
        legend=legend_html(LEGEND),
        **_difference_plots(comparison, runs),
        settings=[row for run in comparison.runs for row in settings_rows(run.settings, {}, f"{title(run.model)}, ")],
    )
    return write_text(folder / "comparison.html", page)


def by_accuracy(comparison: Comparison) -> list[MethodRun]:
    """Return the methods, the most accurate first; methods without a result last."""
    return sorted(comparison.runs, key=lambda run: -(run.test_accuracy.mean or -1.0))


def verdict(comparison: Comparison) -> tuple[str, str]:
    """Return the winner, or that there is none, and a sentence with the reason.

    A method wins if it is better than each other one by the paired test, with Holm's correction.
    """
    done = [run for run in by_accuracy(comparison) if run.test_accuracy.mean is not None]
    if not done:
        return "Every run failed", "No method has a result."
    first, *others = done
    figures = f"{title(first.model)}: {_figure(first)}"
    if not others:
        return figures, "Mean test accuracy of the only method with a result."
    against = compare_all({run.model: run.by_pair for run in done}, first.model)
    level = [one for one in against if one.p_holm is None or one.p_holm >= SIGNIFICANT]
    if not level:
        return figures, "The most accurate method, significantly better than every other."
    highest = f"{title(first.model)} has the highest mean, {_figure(first)}"
    runs = min(one.units for one in against)
    enough = 2 + math.floor(math.log2(len(against) / SIGNIFICANT))  # all can be significant, after Holm's correction
    if runs < enough:
        few = f"no difference can be significant with {runs} run{'s' if runs != 1 else ''} per method"
        unit = "seeds" if comparison.splits == (PUBLIC,) else "splits"
        return "Too few runs to tell", f"{highest}, but {few}; take at least {enough} {unit}."
    named = {run.model: run for run in done}
    near = " and ".join(f"{title(one.model)} ({_figure(named[one.model])})" for one in level[:3])
    more = f" and {len(level) - 3} more" if len(level) > 3 else ""
    p = max((one.p_holm for one in level if one.p_holm is not None), default=None)
    sure = "" if p is None else f" (p up to {p:.2f})" if len(level) > 1 else f" (p = {p:.2f})"
    return "No clear winner", f"{highest}, but is not significantly better than {near}{more}{sure}."


def _figure(run: MethodRun) -> str:
    return f"{mean_and_std(run.test_accuracy.to_dict())} %"


def _values(run: MethodRun) -> np.ndarray:
    return 100 * run.test_accuracy.values


def _accuracy_axis(runs: Sequence[MethodRun], title: str = "") -> axes.Axis:
    every = np.concatenate([_values(run) for run in runs])
    ends = [mean + sign * spread for run in runs for mean, spread in [_mean_and_spread(run)] for sign in (-1, 1)]
    return axes.span([*every, *ends], title, room=0.05, round_ends=True)


def _mean_and_spread(run: MethodRun) -> tuple[float, float]:
    mean = run.test_accuracy.mean
    return (np.nan, np.nan) if mean is None else (100 * mean, 100 * (run.test_accuracy.std or 0.0))


def _difference_plots(comparison: Comparison, runs: Sequence[MethodRun]) -> dict[str, Any]:
    """Return the differences to the reference with their intervals, in the order of the methods."""
    found = [one for run in runs if (one := comparison.difference(run.model)) and one.mean is not None]
    column = PlotColumn(
        axes.span([0.0, *(100 * end for one in found for end in _ends(one))], room=0.08, round_ends=True)
    )
    cells = []
    for one in found:
        colour = method_colour(one.model)
        low, high = (100 * end for end in _ends(one))
        pair = f"{title(one.model)} minus {title(one.against)}"
        tip = f"{pair}: {100 * (one.mean or 0.0):+.1f} points, {low:+.1f} to {high:+.1f}"
        drawn = column.interval(low, high, colour, 2.4), column.mark(100 * (one.mean or 0.0), colour, "dot", 6, tip)
        cells.append(column.cell(column.zero(), *drawn))
    return {"differences": list(zip(found, cells, strict=True)), "difference_axis": column.head()}


def _ends(one: PairedDifference) -> tuple[float, float]:
    mean = one.mean or 0.0
    return (mean if one.low is None else one.low), (mean if one.high is None else one.high)


def comparison_figure(comparison: Comparison) -> Figure:
    """Draw mean, standard deviation and every run of each method, the most accurate at the top, for a file."""
    runs = by_accuracy(comparison)
    splits, seeds = f"{len(comparison.splits)} splits", f"{len(comparison.seeds)} seeds"
    drawn = seeds if comparison.splits == (PUBLIC,) else f"{splits}, {seeds} each"
    x, y = _accuracy_axis(runs, "test accuracy, %"), axes.rows([title(run.model) for run in runs])
    panel = Panel(x, y, title=f"{title_of(comparison.dataset)}, {drawn}", height=34 * len(runs), grid="x")
    for place, run in enumerate(runs):
        values = _values(run)
        if not values.size:
            panel.text(panel.x.low, place, "every run failed", anchor="start", dx=6)
            continue
        colour, (mean, spread) = method_colour(run.model), _mean_and_spread(run)
        panel.across(mean - spread, mean + spread, place, colour, 2.4)
        if values.size <= MAX_DOTS:
            panel.dots(values, [place] * values.size, colour, "ring", 2.5)
        panel.dots([mean], [place], colour, size=6)
        failed = f", {run.failed} of {len(run.scores)} failed" if run.failed else ""
        panel.text(mean, place, _figure(run) + failed, dy=-9, colour=MUTED)
    return Figure([panel], LEGEND)


def tuning_figure(tuning: Tuning) -> Figure:
    """Draw the importance of each setting, and beside it the accuracy of each trial with the best so far."""
    title = "Importance for validation accuracy, %"
    shares = {name: 100 * share for name, share in tuning.importance.items()}
    if shares:
        x, y = axes.span(shares.values(), zero=True), axes.rows(list(shares))
        importance = Panel(x, y, title=title, height=max(30 * len(shares), 60), grid="x")
        for place, (name, share) in enumerate(shares.items()):
            importance.bar((0, share), place, 16, FIRST, tip=f"{name}: {share:.0f} %")
    else:
        importance = Panel(axes.Axis(0, 1, (), ()), axes.Axis(0, 1, (), ()), title=title)
        importance.text(0, 0.9, f"needs {FEWEST_FOR_IMPORTANCE} trials with different accuracies", anchor="start")

    done = [(trial.number, 100 * trial.accuracy) for trial in tuning.trials if trial.accuracy is not None]
    numbers, accuracy = map(np.array, zip(*done, strict=True))
    x = axes.whole_numbers([int(numbers.min()), int(numbers.max())], "trial")
    trials = Panel(x, axes.span(accuracy), title="Validation accuracy, %")
    best: Sequence[float] = np.maximum.accumulate(accuracy).tolist()
    steps = [(number, value) for k, value in enumerate(best) for number in numbers[k : k + 2]]
    trials.line([number for number, _ in steps], [value for _, value in steps], SECOND, "best so far")
    tips = [f"trial {number}: {value:.1f} %" for number, value in done]
    trials.dots(numbers, accuracy, FIRST, size=3.5, tips=tips)
    trials.dots([tuning.best.number], [100 * (tuning.best.accuracy or 0.0)], INK, "ring", 5)
    legend = [Entry("trial", FIRST), Entry("best so far", SECOND, "line"), Entry("chosen", INK, "ring")]
    return Figure([importance, trials], legend, columns=2)
