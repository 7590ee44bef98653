"""Write docs/benchmarks.md: a page of plots from the files in benchmarks/results.

    python benchmarks/plots.py

Nothing is measured. A plot without results is left out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from first_use import CORA
from harness import HERE, provenance, read_results
from hiergcn.files import written_whole
from hiergcn.reports import axes
from hiergcn.reports.palette import FIRST, MUTED, SECOND, method_colour
from hiergcn.reports.panels import Entry, Figure, Panel

PAGE = HERE.parent / "docs" / "benchmarks.md"
PICTURES = PAGE.parent / "images" / "benchmarks"
METHODS = {"H-GCN": "hgcn", "GAT": "gat", "GCN": "gcn", "Graph U-Net": "graph-unet"}
WITHOUT = " without input dropout"
ROW = 26
"""Height of a row in pixels."""
GB = 1e9

Result = dict[str, Any]


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    text = [
        "# Speed and memory",
        "",
        "| question | answer |",
        "|---|---|",
        *(
            f"| {question} | {answer(read_results(name)[0])} |"
            for question, name, answer in QUESTIONS
            if read_results(name)
        ),
    ]
    for plot in PLOTS:
        results = read_results(plot.results)
        if not results:
            continue
        file = f"{plot.results.rstrip('-')}.svg"
        plot.draw(results).save(PICTURES / file)
        text += ["", f"## {plot.title}", "", *([*plot.table(results), ""] if plot.table else [])]
        text += [f"![{plot.title}](images/benchmarks/{file})", "", plot.caption, ""]
        text += dict.fromkeys(f"- {provenance(result['environment'])}" for result in results)
    text += [
        "",
        "`benchmarks/README.md` has the commands and all tables; `python benchmarks/plots.py` writes this page.",
    ]
    with written_whole(PAGE) as part:
        part.write_text("\n".join([*text, ""]), encoding="utf-8")
    print(PAGE)


def first_fit(result: Result) -> str:
    """Name the import of torch of the same run, which every program with torch needs."""
    cases = {name.removeprefix("this commit, "): case["seconds"] for name, case in result["cases"].items()}
    torch, later = cases["import torch"], cases["later"]
    text = f"{later:.1f} s from the shell to the report, of which `import torch` takes {torch:.1f}"
    return f"{text}; on a fresh machine, the first time, {cases['fresh']:.1f} s; Cora takes {cases[CORA]:.0f} s"


def step(result: Result) -> str:
    parts = [part for part in result["parts"] if part["threads"] == 1]
    ratios = [part["training"]["ratios"][f"GCN{WITHOUT}"]["median"] for part in parts]
    verdict = "Yes" if max(ratios) < 1 else "No" if min(ratios) > 1 else "It depends on the graph"
    factor = f"{min(ratios):.1f} to {max(ratios):.1f} times as long"
    return f"{verdict}: on {len(parts)} graphs a step of H-GCN, nine layers, takes {factor} as one of GCN, two layers"


def step_table(results: list[Result]) -> list[str]:
    """Return a table of a training step of H-GCN and of PyG's GCN."""
    rows = []
    for part in (part for part in results[0]["parts"] if part["threads"] == 1):
        each = [part["training"]["networks"][name]["median"] for name in ("H-GCN", f"GCN{WITHOUT}", "GCN")]
        figures = [f"{1000 * seconds:.1f}" for seconds in each]
        ratio = part["training"]["ratios"][f"GCN{WITHOUT}"]["median"]
        rows.append(f"| {dataset_name(part)} | {' | '.join(figures)} | {ratio:.2f} |")
    return [
        "| ms per step | H-GCN, nine layers | GCN, two layers | GCN with dropout of its dense input | H-GCN / GCN |",
        "|---|---|---|---|---|",
        *rows,
    ]


def growth(result: Result) -> str:
    ours, theirs = (result["exponents"][name] for name in ("H-GCN", "GCN"))
    return f"Nearly: a step's time grows as edges^{ours:.2f}, PyG's GCN's as edges^{theirs:.2f}"


def large_coarsening(result: Result) -> str:
    run = result["runs"][0]
    edges, memory = run["edges"][0] / 1e6, run["peak_bytes"] / GB
    return f"{run['seconds']:.0f} s for {edges:.0f} million edges with {run['threads']} threads, in {memory:.1f} GB"


