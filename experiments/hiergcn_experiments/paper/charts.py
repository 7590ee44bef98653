"""The figures of the page; each is None if its runs are missing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hiergcn.research import Axis, Entry, Figure, Panel, axes, method_colour, palette
from hiergcn_experiments.paper.claims import members
from hiergcn_experiments.paper.evidence import TABLE2, Evidence, PaperCell
from hiergcn_experiments.paper.experiments import DATASET_TITLES, variant_title
from hiergcn_experiments.paper.tables import METHODS

FEW = ("hgcn", "gcn", "gat", "dgcn", "appnp", "grand")
APART = 0.22
"""Horizontal distance between the points of two methods, in labels per class."""
FAR = 3.0
"""A mean that lies this many times farther below the others than they lie apart is left off the axis."""
ROW = 22
"""Height of a method's row in pixels."""
DASH, DOTS = "6 4", "2 4"


def table2_figure(evidence: Evidence) -> Figure | None:
    """Draw Table 2: the paper's figure and ours of each method, a panel per dataset; H-GCN's row is marked."""
    cells = {(arm, name): cell for (arm, name, _), cell in evidence.cells["table2"].items()}
    if not any(cell.done for cell in cells.values()):
        return None

    def draw(panel: Panel, place: int, arm: str, dataset: str) -> None:
        cell = cells.get((arm, dataset))
        if cell is None:
            return
        if cell.done:
            _mean_and_spread(panel, place, cell, method_colour(arm), variant_title(arm))
        if cell.printed is not None:
            panel.dots(
                [100 * cell.printed.mean],
                [place],
                palette.INK,
                "star",
                5,
                [f"the paper: {100 * cell.printed.mean:.1f} %"],
            )
        if not cell.done:
            panel.text(panel.x.low, place, "not run" if cell.missing else "failed", anchor="start", dx=4)

    legend = [
        Entry("the paper", palette.INK, "star"),
        Entry("our mean", palette.INK, "dot"),
        Entry("± standard deviation over seeds", palette.INK, "line"),
    ]
    return _by_method(cells, evidence.scale.datasets, draw, legend)


def random_figure(evidence: Evidence) -> Figure | None:
    """Draw mean ± standard deviation over random splits, and the mean on the public split, a panel per dataset."""
    cells = {(arm, name): cell for (arm, name, _), cell in evidence.cells["random-splits"].items()}
    if not any(cell.done > 1 for cell in cells.values()):
        return None

    def draw(panel: Panel, place: int, arm: str, dataset: str) -> None:
        cell = cells.get((arm, dataset))
        if cell is not None and cell.done > 1:
            _mean_and_spread(panel, place, cell, method_colour(arm), variant_title(arm))
        else:
            panel.text(panel.x.low, place, "not run on random splits", anchor="start", dx=4)
        public = evidence.cells["table2"].get((arm, dataset, ""))
        if public is not None and public.done:
            mean = _percent(public.accuracy.mean)
            panel.dots([mean], [place], palette.MUTED, "diamond", 4, [f"public split: {mean:.1f} %"])

    legend = [
        Entry("random splits, mean", palette.INK, "dot"),
        Entry("± standard deviation over splits", palette.FIRST, "line"),
        Entry("public split, mean", palette.MUTED, "diamond"),
    ]
    public = {place: cell for place, cell in evidence.cells["table2"].items() if place[:2] in cells}
    return _by_method(cells, evidence.scale.citation, draw, legend, beside=list(public.values()))


