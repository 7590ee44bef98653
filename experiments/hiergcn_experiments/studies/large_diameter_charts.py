"""Figures of the benchmark of graphs of large diameter."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hiergcn.research import Axis, Entry, Figure, Panel, axes, method_colour, method_title, palette
from hiergcn_experiments.paper.charts import DASH, DOTS, ROW
from hiergcn_experiments.studies import large_diameter as study
from hiergcn_experiments.studies.large_diameter import BASE, BLOCKED, RANDOM, dataset_title, variant_title

if TYPE_CHECKING:
    from hiergcn_experiments.studies.large_diameter_page import RangeResults

KINDS = {RANDOM: "random split", BLOCKED: "blocked split"}
LABEL_COLOURS = {"label-propagation": palette.GREEN, "harmonic": palette.PINK}
CHANCE = 10.0
"""Per cent, of ten classes of equal size."""
CURVE = 3
"""Fewest numbers of levels that make a curve."""
LEAST = 1e-6
"""Smallest share of the influence that is drawn."""


def headline_figure(results: "RangeResults", rows: Sequence[tuple[str, Sequence[str]]]) -> Figure | None:
    """Draw accuracy on random and on blocked splits, a panel per graph and a row per method.

    Args:
        results: all results.
        rows: title of each, and its variant on each (dataset, kind), random first.
    """
    titles = [title for title, _ in rows]
    panels = []
    for at, dataset in enumerate(results.datasets):
        x = Axis(0, 100, (0.0, 20.0, 40.0, 60.0, 80.0), ("0", "20", "40", "60", "80"), "test accuracy, %")
        panel = Panel(x, axes.rows(titles), title=dataset_title(dataset), height=ROW * len(titles), grid="x")
        panel.rule(x=CHANCE, colour=palette.MUTED, dash=DOTS, tip="chance")
        for place, (title, names) in enumerate(rows):
            means = [results.mean(names[at + k * len(results.datasets)], dataset, kind) for k, kind in enumerate(KINDS)]
            shown = [100 * mean for mean in means if mean is not None]
            if len(shown) == 2:
                panel.across(min(shown), max(shown), place, palette.LINE, 2.0)
            for mean, colour, split in zip(means, (palette.BLUE, palette.VERMILION), KINDS.values(), strict=True):
                if mean is not None:
                    panel.dots([100 * mean], [place], colour, size=5, tips=[f"{title}, {split}: {100 * mean:.1f} %"])
        panels.append(panel)
    if not panels:
        return None
    legend = [
        Entry(title, colour) for title, colour in zip(KINDS.values(), (palette.BLUE, palette.VERMILION), strict=True)
    ]
    return Figure(panels, [*legend, Entry("chance", palette.MUTED, "dashed")], columns=1)


def depth_figure(results: "RangeResults") -> Figure | None:
    """Draw accuracy over layers: flat networks, and H-GCN whose L levels have 2 L + 1 layers."""
    panels = []
    for kind, title in KINDS.items():
        for dataset in results.datasets:
            curves = {name: _means(results, names, dataset, kind) for name, names in _curves().items()}
            labels = {one.name: results.mean(one.name, dataset, kind) for one in study.LABELS_ALONE}
            heights = [value for curve in curves.values() for value in curve.values()]
            heights += [100 * value for value in labels.values() if value is not None]
            if len(curves["hgcn"]) < CURVE:
                continue
            x = Axis(0, 22, tuple(map(float, (1, 5, 9, 13, 17, 21))), ("1", "5", "9", "13", "17", "21"), "layers")
            y = axes.span(heights, "test accuracy, %")
            panel = Panel(x, y, title=f"{dataset_title(dataset)}, {title}", height=210)
            for name, value in labels.items():
                if value is not None:
                    tip = f"{method_title(name)}: {100 * value:.1f} %"
                    panel.rule(y=100 * value, colour=LABEL_COLOURS[name], dash=DOTS, tip=tip)
            for name, curve in curves.items():
                _curve(panel, curve, method_colour(name), method_title(name))
            panels.append(panel)
    if not panels:
        return None
    legend = [Entry(method_title(name), method_colour(name), "line") for name in _curves()]
    legend += [Entry(method_title(name), colour, "dashed") for name, colour in LABEL_COLOURS.items()]
    return Figure(panels, legend, columns=min(len(results.datasets), 3))


def _curves() -> dict[str, dict[int, str]]:
    """Return the variants of each method by layers."""
    found = {"hgcn": {2 * levels + 1: one.name for levels, one in zip(study.LEVELS, study.BY_LEVELS, strict=True)}}
    names = iter(study.BY_DEPTH)
    return found | {method: {layers: next(names).name for layers in study.DEPTHS} for method in study.FLAT}


def _means(results: "RangeResults", names: Mapping[int, str], dataset: str, kind: str) -> dict[int, float]:
    known = {layers: results.mean(name, dataset, kind) for layers, name in names.items()}
    return {layers: 100 * mean for layers, mean in known.items() if mean is not None}


def _curve(panel: Panel, curve: Mapping[int, float], colour: str, name: str) -> None:
    panel.line(list(curve), list(curve.values()), colour, name)
    tips = [f"{name}, {layers} layers: {mean:.1f} %" for layers, mean in curve.items()]
    panel.dots(list(curve), list(curve.values()), colour, size=4, tips=tips)


def influence_figure(results: "RangeResults") -> Figure | None:
    """Draw the share of the influence that comes from beyond k hops."""
    found = results.influence
    datasets = [dataset for dataset, arm in found if arm == BASE.name]
    if not datasets:
        return None
    colours = dict(zip(dict.fromkeys(arm for _, arm in found), _hues(), strict=False))
    panels = []
    for dataset in datasets:
        curves = {arm: _beyond(values) for (where, arm), values in found.items() if where == dataset}
        every = [value for curve in curves.values() for value in curve if value > LEAST]
        panel = Panel(
            axes.whole_numbers([0, study.FARTHEST], "hops k"),
            axes.powers([*every, 1.0], "influence from beyond k hops"),
            title=dataset_title(dataset),
            height=240,
        )
        for arm, curve in curves.items():
            shown = [(k, value) for k, value in enumerate(curve) if value > LEAST]
            name, dash = influence_title(arm), "" if arm in (BASE.name, study.ELSEWHERE_FEATURES[0].name) else DASH
            panel.line([k for k, _ in shown], [value for _, value in shown], colours[arm], name, dash)
        panels.append(panel)
    return Figure(panels, [Entry(influence_title(arm), colour, "line") for arm, colour in colours.items()], columns=2)


def influence_title(arm: str) -> str:
    """Return the name of a network beside those of other families."""
    title = variant_title(arm) + (", own weights" if arm in {one.name for one in study.ELSEWHERE} else "")
    return title if title.startswith(tuple(map(method_title, (*study.FLAT, "hgcn")))) else f"H-GCN, {title}"


def _hues() -> Sequence[str]:
    return (
        method_colour("gcn"),
        palette.VERMILION,
        method_colour("graphsage"),
        method_colour("gcnii"),
        palette.BLUE,
        palette.MUTED,
        palette.SKY,
    )


def _beyond(influence: Sequence[float]) -> list[float]:
    """Return the share of the total influence that comes from farther than k hops, for each k."""
    total = sum(influence) or 1.0
    return [sum(influence[k + 1 :]) / total for k in range(len(influence))]


def time_figure(results: "RangeResults") -> Figure | None:
    """Draw accuracy on random splits over the seconds of one training, of the networks without columns of labels."""
    arms = {name: list(names.values()) for name, names in _curves().items()}
    panels = []
    for dataset in results.datasets:
        points = {name: _points(results, names, dataset) for name, names in arms.items()}
        every = [point for found in points.values() for point in found]
        if not every:
            continue
        x = axes.powers([seconds for seconds, _, _ in every], "seconds per network")
        y = axes.span([accuracy for _, accuracy, _ in every], "test accuracy, %")
        panel = Panel(x, y, title=dataset_title(dataset), height=210)
        for name, found in points.items():
            tips = [f"{variant_title(one)}: {accuracy:.1f} %, {seconds:.2g} s" for seconds, accuracy, one in found]
            seconds, heights, _ = zip(*found, strict=True) if found else ((), (), ())
            panel.dots(seconds, heights, method_colour(name), size=4.5, tips=tips)
        panels.append(panel)
    if not panels:
        return None
    return Figure(panels, [Entry(method_title(name), method_colour(name), "dot") for name in arms], columns=3)


def _points(results: "RangeResults", arms: Sequence[str], dataset: str) -> list[tuple[float, float, str]]:
    """Return seconds, accuracy in % and name of each arm that has runs."""
    cells = [(arm, cell) for arm in arms if (cell := results.cell(arm, dataset, RANDOM))]
    return [(cell.seconds, 100 * (cell.accuracy.mean or 0.0), arm) for arm, cell in cells if cell.seconds]
