"""Commands on a graph alone: `hiergcn check` and `hiergcn coarsen`.

The one says how the user's files are read, and anything suspicious in them, before any training. The other makes the
hierarchy of a graph without a model.
"""

import time
from pathlib import Path
from typing import TYPE_CHECKING

from hiergcn.cli import options
from hiergcn.cli.terminal import console, duration, graph_sizes, print_table, printable, split_sizes, warn_of_few_tests
from hiergcn.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from hiergcn.graph import Graph, Split
    from hiergcn.graph.tables.csv_files import CsvGraph
    from hiergcn.run.source import Source

SHOWN_ROWS = 30  # of columns and findings
SHOWN_CLASSES = 20
SHOWN_LETTERS = 60


@options.command("labels", estimate=options.option(None, "Train a few epochs to estimate how long a fit takes."))
def check(source: "Source", estimate: bool = True) -> None:
    """Check your files before training: exit code 0 if a fit would work, 2 if not."""
    if source.is_dataset:
        name = source.data
        raise InputError(f"{name} is a dataset, which needs no check; name files, or write ./{name} for a file.")
    options.announce(source)

    from hiergcn.graph.tables.findings import label_counts

    screen, read = console(), source.read()
    graph = read.graph
    screen.print(f"{graph_sizes(graph)}\n")
    if read.files is None:
        for note in graph.notes:
            screen.print(f"- {printable(note)}", soft_wrap=True)
    else:
        _print_files(screen, read.files)
    read.check_labels()

    from hiergcn.run.fit import DRAWN_SPLIT, resolve_split  # imports torch: late, so that bad files are refused at once

    split = resolve_split(graph, read.split)
    if graph.targets is None:
        rows = [(name, f"{count:,}") for name, count in label_counts(graph)]
        columns, letters = ("class", "labels"), SHOWN_LETTERS
        print_table(screen, columns, rows, title="\nLabels", letters=letters, most=SHOWN_CLASSES, what="classes")
    else:
        import numpy as np

        quantiles = np.quantile(graph.truth[graph.labelled], [0.0, 0.25, 0.5, 0.75, 1.0])
        known = (f"{graph.labelled.size:,}", *(f"{value:.6g}" for value in quantiles))
        names = ("known values", "lowest", "first quarter", "median", "third quarter", "highest")
        print_table(screen, names, [known], title=f"\nTarget {printable(graph.target_name)}", words=())
    split.check(graph)
    split_from = printable(read.split_from or DRAWN_SPLIT[graph.target.kind])
    screen.print(f"\nThe split would be {split_sizes(split)}, {split_from}.", soft_wrap=True)
    if not len(split.test):
        screen.print("No labels are left for a test: a fit would show validation accuracy.", style="yellow")
    warn_of_few_tests(screen, len(split.test))
    _print_profile(screen, graph, split)
    if estimate:
        from hiergcn.choose.budget import default_limit
        from hiergcn.choose.estimate import estimate_fit

        cost = estimate_fit(graph, split)
        how = (
            f"a trial with {cost.trial_nodes:,} nodes, scaled up"
            if cost.trial_nodes < graph.n_nodes
            else "a trial of a few epochs"
        )
        alone = f"{duration(cost.seconds)} per seed (at most {cost.epochs} epochs, by {how})"
        screen.print(
            f"\nA fit would try methods for {duration(default_limit(graph.n_nodes))} (--time-limit). H-GCN+ alone "
            f"would take about {alone} and about {cost.memory / 1e9:.1f} GB of memory.",
            soft_wrap=True,
        )
    screen.print("\nA fit would work.", style="green")


def _print_files(screen: "Console", files: "CsvGraph") -> None:
    """Print how the files are read, the role of each column, and anything suspicious."""
    from hiergcn.graph.tables.findings import column_roles, findings, understood

    for line in understood(files):
        screen.print(f"- {printable(line)}", soft_wrap=True)
    columns, words = ("file", "column", "becomes"), (0, 1, 2)
    roles, most, letters = column_roles(files), SHOWN_ROWS, SHOWN_LETTERS
    print_table(screen, columns, roles, title="\nColumns", words=words, letters=letters, most=most, what="columns")
    rows = [(finding.what, finding.done, f"{finding.number:,}") for finding in findings(files)]
    if rows:
        columns, title = ("finding", "what is done", "how many"), "\nFindings, and what is done about them"
        print_table(screen, columns, rows, title=title, words=(0, 1), most=most, what="findings")
    else:
        screen.print("\nNothing unusual was found.")