def _by_method(
    cells: Mapping[tuple[str, str], PaperCell],
    datasets: Sequence[str],
    draw: Callable[[Panel, int, str, str], None],
    legend: Sequence[Entry],
    beside: Iterable[PaperCell] = (),
) -> Figure:
    """Draw a panel per dataset with a row per method; H-GCN's rows are shaded. Axes hold the cells `beside`, too."""
    panels = []
    for dataset in datasets:
        ran_on = {arm: {name for one, name in cells if one == arm} for arm in METHODS}
        arms = [  # a recipe for one dataset has no row in the panels of the others
            arm for arm, names in ran_on.items() if dataset in names or len(names) > 1
        ]
        if not arms:
            continue
        found = [cell for cell in (*cells.values(), *beside) if cell.cell.dataset == dataset]
        values = [value for cell in found if cell.done for value in _ends(cell)]
        values += [100 * cell.printed.mean for cell in found if cell.printed is not None]
        rows = axes.rows([variant_title(arm)[:1].upper() + variant_title(arm)[1:] for arm in arms])
        x = axes.span(values, "test accuracy, %")
        panel = Panel(x, rows, title=DATASET_TITLES[dataset], height=ROW * len(arms), grid="x")
        for place, arm in enumerate(arms):
            if arm.startswith("hgcn"):
                panel.bar((x.low, x.high), place, ROW, palette.LINE, opacity=0.5)
            draw(panel, place, arm, dataset)
        panels.append(panel)
    return Figure(panels, legend, columns=2)


def _mean_and_spread(panel: Panel, place: int, cell: PaperCell, colour: str, name: str) -> None:
    low, high = _ends(cell)
    mean = _percent(cell.accuracy.mean)
    panel.across(low, high, place, colour, 2.2)
    panel.dots([mean], [place], colour, size=4.5, tips=[f"{name}: {mean:.1f} ± {high - mean:.1f} %"])


def _ends(cell: PaperCell) -> tuple[float, float]:
    mean, spread = _percent(cell.accuracy.mean), _percent(cell.accuracy.std)
    return mean - spread, mean + spread


def varied_figure(evidence: Evidence, experiment: str, what: str, best: dict[str, int]) -> Figure | None:
    """Draw accuracy over the values of a setting, one panel per dataset, with the paper's best value."""
    if not any(cell.done for cell in evidence.cells[experiment].values()):
        return None
    panels = []
    for name in evidence.scale.datasets:
        cells, printed = evidence.varied(experiment, name), 100 * TABLE2["hgcn"][name].mean
        done = {value: cell for value, cell in cells.items() if cell.done}
        far = None  # the value whose mean would flatten the others into a line, if there is one
        ranked = sorted((_percent(cell.accuracy.mean), value) for value, cell in done.items())
        if len(ranked) > 2:
            (lowest, value), (second, _), (highest, _) = ranked[0], ranked[1], ranked[-1]
            far = value if second - lowest > FAR * max(max(highest, printed) - second, 1.0) else None
        shown = {value: cell for value, cell in done.items() if value != far}
        heights = [end for cell in shown.values() for end in _ends(cell)]
        panel = Panel(
            axes.whole_numbers(list(cells), what),
            axes.span([*heights, printed], "test accuracy, %"),
            title=DATASET_TITLES[name],
            height=180,
        )
        _error_bars(panel, list(shown), list(shown.values()), palette.FIRST, "H-GCN")
        panel.dots(
            [best[name]], [printed], palette.INK, "star", 6, [f"the paper's best: {best[name]}, {printed:.1f} %"]
        )
        if far is not None:
            mean, spread = (_percent(getattr(done[far].accuracy, part)) for part in ("mean", "std"))
            panel.text(
                far, panel.y.low, f"↓ {mean:.1f} ± {spread:.1f}", anchor="start", dx=-14, dy=-8, colour=palette.FIRST
            )
        panels.append(panel)
    legend = [
        Entry("H-GCN, mean ± standard deviation", palette.FIRST, "line"),
        Entry("the paper's best", palette.INK, "star"),
    ]
    return Figure(panels, legend, columns=2)


def _percent(fraction: float | None) -> float:
    return 100 * (fraction or 0.0)


def _error_bars(panel: Panel, x: Sequence[float], cells: Sequence[PaperCell], colour: str, name: str) -> None:
    """Draw a line through the means, with error bars of one standard deviation over all runs."""
    means = [_percent(cell.accuracy.mean) for cell in cells]
    panel.line(x, means, colour)
    for place, cell in zip(x, cells, strict=True):
        panel.up(place, *_ends(cell), colour)
    tips = [
        f"{name}: {mean:.1f} ± {_percent(cell.accuracy.std):.1f} %" for mean, cell in zip(means, cells, strict=True)
    ]
    panel.dots(x, means, colour, size=4, tips=tips)


