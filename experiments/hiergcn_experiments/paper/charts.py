"""The figures of the page. A figure without runs has no panels, and is not shown."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hiergcn.research import Axis, Entry, Figure, Panel, axes, method_colour, palette
from hiergcn_experiments.display import DASH, DOTS, ROW, curve
from hiergcn_experiments.paper.claims import members
from hiergcn_experiments.paper.evidence import BEST, TABLE2, Evidence, PaperCell
from hiergcn_experiments.paper.experiments import DATASET_TITLES, variant_title
from hiergcn_experiments.paper.tables import METHODS

FEW = ("hgcn", "gcn", "gat", "dgcn", "appnp", "grand")
APART = 0.22
"""Horizontal distance between the points of two methods, in labels per class."""
FAR = 3.0
"""A mean that lies this many times farther below the others than they lie apart is left off the axis."""


def _percent(cell: PaperCell) -> tuple[float, float, float]:
    """Return mean, and mean minus and plus a standard deviation."""
    mean, std = 100 * (cell.accuracy.mean or 0.0), 100 * (cell.accuracy.std or 0.0)
    return mean, mean - std, mean + std


def _values(*cells: PaperCell) -> list[float]:
    """Return what an axis must hold to show the cells and the paper's figures."""
    values = [end for cell in cells if cell.done for end in _percent(cell)[1:]]
    return values + [100 * cell.printed.mean for cell in cells if cell.printed]


def table2_figure(evidence: Evidence) -> Figure:
    """Draw Table 2: the paper's figure and ours of each method, a panel per dataset; H-GCN's row is marked."""

    def draw(panel: Panel, row: int, cell: PaperCell | None, _: PaperCell | None) -> None:
        if cell is None:
            return
        _interval(panel, row, cell)
        if cell.printed is not None:
            printed = 100 * cell.printed.mean
            panel.dots([printed], [row], palette.INK, "star", 5, [f"the paper: {printed:.1f} %"])
        if not cell.done:
            panel.text(panel.x.low, row, "not run" if cell.missing else "failed", anchor="start", dx=4)

    legend = [
        Entry("the paper", palette.INK, "star"),
        Entry("our mean", palette.INK, "dot"),
        Entry("± standard deviation over seeds", palette.INK, "line"),
    ]
    return _by_method(evidence, "table2", evidence.scale.datasets, draw, legend)


def random_figure(evidence: Evidence) -> Figure:
    """Draw mean ± standard deviation over random splits, and the mean on the public split, a panel per dataset."""

    def draw(panel: Panel, row: int, cell: PaperCell | None, public: PaperCell | None) -> None:
        if cell is not None and cell.done > 1:
            _interval(panel, row, cell)
        else:
            panel.text(panel.x.low, row, "not run on random splits", anchor="start", dx=4)
        if public is not None and public.done:
            mean = _percent(public)[0]
            panel.dots([mean], [row], palette.MUTED, "diamond", 4, [f"public split: {mean:.1f} %"])

    legend = [
        Entry("random splits, mean", palette.INK, "dot"),
        Entry("± standard deviation over splits", palette.FIRST, "line"),
        Entry("public split, mean", palette.MUTED, "diamond"),
    ]
    return _by_method(evidence, "random-splits", evidence.scale.citation, draw, legend, least=2)


def _by_method(
    evidence: Evidence,
    experiment: str,
    datasets: Sequence[str],
    draw: Callable[[Panel, int, PaperCell | None, PaperCell | None], None],
    legend: Sequence[Entry],
    least: int = 1,
) -> Figure:
    """Draw a panel per dataset with a row per method; H-GCN's rows are shaded.

    `draw` gets the method's cell of the experiment and that of Table 2; axes hold both. Nothing is drawn if no cell has
    at least `least` runs.
    """
    cells = {(arm, name): cell for (arm, name, _), cell in evidence.cells[experiment].items()}
    if all(cell.done < least for cell in cells.values()):
        return Figure([])
    public = {(arm, name): cell for (arm, name, _), cell in evidence.cells["table2"].items() if (arm, name) in cells}
    panels = []
    for dataset in datasets:
        ran_on = {arm: {name for one, name in cells if one == arm} for arm in METHODS}
        # A recipe for one dataset has no row in the panels of the others.
        arms = [arm for arm, names in ran_on.items() if dataset in names or len(names) > 1]
        if not arms:
            continue
        shown = [cell for cell in (*cells.values(), *public.values()) if cell.cell.dataset == dataset]
        titles = [variant_title(arm) for arm in arms]
        rows = axes.rows([title[:1].upper() + title[1:] for title in titles])
        x = axes.span(_values(*shown), "test accuracy, %")
        panel = Panel(x, rows, title=DATASET_TITLES[dataset], height=ROW * len(arms), grid="x")
        for row, arm in enumerate(arms):
            if arm.startswith("hgcn"):
                panel.bar((x.low, x.high), row, ROW, palette.LINE, opacity=0.5)
            draw(panel, row, cells.get((arm, dataset)), public.get((arm, dataset)))
        panels.append(panel)
    return Figure(panels, legend, columns=2)