def reading(result: Result) -> str:
    each = [f"{run['seconds']:.1f} s with {run['reader']}" for run in result["runs"] if run["ids"] == "text"]
    size = f"{result['nodes'] / 1e6:.0f} million nodes and {result['edges'] / 1e6:.0f} million edges with text ids"
    return f"{size} take {_listed(each)}"


def _listed(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


QUESTIONS: tuple[tuple[str, str, Callable[[Result], str]], ...] = (
    ("How long does a fit of 300 nodes take?", "first_use", first_fit),
    ("Is H-GCN faster than GCN?", "train_step", step),
    ("Is its cost linear in the edges?", "scaling", growth),
    ("How fast is coarsening?", "coarsening_large", large_coarsening),
    ("How fast are large files read?", "read_csv", reading),
)
"""Question, the result that answers it, and the answer."""


def coarsening(results: list[Result]) -> Figure:
    """Draw wall-clock and CPU seconds; diamonds are the graph with a hundred million edges."""
    points = next(result for result in results if "scaling" in result)["scaling"]["points"]
    large = [result["runs"][0] for result in results if "runs" in result]
    edges = [point["edges"] for point in points]
    every = [point[key] for point in points for key in ("median", "cpu")]
    every += [run[key] for run in large for key in ("seconds", "cpu")]
    x = axes.powers([*edges, *(run["edges"][0] for run in large)], "edges")
    panel = Panel(x, axes.powers(every, "seconds"), height=260)
    for key, other, colour in (("median", "seconds", FIRST), ("cpu", "cpu", SECOND)):
        values = [point[key] for point in points]
        panel.line(edges, values, colour)
        panel.dots(edges, values, colour, size=4)
        panel.dots([run["edges"][0] for run in large], [run[other] for run in large], colour, "diamond", 5)
    legend = [Entry("wall clock, two threads", FIRST, "line"), Entry("CPU time", SECOND, "line")]
    return Figure([panel], [*legend, *([Entry("100 million edges", MUTED, "diamond")] if large else [])])


def scaling(results: list[Result]) -> Figure:
    """Draw CPU time and memory of a training step by the number of edges."""
    points = results[0]["points"]
    networks = list(dict.fromkeys(point["network"] for point in points))
    panels = []
    for key, unit, what in (("cpu", 1.0, "CPU seconds per step"), ("memory", GB, "memory beyond the graph, GB")):
        x = axes.powers([point["edges"] for point in points], "edges")
        panel = Panel(x, axes.powers([point[key] / unit for point in points], what), height=230)
        for network in networks:
            own = [point for point in points if point["network"] == network]
            edges, values = [point["edges"] for point in own], [point[key] / unit for point in own]
            panel.line(edges, values, colour_of(network))
            panel.dots(edges, values, colour_of(network), size=4)
        panels.append(panel)
    return Figure(panels, [Entry(network, colour_of(network), "line") for network in networks], columns=2)


def train_step(results: list[Result]) -> Figure:
    """Draw the median and the quartiles of each network on each dataset, with the roofline of H-GCN."""
    parts = [part for part in results[0]["parts"] if part["threads"] == 1]
    panels = []
    for part in parts:
        for kind in ("training", "evaluation"):
            times, least = part[kind]["networks"], 1000 * part[kind]["roofline"]["seconds"]
            every = [1000 * time[end] for time in times.values() for end in ("low", "high")]
            x = axes.powers([*every, least], "milliseconds")
            title = f"{dataset_name(part)}, {kind} step"
            panel = Panel(x, axes.rows(list(times)), title=title, height=ROW * len(times), grid="x")
            panel.rule(x=least, colour=colour_of("H-GCN"), dash="5 4")
            for place, (network, time) in enumerate(times.items()):
                colour, shape = colour_of(network), "ring" if network.endswith(WITHOUT) else "dot"
                panel.across(1000 * time["low"], 1000 * time["high"], place, colour, 2.4)
                panel.dots([1000 * time["median"]], [place], colour, shape, 5)  # type: ignore[arg-type]
            panels.append(panel)
    legend = [
        Entry("median", MUTED),
        Entry("quartiles", MUTED, "line"),
        Entry("without input dropout", MUTED, "ring"),
        Entry("roofline of H-GCN", colour_of("H-GCN"), "dashed"),
    ]
    return Figure(panels, legend, columns=2)


def memory(results: list[Result]) -> Figure:
    """Draw planned against measured memory."""
    fits = results[0]["fits"]
    ends = [0.5 * min(fit["peak"] for fit in fits) / GB, 1.2 * max(fit["peak"] for fit in fits) / GB]
    planned = [fit["planned"] / GB for fit in fits]
    panel = Panel(axes.powers(ends, "measured peak, GB"), axes.powers([*ends, *planned], "planned, GB"), height=320)
    panel.band(ends, [0.7 * end for end in ends], [1.5 * end for end in ends], MUTED, 0.15)
    panel.line(ends, ends, MUTED)
    methods = list(dict.fromkeys(fit["method"] for fit in fits))
    for method in methods:
        own = [fit for fit in fits if fit["method"] == method]
        points = [fit["peak"] / GB for fit in own], [fit["planned"] / GB for fit in own]
        panel.dots(*points, method_colour(method))
    return Figure(
        [panel], [*(Entry(method, method_colour(method)) for method in methods), Entry("equal", MUTED, "line")]
    )


def replicas(results: list[Result]) -> Figure:
    """Draw the time of one seed and of all seeds in parallel."""
    parts = results[0]["parts"]
    every = [part[key]["median"] for part in parts for key in ("one", "all")]
    x = axes.span(every, f"seconds, {parts[0]['epochs']} epochs", zero=True)
    panel = Panel(x, axes.rows([dataset_name(part) for part in parts]), height=46 * len(parts), grid="x")
    for place, part in enumerate(parts):
        for shift, key, colour in ((-0.2, "one", FIRST), (0.2, "all", SECOND)):
            panel.bar((0, part[key]["median"]), place + shift, 15, colour)
            panel.text(part[key]["median"], place + shift, f"{part[key]['median']:.3g}", anchor="start", dx=5)
    return Figure(
        [panel], [Entry("one seed", FIRST, "bar"), Entry(f"{parts[0]['seeds']} seeds in parallel", SECOND, "bar")]
    )


def large(results: list[Result]) -> Figure:
    """Draw the time per epoch and the memory of each large graph."""
    results.sort(key=lambda run: (run["nodes"], run["device"]))
    rows = axes.rows([f"{run['nodes'] / 1e6:g} M nodes, {place(run)}" for run in results])
    seconds = [run["epoch_seconds"] for run in results]
    memory = [(run["gpu_memory"] or run["peak"]) / GB for run in results]
    left = Panel(axes.powers(seconds, "seconds per epoch", room=0.15), rows, height=34 * len(results), grid="x")
    left.dots(seconds, range(len(results)), FIRST, size=5)
    right = Panel(axes.span(memory, "peak memory, GB", zero=True, room=0.12), rows, height=34 * len(results), grid="x")
    for at, (time, size) in enumerate(zip(seconds, memory, strict=True)):
        left.text(time, at, f"{time:.3g}", anchor="start", dx=9)
        right.bar((0, size), at, 16, SECOND)
        right.text(size, at, f"{size:.3g}", anchor="start", dx=5)
    return Figure([left, right])


def place(run: Result) -> str:
    changed = ", ".join(f"{name}={value}" for name, value in run["settings"].items())
    device = run["device"].removeprefix("NVIDIA ") if run["gpu_memory"] else f"CPU, {run['threads']} threads"
    return f"{device}{', ' + changed if changed else ''}"


def dataset_name(part: Result) -> str:
    """Return the dataset's name, with a note if its settings are not the paper's."""
    name = {"nell": "NELL"}.get(part["dataset"], part["dataset"].capitalize())
    return name if part.get("preset", "paper") == "paper" else f"{name} (recipe)"


def colour_of(network: str) -> str:
    return method_colour(METHODS.get(network.removesuffix(WITHOUT), network))


@dataclass(frozen=True)
class Plot:
    """A plot of the page."""

    results: str  # prefix of its results' file names
    title: str
    caption: str
    draw: Callable[[list[Result]], Figure]
    table: Callable[[list[Result]], list[str]] | None = None


PLOTS = [
    Plot(
        "train_step",
        "Training step on a CPU",
        "One thread. The dashed line is the roofline, the least time for H-GCN's "
        "memory traffic and arithmetic. GCN and GAT spend most of their time on dropout of the dense input features; "
        "the open marks leave it out.",
        train_step,
        step_table,
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