def few_labels_figure(evidence: Evidence) -> Figure | None:
    """Draw accuracy over labels per class: the paper's, ours with all validation labels, and ours with few."""
    if not any(cell.done for cell in evidence.cells["table3"].values()):
        return None
    counts = sorted(evidence.scale.labels)
    titles = {
        "paper": "The paper",
        "": "Ours, 500 validation labels",
        " small": "Ours, validation as small as training",
    }
    found = [evidence.table3(arm, f"{count}{end}") for arm in FEW for count in counts for end in ("", " small")]
    heights = [end for cell in found if cell.done for end in _ends(cell)]
    heights += [100 * cell.printed.mean for cell in found if cell.printed]
    x = Axis(counts[0] - 1.5, counts[-1] + 1.5, tuple(counts), tuple(map(str, counts)), "labels per class")
    y = axes.span(heights, "test accuracy, %")
    panels = []
    for end, title in titles.items():
        panel = Panel(x, y, title=title, height=230)
        for place, arm in enumerate(FEW):
            if end == "paper":
                printed = {count: one.mean for count in counts if (one := evidence.table3(arm, str(count)).printed)}
                means = [100 * mean for mean in printed.values()]
                panel.line(printed, means, method_colour(arm))
                tips = [f"{variant_title(arm)}: {mean:.1f} %" for mean in means]
                panel.dots(printed, means, method_colour(arm), size=4, tips=tips)
                continue
            cells = {count: cell for count in counts if (cell := evidence.table3(arm, f"{count}{end}")).done}
            places = [count + APART * (place - 2.5) for count in cells]
            _error_bars(panel, places, list(cells.values()), method_colour(arm), variant_title(arm))
        panels.append(panel)
    return Figure(panels, [Entry(variant_title(arm), method_colour(arm)) for arm in FEW], columns=3)


def field_figure(evidence: Evidence) -> Figure | None:
    """Draw the receptive field: H-GCN by levels, a flat network of as many layers, and GCN's two layers."""
    found = evidence.by_dataset("figure-receptive-field")
    known = {name: one for name, one in found.items() if one is not None}
    if not known:
        return None
    panels = []
    for name, one in known.items():
        levels = list(range(one["depth"] + 1))
        low, median, high, flat = (
            [100 * point[what] / one["nodes"] for point in one[network]]
            for network, what in (("hgcn", "low"), ("hgcn", "median"), ("hgcn", "high"), ("flat", "median"))
        )
        gcn = 100 * one["gcn"]["median"] / one["nodes"]
        y = axes.powers([*low, *high, *flat, gcn], "receptive field, % of nodes")
        panel = Panel(axes.whole_numbers(levels, "levels"), y, title=DATASET_TITLES[name], height=180)
        panel.band(levels, low, high, method_colour("hgcn"), 0.13)
        panel.line(levels, median, method_colour("hgcn"), "H-GCN")
        panel.line(levels, flat, palette.SECOND, "without coarsening", DASH)
        panel.dots(levels, median, method_colour("hgcn"), size=4)
        panel.rule(y=gcn, colour=method_colour("gcn"), dash=DOTS, tip=f"GCN, 2 layers: {gcn:.2g} %")
        panels.append(panel)
    legend = [
        Entry("H-GCN, median", method_colour("hgcn"), "line"),
        Entry("middle 90 % of the nodes", method_colour("hgcn"), "band"),
        Entry("as many layers without coarsening", palette.SECOND, "dashed"),
        Entry("GCN, 2 layers", method_colour("gcn"), "dashed"),
    ]
    return Figure(panels, legend, columns=2)


