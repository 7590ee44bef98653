"""The figures that have results on their axes; each None where nothing was run."""

from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from hiergcn.paper.collect import CellResult
from hiergcn.paper.names import NAMES, TITLES
from hiergcn.paper.published import TABLE2
from hiergcn.paper.tables import BESIDE, OF_THE_PAPER
from hiergcn.paper.verdicts.evidence import Evidence
from hiergcn.paper.verdicts.measured import series
from hiergcn.report.svg import CLASS_COLOURS, FIRST, INK, MUTED, SECOND, STYLE, new_figure

WIDTH = 9.0
"""Inches; as wide as the page."""
MARKERS = ("o", "s", "D", "^", "v", "P")
FEW = {"hgcn": FIRST, **dict(zip(("gcn", "gat", "dgcn", "appnp", "grand"), CLASS_COLOURS[1:], strict=False))}
APART = 0.22
"""Labels a class between two methods' points of the same number."""
FAR = 3.0
"""A mean so many times farther below the others than they are from each other is left out of the axis."""


def varied_figure(evidence: Evidence, experiment: str, what: str, claimed: dict[str, int]) -> Figure | None:
    """Accuracy over the values of a setting, a panel for each dataset: mean, one deviation, what the paper prints."""
    cells = evidence.cells[experiment]
    if not any(cell.done for cell in cells.values()):
        return None
    datasets = evidence.scale.datasets
    values = sorted({int(column) for _, _, column in cells})
    with matplotlib.rc_context(STYLE):
        rows = (len(datasets) + 1) // 2
        figure = new_figure(WIDTH, 0.5 + 2.5 * rows)
        panels = figure.subplots(rows, min(len(datasets), 2), squeeze=False).ravel()
        for axes, name in zip(panels, datasets, strict=False):
            printed = TABLE2["hgcn"][name]
            done = [cell for (_, where, _), cell in cells.items() if where == name and cell.done]
            far = _far_below(done, 100 * printed.mean)
            shown = [cell for cell in done if cell is not far]
            _bars(axes, [int(cell.cell.column) for cell in shown], shown, FIRST, "o", "H-GCN, mean ± deviation")
            axes.plot(claimed[name], 100 * printed.mean, "*", color=SECOND, markersize=12, label="the paper's best")
            axes.set(title=TITLES[name], xlabel=what, ylabel="test accuracy, %")
            axes.set_xticks(values)
            axes.set_xlim(values[0] - 0.4, values[-1] + 0.4)
            axes.margins(y=0.12)
            if far is not None:
                _tell_far(axes, far)
        for axes in panels[len(datasets) :]:
            axes.set_visible(False)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
        return figure


def _far_below(cells: Sequence[CellResult], also: float) -> CellResult | None:
    """The cell whose mean would press the others into a line, if there is one."""
    ranked = sorted(cells, key=lambda cell: cell.accuracy.mean or 0.0)
    if len(ranked) < 3:
        return None
    lowest, second, highest = (100 * (ranked[place].accuracy.mean or 0.0) for place in (0, 1, -1))
    return ranked[0] if second - lowest > FAR * max(max(highest, also) - second, 1.0) else None


def _tell_far(axes: Axes, cell: CellResult) -> None:
    """An arrow down to where it lies, and the figure."""
    mean, spread = 100 * (cell.accuracy.mean or 0.0), 100 * (cell.accuracy.std or 0.0)
    axes.annotate(
        f"{mean:.1f} ± {spread:.1f}",
        xy=(int(cell.cell.column), 0.0),
        xycoords=("data", "axes fraction"),
        xytext=(int(cell.cell.column), 0.3),
        textcoords=("data", "axes fraction"),
        ha="center",
        rotation=90,  # beside the next value's bar
        color=FIRST,
        arrowprops={"arrowstyle": "-|>", "color": FIRST},
    )


def few_labels_figure(evidence: Evidence) -> Figure | None:
    """Accuracy over labels a class: what the paper prints, ours with all validation labels, ours with as few."""
    if not any(cell.done for cell in evidence.cells["table3"].values()):
        return None
    counts = sorted(evidence.scale.labels)
    with matplotlib.rc_context(STYLE):
        figure = new_figure(WIDTH, 3.9)
        first, *panels = figure.subplots(1, 3, sharey=True)
        for place, ((arm, colour), marker) in enumerate(zip(FEW.items(), MARKERS, strict=True)):
            printed = [(count, one) for count in counts if (one := evidence.printed_few(arm, count))]
            look = {"marker": marker, "color": colour, "linewidth": 1.6, "markersize": 5}
            first.plot([count for count, _ in printed], [100 * one.mean for _, one in printed], **look)
            for axes, small in zip(panels, (False, True), strict=True):
                cells = [evidence.few(arm, f"{count} small" if small else str(count)) for count in counts]
                done = [(count, cell) for count, cell in zip(counts, cells, strict=True) if cell.done]
                places = [count + APART * (place - 2.5) for count, _ in done]
                _bars(axes, places, [cell for _, cell in done], colour, marker, NAMES[arm])
        titles = ("the paper", "ours, 500 validation labels", "ours, as few to validate as to train")
        for axes, title in zip((first, *panels), titles, strict=True):
            axes.set(xlabel="labels a class", title=title)
            axes.set_xticks(counts)
            axes.set_xlim(counts[0] - 1.5, counts[-1] + 1.5)
        first.set_ylabel("test accuracy, %")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=6)
        return figure