def _print_profile(screen: "Console", graph: "Graph", split: "Split") -> None:
    """Print a description of the graph, and the accuracy of features alone and edges alone."""
    from hiergcn.choose.estimate import measure_evidence
    from hiergcn.graph.profile import profile_graph

    profile, evidence = profile_graph(graph, split), measure_evidence(graph, split)
    screen.print("\nThe graph", style="bold")
    for sentence, warns in sorted(profile.sentences(), key=lambda told: told[1]):
        screen.print(f"- {sentence}", style="yellow" if warns else None, soft_wrap=True)
    few = "There are too few training labels to compare features with edges."
    if graph.targets is None:
        screen.print(f"- {few if evidence is None else evidence.sentence()}", soft_wrap=True)


@options.command(
    *("label", "target", "weight", "split_column", "drop", "unknown", "labels"),
    nodes=options.argument("A table of nodes; needed only if some nodes have no edge."),
    levels=options.option("N", "Coarser levels to make.", min=0),
    strategy=options.option("NAME", "hgcn (the paper's, default), random, heavy-edge, two-hop or handshake."),
    engine=options.in_running(
        "NAME", "memory; or duckdb, for graphs beyond memory: by handshake, from Parquet or a DuckDB table."
    ),
    memory=options.in_running("SIZE", "Limit of duckdb, such as 8GB. [default: 80 %]"),
    out=options.in_results(
        "FILE",
        "A .csv or .parquet of node, level, hyper_node; or .npz, which `Hierarchy.load` reads.",
        callback=options.check_target,
    ),
)
def coarsen(
    source: "Source",
    levels: int = 4,
    strategy: str | None = None,
    engine: str = "memory",
    memory: str | None = None,
    out: Path | None = None,
) -> None:
    """Coarsen a graph into a hierarchy of hyper-nodes."""
    if engine not in ("memory", "duckdb"):
        raise InputError(f"There is no engine {engine!r} to coarsen with; give memory or duckdb.")
    if engine == "memory" and memory is not None:
        raise InputError("--memory is the limit of DuckDB; give --engine duckdb, too.")
    options.announce(source)
    screen, began, notes = console(), time.perf_counter(), tuple[str, ...]()
    if engine == "duckdb":
        if source.nodes is not None or strategy not in (None, "handshake"):
            raise InputError("Engine duckdb takes edges alone and the strategy handshake; leave out the others.")
        from hiergcn.coarsening.out_of_core import LevelSummary, coarsen_out_of_core

        def on_level(number: int, level: LevelSummary) -> None:
            sizes = f"{level.nodes:,} nodes, {level.edges:,} edges"
            screen.print(f"Level {number}: {sizes}, after {duration(time.perf_counter() - began)}")

        sizes = [*map(tuple, coarsen_out_of_core(source.data, levels, out, memory=memory, on_level=on_level))]
        name, strategy, seconds = source.name, "handshake", time.perf_counter() - began
    else:
        from hiergcn.coarsening import CoarsenConfig
        from hiergcn.coarsening import coarsen as make_hierarchy
        from hiergcn.coarsening.storage import ENDINGS, write_levels

        if out is not None and out.suffix not in ENDINGS:
            raise InputError(f"--out {out}: the ending must be one of {', '.join(ENDINGS)}.")
        config = CoarsenConfig(strategy=(strategy := strategy or "hgcn"))
        graph = options.read_data(source).graph
        name, notes, began = graph.name, graph.notes, time.perf_counter()
        hierarchy = make_hierarchy(graph.adjacency, levels, config)
        seconds = time.perf_counter() - began
        sizes = [(level.n_nodes, level.n_edges, int(level.node_weight.max())) for level in hierarchy.levels]
        if out is not None:
            write_levels(hierarchy, out, graph.ids)
    columns = ("level", "nodes", "edges", "heaviest hyper-node", "nodes left")
    rows = [
        (f"{level}", f"{n_nodes:,}", f"{edges:,}", f"{heaviest:,}", f"{n_nodes / sizes[0][0]:.1%}")
        for level, (n_nodes, edges, heaviest) in enumerate(sizes)
    ]
    title = f"{name}, coarsened by {strategy} in {duration(seconds)}"
    print_table(screen, columns, rows, title=printable(title), words=())
    for note in notes:
        screen.print(f"Note: {printable(note)}")
    if (depth := len(sizes) - 1) < levels:
        screen.print(f"The graph can be coarsened {depth} times, not {levels}: a further level would be no smaller.")
    if out is not None:
        screen.print(f"Written to {out}", soft_wrap=True)