def _interval(panel: Panel, row: int, cell: PaperCell) -> None:
    """Draw mean and standard deviation of a cell that has runs."""
    if cell.done:
        (mean, low, high), colour = _percent(cell), method_colour(cell.cell.variant)
        panel.across(low, high, row, colour, 2.2)
        tip = f"{variant_title(cell.cell.variant)}: {mean:.1f} ± {high - mean:.1f} %"
        panel.dots([mean], [row], colour, size=4.5, tips=[tip])


def _error_bars(panel: Panel, cells: Mapping[Any, PaperCell], colour: str, name: str) -> None:
    """Draw a line through the means, with error bars of one standard deviation over all runs."""
    for x, cell in cells.items():
        panel.up(x, *_percent(cell)[1:], colour)
    panel.line(cells, [_percent(cell)[0] for cell in cells.values()], colour)
    for x, cell in cells.items():
        mean = _percent(cell)[0]
        panel.dots([x], [mean], colour, size=4, tips=[f"{name}: {mean:.1f} ± {100 * (cell.accuracy.std or 0.0):.1f} %"])


def varied_figure(evidence: Evidence, experiment: str, what: str) -> Figure:
    """Draw accuracy over the values of a setting, one panel per dataset, with the paper's best value."""
    panels = []
    for name in evidence.scale.datasets if any(cell.done for cell in evidence.cells[experiment].values()) else ():
        cells, printed, best = (
            evidence.varied(experiment, name),
            100 * TABLE2["hgcn"][name].mean,
            BEST[experiment][name],
        )
        done = {value: cell for value, cell in cells.items() if cell.done}
        far = None  # the value whose mean would flatten the others into a line, if there is one
        ranked = sorted((_percent(cell)[0], value) for value, cell in done.items())
        if len(ranked) > 2:
            (lowest, value), (second, _), (highest, _) = ranked[0], ranked[1], ranked[-1]
            far = value if second - lowest > FAR * max(max(highest, printed) - second, 1.0) else None
        shown = {value: cell for value, cell in done.items() if value != far}
        heights = [end for cell in shown.values() for end in _percent(cell)[1:]]
        y = axes.span([*heights, printed], "test accuracy, %")
        panel = Panel(axes.whole_numbers(list(cells), what), y, title=DATASET_TITLES[name], height=180)
        _error_bars(panel, shown, palette.FIRST, "H-GCN")
        panel.dots([best], [printed], palette.INK, "star", 6, [f"the paper's best: {best}, {printed:.1f} %"])
        if far is not None:
            text = f"↓ {_percent(done[far])[0]:.1f} ± {100 * (done[far].accuracy.std or 0.0):.1f}"
            panel.text(far, panel.y.low, text, anchor="start", dx=-14, dy=-8, colour=palette.FIRST)
        panels.append(panel)
    legend = [
        Entry("H-GCN, mean ± standard deviation", palette.FIRST, "line"),
        Entry("the paper's best", palette.INK, "star"),
    ]
    return Figure(panels, legend, columns=2)


def few_labels_figure(evidence: Evidence) -> Figure:
    """Draw accuracy over labels per class: the paper's, ours with all validation labels, and ours with few."""
    if not any(cell.done for cell in evidence.cells["table3"].values()):
        return Figure([])
    counts = sorted(evidence.scale.labels)
    titles = {
        "paper": "The paper",
        "": "Ours, 500 validation labels",
        " small": "Ours, validation as small as training",
    }
    x = Axis(counts[0] - 1.5, counts[-1] + 1.5, tuple(counts), tuple(map(str, counts)), "labels per class")
    every = (evidence.table3(arm, f"{count}{end}") for arm in FEW for count in counts for end in ("", " small"))
    y = axes.span(_values(*every), "test accuracy, %")
    panels = []
    for end, title in titles.items():
        panel = Panel(x, y, title=title, height=230)
        for place, arm in enumerate(FEW):
            colour, name = method_colour(arm), variant_title(arm)
            if end == "paper":
                printed = {count: evidence.table3(arm, str(count)).printed for count in counts}
                means = {float(count): 100 * one.mean for count, one in printed.items() if one}
                curve(panel, means, colour, tip=f"{name}: {{y:.1f}} %")
            else:
                cells = {count + APART * (place - 2.5): evidence.table3(arm, f"{count}{end}") for count in counts}
                _error_bars(panel, {at: cell for at, cell in cells.items() if cell.done}, colour, name)
        panels.append(panel)
    return Figure(panels, [Entry(variant_title(arm), method_colour(arm)) for arm in FEW], columns=3)


