"""`hiergcn coarsen`: make the hierarchy of a graph, without a model."""

import time
from pathlib import Path
from typing import Annotated

import typer

from hiergcn.cli import options
from hiergcn.cli.terminal import console, duration, print_table, printable
from hiergcn.errors import InputError


def coarsen(
    data: options.Data,
    nodes: Annotated[
        str | None, typer.Argument(help="A table of nodes; needed only if some nodes have no edge.")
    ] = None,
    id_: options.Id = None,
    delimiter: options.Delimiter = None,
    levels: Annotated[int, typer.Option(metavar="N", min=0, help="Coarser levels to make.")] = 4,
    strategy: Annotated[
        str, typer.Option(metavar="NAME", help="hgcn (the paper's), random, heavy-edge or two-hop.")
    ] = "hgcn",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A .csv or .parquet of node, level, hyper_node; or .npz, which `Hierarchy.load` reads.",
            rich_help_panel=options.RESULTS,
        ),
    ] = None,
) -> None:
    """Coarsen a graph into a hierarchy of hyper-nodes."""
    from hiergcn.run.source import Source

    options.check_target(out)
    source = Source(data, nodes, id=id_, delimiter=delimiter)
    options.announce(source)

    from hiergcn.coarsen import CoarsenConfig
    from hiergcn.coarsen import coarsen as make_hierarchy
    from hiergcn.coarsen.storage import ENDINGS, write_levels

    if out is not None and out.suffix not in ENDINGS:
        raise InputError(f"--out {out}: the ending must be one of {', '.join(ENDINGS)}.")
    config = CoarsenConfig(strategy=strategy)
    graph = options.read_data(source).graph
    screen = console()
    began = time.perf_counter()
    hierarchy = make_hierarchy(graph.adjacency, levels, config)
    seconds = time.perf_counter() - began
    columns = ("level", "nodes", "edges", "heaviest hyper-node", "nodes left")
    n = graph.n_nodes
    rows = [
        (f"{k}", f"{level.n_nodes:,}", f"{level.n_edges:,}", f"{level.node_weight.max():,}", f"{level.n_nodes / n:.1%}")
        for k, level in enumerate(hierarchy.levels)
    ]
    title = f"{printable(graph.name)}, coarsened by {strategy} in {duration(seconds)}"
    print_table(screen, columns, rows, title=title, words=())
    for note in graph.notes:
        screen.print(f"Note: {printable(note)}")
    if hierarchy.depth < levels:
        screen.print(
            f"The graph can be coarsened {hierarchy.depth} times, not {levels}: a further level would be no smaller."
        )
    if out is not None:
        write_levels(hierarchy, out, graph.ids)
        screen.print(f"Written to {out}", soft_wrap=True)
