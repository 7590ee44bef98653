"""The figures that have results on their axes; each None where nothing was run."""

from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from hiergcn.experiments.collect import CellResult
from hiergcn.experiments.verdicts.evidence import Evidence
from hiergcn.experiments.verdicts.measured import series
from hiergcn.report.palette import CLASS_COLOURS
from hiergcn.report.paper.tables import NAMES, TITLES
from hiergcn.report.svg import FIRST, INK, MUTED, SECOND, STYLE, new_figure

MARKERS = ("o", "s", "D", "^", "v", "P")
FEW = {"hgcn": FIRST, **dict(zip(("gcn", "gat", "dgcn", "appnp", "grand"), CLASS_COLOURS[1:], strict=False))}


def varied_figure(evidence: Evidence, experiment: str, what: str, claimed: dict[str, int]) -> Figure | None:
    """Accuracy over the values of a setting, a panel for each dataset: mean, one deviation, the paper's best value."""
    cells = evidence.cells[experiment]
    if not any(cell.done for cell in cells.values()):
        return None
    datasets = evidence.scale.datasets
    with matplotlib.rc_context(STYLE):
        rows = (len(datasets) + 1) // 2
        figure = new_figure(7.2, 0.4 + 2.5 * rows)
        panels = figure.subplots(rows, min(len(datasets), 2), squeeze=False).ravel()
        for axes, name in zip(panels, datasets, strict=False):
            shown = [cell for (_, where, _), cell in cells.items() if where == name and cell.done]
            _line(axes, [int(cell.cell.column) for cell in shown], shown, FIRST, "o", "H-GCN")
            axes.axvline(claimed[name], color=SECOND, linewidth=1.2, linestyle=(0, (4, 3)))
            axes.set(title=TITLES[name], xlabel=what, ylabel="test accuracy, %")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.margins(y=0.15)
        for axes in panels[len(datasets) :]:
            axes.set_visible(False)
        return figure


def few_labels_figure(evidence: Evidence) -> Figure | None:
    """Accuracy over labels a class, all validation labels on the left, as few as train on the right."""
    if not any(cell.done for cell in evidence.cells["table3"].values()):
        return None
    counts = sorted(evidence.scale.labels)
    with matplotlib.rc_context(STYLE):
        figure = new_figure(7.2, 3.6)
        panels = figure.subplots(1, 2, sharey=True)
        for axes, small in zip(panels, (False, True), strict=True):
            for (arm, colour), marker in zip(FEW.items(), MARKERS, strict=True):
                columns = [f"{count} small" if small else str(count) for count in counts]
                shown = [(count, evidence.few(arm, column)) for count, column in zip(counts, columns, strict=True)]
                done = [(count, cell) for count, cell in shown if cell.done]
                _line(
                    axes,
                    [count for count, _ in done],
                    [cell for _, cell in done],
                    colour,
                    marker,
                    NAMES[arm],
                    arm == "hgcn",
                )
            printed = [(count, one) for count in counts if (one := evidence.printed_few("hgcn", count))]
            if printed and not small:
                heights = [100 * one.mean for _, one in printed]
                axes.plot([count for count, _ in printed], heights, "--", color=INK, label="H-GCN, the paper")
            axes.set(xlabel="labels a class", title="500 validation labels" if not small else "as few to validate")
            axes.set_xticks(counts)
            axes.set_xlim(0.5 * counts[0], 1.08 * counts[-1])
        panels[0].set_ylabel("test accuracy, %")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=4, handlelength=1.8, columnspacing=1.4)
        return figure


def _line(
    axes: Axes,
    x: Sequence[int],
    cells: Sequence[CellResult],
    colour: str,
    marker: str,
    label: str,
    band: bool = True,
) -> None:
    means = [100 * (cell.accuracy.mean or 0.0) for cell in cells]
    axes.plot(x, means, marker=marker, color=colour, linewidth=1.6, markersize=5, label=label)
    if band:
        spreads = [100 * (cell.accuracy.std or 0.0) for cell in cells]
        low = [mean - spread for mean, spread in zip(means, spreads, strict=True)]
        high = [mean + spread for mean, spread in zip(means, spreads, strict=True)]
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)


def reach_figure(evidence: Evidence) -> Figure | None:
    """Share of nodes that reach a node's output: H-GCN by levels, the flat network of as many layers, GCN's two."""
    found = dict(zip(evidence.scale.datasets, evidence.measured("figure-receptive-field"), strict=True))
    known = {name: one for name, one in found.items() if one is not None}
    if not known:
        return None
    with matplotlib.rc_context(STYLE):
        rows = (len(known) + 1) // 2
        figure = new_figure(7.2, 0.5 + 2.5 * rows)
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
        figure = new_figure(7.2, 3.8)
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
    """Mean accuracy over random splits, a panel for each dataset, with one deviation."""
    cells = {key: cell for key, cell in evidence.cells["random-splits"].items() if cell.done > 1}
    if not cells:
        return None
    datasets = [name for name in evidence.scale.citation if any(where == name for _, where, _ in cells)]
    arms = list(dict.fromkeys(arm for arm, _, _ in cells))
    with matplotlib.rc_context(STYLE):
        figure = new_figure(7.2, 1.2 + 0.3 * len(arms))
        panels = figure.subplots(1, len(datasets), sharey=True, squeeze=False).ravel()
        for axes, name in zip(panels, datasets, strict=True):
            for place, arm in enumerate(arms):
                cell = cells.get((arm, name, ""))
                if cell is not None:
                    mean, spread = 100 * (cell.accuracy.mean or 0.0), 100 * (cell.accuracy.std or 0.0)
                    colour = FIRST if arm == "hgcn" else INK
                    axes.errorbar(mean, place, xerr=spread, fmt="o", color=colour, capsize=3, markersize=5)
            axes.set(title=TITLES[name], xlabel="test accuracy, %")
        panels[0].set_yticks(range(len(arms)), [NAMES[arm] for arm in arms])
        panels[0].invert_yaxis()
        return figure