def field_figure(evidence: Evidence) -> Figure:
    """Draw the receptive field: H-GCN by levels, a flat network of as many layers, and GCN's two layers."""
    panels = []
    for name, one in evidence.by_dataset("figure-receptive-field").items():
        if one is None:
            continue
        levels = list(range(one["depth"] + 1))
        low, median, high, flat = (
            [100 * point[what] / one["nodes"] for point in one[network]]
            for network, what in (("hgcn", "low"), ("hgcn", "median"), ("hgcn", "high"), ("flat", "median"))
        )
        gcn = 100 * one["gcn"]["median"] / one["nodes"]
        y = axes.powers([*low, *high, *flat, gcn], "receptive field, % of nodes")
        panel = Panel(axes.whole_numbers(levels, "levels"), y, title=DATASET_TITLES[name], height=180)
        panel.band(levels, low, high, method_colour("hgcn"), 0.13)
        curve(panel, dict(zip(levels, median, strict=True)), method_colour("hgcn"), "H-GCN")
        panel.line(levels, flat, palette.SECOND, "without coarsening", DASH)
        panel.rule(y=gcn, colour=method_colour("gcn"), dash=DOTS, tip=f"GCN, 2 layers: {gcn:.2g} %")
        panels.append(panel)
    legend = [
        Entry("H-GCN, median", method_colour("hgcn"), "line"),
        Entry("middle 90 % of the nodes", method_colour("hgcn"), "band"),
        Entry("as many layers without coarsening", palette.SECOND, "dashed"),
        Entry("GCN, 2 layers", method_colour("gcn"), "dashed"),
    ]
    return Figure(panels, legend, columns=2)


def cost_figure(evidence: Evidence) -> Figure:
    """Draw seconds over nodes on logarithmic axes, with lines of slope 1 for comparison."""
    lines = {
        "coarsen": ("coarsening, 4 levels", palette.VIOLET),
        "hgcn_epoch": ("H-GCN, epoch", method_colour("hgcn")),
        "gcn_epoch": ("GCN, epoch", method_colour("gcn")),
        "gat_epoch": ("GAT, epoch", method_colour("gat")),
    }
    curves = {what: found for what in lines if (found := evidence.seconds(what)[0])}
    if not curves:
        return Figure([])
    x = axes.powers([n for found in curves.values() for n in found], "nodes")
    panel = Panel(x, axes.powers([s for found in curves.values() for s in found.values()], "seconds"), height=300)
    for slope in (1e-7, 1e-6, 1e-5, 1e-4):
        panel.line([x.low, x.high], [slope * x.low, slope * x.high], palette.MUTED, dash=DOTS, width=1)
    for what, found in curves.items():
        name, colour = lines[what]
        curve(panel, found, colour, name)
    legend = [Entry(*lines[what], "line") for what in curves]
    return Figure([panel], [*legend, Entry("slope 1: twice the nodes, twice the time", palette.MUTED, "dashed")])


TOY_PLACES = {"A": (0.0, 0.35), "B": (-1.0, 1.0), "D": (-1.0, -0.3), "C": (1.0, 1.0), "E": (1.0, -0.3)}


def toy_figure(evidence: Evidence) -> Figure:
    """Draw the toy graph, the two steps of grouping, and the coarser graph."""
    found = evidence.measured("figure-coarsening")[0]
    if found is None:
        return Figure([])
    names, edges = found["names"], [tuple(edge) for edge in found["edges"]]
    steps = {
        "The graph": range(len(names)),
        "Same neighbours (SEG)": found["equivalence"],
        "Most similar (SSG)": found["groups"],
        "The coarser graph": (),
    }
    panels = [Panel(Axis(-1.5, 1.5, (), ()), Axis(-0.8, 1.4, (), ()), title=title, height=150) for title in steps]
    for panel, groups in zip(panels[:3], steps.values(), strict=False):
        for number, group in enumerate(members(names, groups)):
            if len(group) > 1:
                x, y = zip(*(TOY_PLACES[name] for name in group), strict=True)
                panel.line(x, y, palette.CLASS_COLOURS[number % 6], width=34, opacity=0.3)
        _draw_graph(panel, {name: TOY_PLACES[name] for name in names}, edges)
    labels, matrix = members(names, found["groups"]), np.array(found["coarse"])
    places = {label: tuple(np.mean([TOY_PLACES[name] for name in label], axis=0)) for label in labels}
    merged = [(labels[i], labels[j], matrix[i, j]) for i, j in zip(*np.nonzero(np.triu(matrix, 1)), strict=True)]
    _draw_graph(panels[3], places, merged)
    for (x, y), weight, loop in zip(places.values(), found["node_weight"], matrix.diagonal(), strict=True):
        panels[3].text(x, y, f"weight {weight}", dy=28)
        if loop:
            panels[3].text(x, y, f"loop {loop:g}", dy=43)
    return Figure(panels, columns=4)


def _draw_graph(panel: Panel, places: Mapping[str, tuple[float, ...]], edges: Sequence[tuple[Any, ...]]) -> None:
    for one, other, weight in edges:
        (x, y), (to_x, to_y) = places[one], places[other]
        panel.line([x, to_x], [y, to_y], palette.MUTED)
        middle = 0.45 * x + 0.55 * to_x, 0.45 * y + 0.55 * to_y
        panel.dots([middle[0]], [middle[1]], palette.PAPER, size=8)
        panel.text(*middle, f"{weight:g}", colour=palette.INK)
    for name, (x, y) in places.items():
        panel.dots([x], [y], palette.INK, "ring", 11)
        panel.text(x, y, name, colour=palette.INK, strong=True)