def _bars(axes: Axes, x: Sequence[float], cells: Sequence[CellResult], colour: str, marker: str, label: str) -> None:
    """A line through the means, with one standard deviation over all runs to either side."""
    means = [100 * (cell.accuracy.mean or 0.0) for cell in cells]
    spreads = [100 * (cell.accuracy.std or 0.0) for cell in cells]
    axes.errorbar(
        x,
        means,
        yerr=spreads,
        marker=marker,
        color=colour,
        linewidth=1.6,
        markersize=5,
        elinewidth=0.9,
        capsize=2,
        label=label,
    )


def reach_figure(evidence: Evidence) -> Figure | None:
    """Share of nodes that reach a node's output: H-GCN by levels, the flat network of as many layers, GCN's two."""
    found = dict(zip(evidence.scale.datasets, evidence.measured("figure-receptive-field"), strict=True))
    known = {name: one for name, one in found.items() if one is not None}
    if not known:
        return None
    with matplotlib.rc_context(STYLE):
        rows = (len(known) + 1) // 2
        figure = new_figure(WIDTH, 0.5 + 2.5 * rows)
        panels = figure.subplots(rows, min(len(known), 2), squeeze=False).ravel()
        for axes, (name, one) in zip(panels, known.items(), strict=False):
            levels = range(one["depth"] + 1)
            share = {
                what: [100 * point[what] / one["nodes"] for point in one["hgcn"]] for what in ("low", "median", "high")
            }
            axes.fill_between(levels, share["low"], share["high"], color=FIRST, alpha=0.15, linewidth=0)
            axes.plot(levels, share["median"], "o-", color=FIRST, label="H-GCN")
            flat = [100 * point["median"] / one["nodes"] for point in one["flat"]]
            axes.plot(levels, flat, "s--", color=SECOND, markersize=4, label="as many layers without coarsening")
            gcn = 100 * one["gcn"]["median"] / one["nodes"]
            axes.axhline(gcn, color=INK, linewidth=1.2, linestyle=":", label="GCN, 2 layers")
            axes.set(title=TITLES[name], xlabel="levels", ylabel="nodes that reach it, %", yscale="log")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        for axes in panels[len(known) :]:
            axes.set_visible(False)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=3)
        return figure


def cost_figure(evidence: Evidence) -> Figure | None:
    """Seconds over nodes, both logarithmic, with lines of slope 1 to hold them against."""
    lines = (
        ("coarsen", "coarsening, 4 levels", FIRST, "o"),
        ("hgcn_epoch", "H-GCN, an epoch", SECOND, "s"),
        ("gcn_epoch", "GCN, an epoch", CLASS_COLOURS[2], "D"),
        ("gat_epoch", "GAT, an epoch", CLASS_COLOURS[3], "^"),
    )
    with matplotlib.rc_context(STYLE):
        figure = new_figure(WIDTH, 4.2)
        axes = figure.subplots()
        for what, label, colour, marker in lines:
            points, _ = series(evidence, what)
            if points:
                axes.plot(*zip(*points, strict=True), marker=marker, color=colour, label=label)
        if not axes.lines:
            return None
        axes.set(xscale="log", yscale="log", xlabel="nodes", ylabel="seconds")
        low, high = axes.get_xlim()
        bottom, top = axes.get_ylim()
        for start in (1e-7, 1e-6, 1e-5, 1e-4):
            axes.plot([low, high], [start * low, start * high], ":", color=MUTED, linewidth=0.9, zorder=0)
        axes.set(xlim=(low, high), ylim=(bottom, top))
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=4)
        return figure


def random_figure(evidence: Evidence) -> Figure | None:
    """Mean accuracy over random splits with one deviation, and that on the public split, a panel for each dataset."""
    cells = {key: cell for key, cell in evidence.cells["random-splits"].items() if cell.done > 1}
    if not cells:
        return None
    datasets = [name for name in evidence.scale.citation if any(where == name for _, where, _ in cells)]
    arms = [arm for arm in (*OF_THE_PAPER, *BESIDE) if any(arm == one for one, _, _ in cells)]
    with matplotlib.rc_context(STYLE):
        figure = new_figure(WIDTH, 1.4 + 0.3 * len(arms))
        panels = figure.subplots(1, len(datasets), sharey=True, squeeze=False).ravel()
        for axes, name in zip(panels, datasets, strict=True):
            for place, arm in enumerate(arms):
                cell, public = cells.get((arm, name, "")), evidence.cells["table2"].get((arm, name, ""))
                colour = FIRST if arm == "hgcn" else INK
                if cell is not None:
                    mean, spread = 100 * (cell.accuracy.mean or 0.0), 100 * (cell.accuracy.std or 0.0)
                    axes.errorbar(
                        mean, place, xerr=spread, fmt="o", color=colour, capsize=3, markersize=5, label="random splits"
                    )
                if public is not None and public.accuracy.mean is not None:
                    axes.plot(
                        100 * public.accuracy.mean, place, "D", color=SECOND, fillstyle="none", label="public split"
                    )
            axes.set(title=TITLES[name], xlabel="test accuracy, %")
        panels[0].set_yticks(range(len(arms)), [NAMES[arm] for arm in arms])
        panels[0].invert_yaxis()
        handles, labels = panels[0].get_legend_handles_labels()
        once = dict(zip(reversed(labels), reversed(handles), strict=True))
        figure.legend(list(once.values()), list(once), loc="outside upper left", ncols=2)
        return figure
