"""`hiergcn coarsen`: make the hierarchy of a graph, without a model."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hiergcn.cli import options
from hiergcn.cli.terminal import console, duration, print_table, printable
from hiergcn.errors import InputError


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
    files: dict[str, Any],
    levels: int = 4,
    strategy: str | None = None,
    engine: str = "memory",
    memory: str | None = None,
    out: Path | None = None,
) -> None:
    """Coarsen a graph into a hierarchy of hyper-nodes."""
    from hiergcn.run.source import Source

    source = Source(**files)
    if engine not in ("memory", "duckdb"):
        raise InputError(f"There is no engine {engine!r} to coarsen with; give memory or duckdb.")
    if engine == "memory" and memory is not None:
        raise InputError("--memory is the limit of DuckDB; give --engine duckdb, too.")
    options.announce(source)
    screen, began = console(), time.perf_counter()
    notes: Sequence[str] = ()
    if engine == "duckdb":
        if source.nodes is not None or strategy not in (None, "handshake"):
            raise InputError("Engine duckdb takes edges alone and the strategy handshake; leave out the others.")
        from hiergcn.coarsening.out_of_core import LevelSummary, coarsen_out_of_core

        def on_level(number: int, level: LevelSummary) -> None:
            sizes = f"{level.nodes:,} nodes, {level.edges:,} edges"
            screen.print(f"Level {number}: {sizes}, after {duration(time.perf_counter() - began)}")

        sizes = [
            tuple(level) for level in coarsen_out_of_core(source.data, levels, out, memory=memory, on_level=on_level)
        ]
        name, strategy, seconds = source.name, "handshake", time.perf_counter() - began
    else:
        from hiergcn.coarsening import CoarsenConfig
        from hiergcn.coarsening import coarsen as make_hierarchy
        from hiergcn.coarsening.storage import ENDINGS, write_levels

        if out is not None and out.suffix not in ENDINGS:
            raise InputError(f"--out {out}: the ending must be one of {', '.join(ENDINGS)}.")
        strategy = strategy or "hgcn"
        config = CoarsenConfig(strategy=strategy)
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
    depth = len(sizes) - 1
    if depth < levels:
        screen.print(f"The graph can be coarsened {depth} times, not {levels}: a further level would be no smaller.")
    if out is not None:
        screen.print(f"Written to {out}", soft_wrap=True)
