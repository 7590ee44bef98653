"""Write docs/benchmarks.md: a page of plots from the files in benchmarks/results.

    python benchmarks/plots.py

Nothing is measured. A plot without results is left out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness import HERE, provenance, read_results
from hiergcn.files import written_whole
from hiergcn.report.svg import FIRST, MUTED, SECOND, STYLE, legend_above, new_figure

PAGE = HERE.parent / "docs" / "benchmarks.md"
PICTURES = PAGE.parent / "images" / "benchmarks"
THIRD, FOURTH = "#009e73", "#cc79a7"  # Okabe and Ito's green and purple
COLOURS = {"H-GCN": FIRST, "GAT": SECOND, "GCN": THIRD, "Graph U-Net": FOURTH}
HATCHED = " without input dropout"  # hatched, in the network's colour
GB = 1e9

Result = dict[str, Any]


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    text = [
        "# Speed and memory",
        "",
        "Written by `python benchmarks/plots.py` from [benchmarks/results](../benchmarks/results).",
        "Tables and commands are in [benchmarks/README.md](../benchmarks/README.md).",
    ]
    with mpl.rc_context(STYLE | {"svg.hashsalt": "hiergcn", "text.parse_math": True}):
        for plot in PLOTS:
            results = read_results(plot.results)
            if not results:
                continue
            file = f"{plot.results.rstrip('-')}.svg"
            with written_whole(PICTURES / file) as part:
                plot.draw(results).savefig(part, format="svg", metadata={"Date": None})
            text += ["", f"## {plot.title}", "", f"![{plot.title}](images/benchmarks/{file})", "", plot.caption, ""]
            text += dict.fromkeys(f"- {provenance(result['environment'])}" for result in results)
    with written_whole(PAGE) as part:
        part.write_text("\n".join([*text, ""]), encoding="utf-8")
    print(PAGE)


def coarsening(results: list[Result]) -> Figure:
    """Draw wall-clock and CPU seconds; squares are the graph with a hundred million edges."""
    figure = new_figure(6.4, 3.6)
    axes = figure.subplots()
    points = next(result for result in results if "scaling" in result)["scaling"]["points"]
    edges = [point["edges"] for point in points]
    for key, colour, label in (("median", FIRST, "wall clock, two threads"), ("cpu", SECOND, "CPU time")):
        axes.plot(edges, [point[key] for point in points], "o-", color=colour, label=label, markersize=4)
    for run in [result["runs"][0] for result in results if "runs" in result]:
        axes.plot(run["edges"][0], run["seconds"], "s", color=FIRST, label="100 million edges")
        axes.plot(run["edges"][0], run["cpu"], "s", color=SECOND)
    logarithmic(axes, "edges", "seconds")
    legend_above(figure, axes)
    return figure


def scaling(results: list[Result]) -> Figure:
    """Draw CPU time and memory of a training step by the number of edges."""
    figure = new_figure(8.4, 3.6)
    for axes, key, unit, what in zip(
        figure.subplots(1, 2),
        ("cpu", "memory"),
        (1.0, GB),
        ("CPU seconds per step", "memory beyond the graph, GB"),
        strict=True,
    ):
        for network in dict.fromkeys(point["network"] for point in results[0]["points"]):
            points = [point for point in results[0]["points"] if point["network"] == network]
            edges, values = ([point[name] for point in points] for name in ("edges", key))
            axes.plot(edges, np.divide(values, unit), "o-", color=COLOURS[network], label=network, markersize=4)
        logarithmic(axes, "edges", what)
    legend_above(figure, axes)
    return figure


def train_step(results: list[Result]) -> Figure:
    """Draw a group of bars per dataset, with quartiles and the roofline of H-GCN."""
    parts = [part for part in results[0]["parts"] if part["threads"] == 1]
    figure = new_figure(8.4, 3.4)
    for axes, kind in zip(figure.subplots(1, 2), ("training", "evaluation"), strict=True):
        networks = list(parts[0][kind]["networks"])
        width = 0.8 / len(networks)
        for i, network in enumerate(networks):
            times = [part[kind]["networks"][network] for part in parts]
            middle = np.array([time["median"] for time in times])
            quartiles = [middle - [time["low"] for time in times], [time["high"] for time in times] - middle]
            at = np.arange(len(parts)) + (i - (len(networks) - 1) / 2) * width
            whiskers = {"elinewidth": 1, "ecolor": MUTED}
            axes.bar(
                at,
                1000 * middle,
                width,
                yerr=1000 * np.array(quartiles),
                color=COLOURS[network.removesuffix(HATCHED)],
                hatch="////" if network.endswith(HATCHED) else "",
                edgecolor="white",
                label={f"GAT{HATCHED}": "hatched:" + HATCHED, f"GCN{HATCHED}": None}.get(network, network),
                error_kw=whiskers,
            )
        for i, part in enumerate(parts):
            least = 1000 * part[kind]["roofline"]["seconds"]
            axes.plot(
                [i - 0.45, i + 0.45],
                [least, least],
                color=MUTED,
                linestyle="--",
                label="roofline of H-GCN" if not i else None,
            )
        axes.set_xticks(range(len(parts)), [dataset_name(part) for part in parts])
        axes.set_yscale("log")
        axes.set_ylabel("milliseconds")
        axes.set_title(f"{kind} step")
    legend_above(figure, axes)
    return figure


def memory(results: list[Result]) -> Figure:
    """Draw planned against measured memory."""
    figure = new_figure(4.6, 4.0)
    axes = figure.subplots()
    fits = results[0]["fits"]
    for method in dict.fromkeys(fit["method"] for fit in fits):
        mine = [fit for fit in fits if fit["method"] == method]
        colour = {"hgcn": FIRST, "gat": SECOND, "gcn": THIRD, "hgcn-plus": FOURTH}[method]
        axes.plot(
            [fit["peak"] / GB for fit in mine], [fit["planned"] / GB for fit in mine], "o", color=colour, label=method
        )
    span = np.array([0.5, 1.2]) * [min(fit["peak"] for fit in fits) / GB, max(fit["peak"] for fit in fits) / GB]
    axes.plot(span, span, color=MUTED, linewidth=1, label="equal")
    axes.fill_between(span, 0.7 * span, 1.5 * span, color=MUTED, alpha=0.15, linewidth=0)
    logarithmic(axes, "measured peak, GB", "planned, GB")
    legend_above(figure, axes)
    return figure


def replicas(results: list[Result]) -> Figure:
    """Draw the time of one seed and of all seeds in parallel."""
    figure = new_figure(5.4, 3.2)
    axes = figure.subplots()
    parts = results[0]["parts"]
    seeds = parts[0]["seeds"]
    for shift, key, colour, label in (
        (-0.2, "one", FIRST, "one seed"),
        (0.2, "all", SECOND, f"{seeds} seeds in parallel"),
    ):
        axes.bar(np.arange(len(parts)) + shift, [part[key]["median"] for part in parts], 0.4, color=colour, label=label)
    axes.set_xticks(range(len(parts)), [dataset_name(part) for part in parts])
    axes.set_ylabel(f"seconds, {parts[0]['epochs']} epochs")
    legend_above(figure, axes)
    return figure


def large(results: list[Result]) -> Figure:
    """Draw the time per epoch and the memory of each large graph."""
    results.sort(key=lambda run: (run["nodes"], run["device"]))
    names = [f"{run['nodes'] / 1e6:g} M nodes, {run['edges'] / 1e6:.0f} M edges\n{place(run)}" for run in results]
    figure = new_figure(8.4, 1.0 + 0.55 * len(results))
    left, right = figure.subplots(1, 2, sharey=True)
    left.barh(names, [run["epoch_seconds"] for run in results], color=FIRST)
    left.set_xscale("log")
    left.set_xlabel("seconds per epoch")
    right.barh(names, [(run["gpu_memory"] or run["peak"]) / GB for run in results], color=SECOND)
    right.set_xlabel("peak memory, GB")
    left.invert_yaxis()
    for axes in (left, right):
        axes.bar_label(axes.containers[0], fmt="%.3g", padding=3)
        axes.margins(x=0.18)
    return figure


def place(run: Result) -> str:
    changed = ", ".join(f"{name}={value}" for name, value in run["settings"].items())
    device = run["device"].removeprefix("NVIDIA ") if run["gpu_memory"] else f"CPU, {run['threads']} threads"
    return f"{device}{', ' + changed if changed else ''}"


def dataset_name(part: Result) -> str:
    """Return the dataset's name, with a note if its settings are not the paper's."""
    name = {"nell": "NELL"}.get(part["dataset"], part["dataset"].capitalize())
    return name if part.get("preset", "paper") == "paper" else f"{name}\n(recipe)"


def logarithmic(axes: Axes, across: str, up: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(across)
    axes.set_ylabel(up)


@dataclass(frozen=True)
class Plot:
    """A plot of the page."""

    results: str  # prefix of its results' file names
    title: str
    caption: str
    draw: Callable[[list[Result]], Figure]


PLOTS = [
    Plot(
        "train_step",
        "Training step on a CPU",
        "One thread; bars are medians, whiskers quartiles. The dashed line is the roofline, the least time for H-GCN's "
        "memory traffic and arithmetic. GCN and GAT spend most of their time on dropout of the dense input features; "
        "the hatched bars leave it out.",
        train_step,
    ),
    Plot(
        "replicas",
        "Seeds in parallel on a GPU",
        "H-GCN with the paper's settings, validation after every epoch.",
        replicas,
    ),
    Plot("scaling", "Scaling of training", "Planted graphs, 9 edges per node, 32 features; one thread.", scaling),
    Plot("coarsening", "Scaling of coarsening", "Four levels of planted graphs.", coarsening),
    Plot(
        "large-",
        "Large graphs",
        "H-GCN with the paper's settings, 100 dense features. An epoch is a step and the validation after it.",
        large,
    ),
    Plot(
        "memory",
        "Planned and measured memory",
        "Each point is a fit; the band is 0.7 to 1.5 times the measured peak.",
        memory,
    ),
]

if __name__ == "__main__":
    main()