def cost_figure(evidence: Evidence) -> Figure | None:
    """Draw seconds over nodes on logarithmic axes, with lines of slope 1 for comparison."""
    lines = {
        "coarsen": ("coarsening, 4 levels", palette.VIOLET),
        "hgcn_epoch": ("H-GCN, epoch", method_colour("hgcn")),
        "gcn_epoch": ("GCN, epoch", method_colour("gcn")),
        "gat_epoch": ("GAT, epoch", method_colour("gat")),
    }
    points = {what: found for what in lines if (found := evidence.seconds(what)[0])}
    if not points:
        return None
    every = [point for found in points.values() for point in found]
    x, y = axes.powers([n for n, _ in every], "nodes"), axes.powers([s for _, s in every], "seconds")
    panel = Panel(x, y, height=300)
    for slope in (1e-7, 1e-6, 1e-5, 1e-4):
        panel.line([x.low, x.high], [slope * x.low, slope * x.high], palette.MUTED, dash=DOTS, width=1)
    for what, found in points.items():
        name, colour = lines[what]
        panel.line([n for n, _ in found], [s for _, s in found], colour, name)
        panel.dots([n for n, _ in found], [s for _, s in found], colour, size=4)
    legend = [Entry(name, colour, "line") for what, (name, colour) in lines.items() if what in points]
    return Figure([panel], [*legend, Entry("slope 1: twice the nodes, twice the time", palette.MUTED, "dashed")])


TOY_PLACES = {"A": (0.0, 0.35), "B": (-1.0, 1.0), "D": (-1.0, -0.3), "C": (1.0, 1.0), "E": (1.0, -0.3)}


def toy_figure(found: Mapping[str, Any]) -> Figure:
    """Draw the toy graph, the two steps of grouping, and the coarser graph."""
    names, edges = found["names"], [tuple(edge) for edge in found["edges"]]
    steps = {
        "The graph": range(len(names)),
        "Same neighbours (SEG)": found["equivalence"],
        "Most similar (SSG)": found["groups"],
    }

    def empty(title: str) -> Panel:
        return Panel(Axis(-1.5, 1.5, (), ()), Axis(-0.8, 1.4, (), ()), title=title, height=150)

    panels = []
    for title, groups in steps.items():
        panel = empty(title)
        for number, group in enumerate(members(names, groups)):
            if len(group) > 1:
                x, y = zip(*(TOY_PLACES[name] for name in group), strict=True)
                panel.line(x, y, palette.CLASS_COLOURS[number % 6], width=34, opacity=0.3)
        _draw_graph(panel, {name: TOY_PLACES[name] for name in names}, edges)
        panels.append(panel)
    labels, matrix = members(names, found["groups"]), np.array(found["coarse"])
    places = {label: tuple(np.mean([TOY_PLACES[name] for name in label], axis=0)) for label in labels}
    merged = [(labels[i], labels[j], matrix[i, j]) for i, j in zip(*np.nonzero(np.triu(matrix, 1)), strict=True)]
    coarse = empty("The coarser graph")
    _draw_graph(coarse, places, merged)
    for label, weight, loop in zip(labels, found["node_weight"], matrix.diagonal(), strict=True):
        x, y = places[label]
        coarse.text(x, y, f"weight {weight}", dy=28)
        if loop:
            coarse.text(x, y, f"loop {loop:g}", dy=43)
    return Figure([*panels, coarse], columns=4)


def _draw_graph(panel: Panel, places: Mapping[str, tuple[float, float]], edges: Sequence[tuple[Any, ...]]) -> None:
    for one, other, weight in edges:
        (x, y), (to_x, to_y) = places[one], places[other]
        panel.line([x, to_x], [y, to_y], palette.MUTED)
        middle = 0.45 * x + 0.55 * to_x, 0.45 * y + 0.55 * to_y
        panel.dots([middle[0]], [middle[1]], palette.PAPER, size=8)
        panel.text(*middle, f"{weight:g}", colour=palette.INK)
    for name, (x, y) in places.items():
        panel.dots([x], [y], palette.INK, "ring", 11)
        panel.text(x, y, name, colour=palette.INK, strong=True)
