"""`hiergcn coarsen`: the hierarchy of a graph by itself, without a model."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiergcn.cli.asked import check_target
from hiergcn.errors import InputError

if TYPE_CHECKING:
    from hiergcn.coarsen import Hierarchy
    from hiergcn.graph import Graph

ENDINGS = (".csv", ".parquet", ".npz")


def coarsen(
    data: Annotated[str, typer.Argument(help="A dataset (see `hiergcn datasets`) or a CSV of edges.")],
    nodes: Annotated[str | None, typer.Argument(help="A CSV of nodes, where some have no edge.")] = None,
    id_: Annotated[str | None, typer.Option("--id", help="Column of the ids in NODES.")] = None,
    levels: Annotated[int, typer.Option(min=0, help="Coarser levels to make.")] = 4,
    strategy: Annotated[str, typer.Option(help="hgcn (the paper's), random, heavy-edge or two-hop.")] = "hgcn",
    out: Annotated[
        Path | None,
        typer.Option(help="A .csv or .parquet of node, level, hyper_node; or .npz, which hiergcn reads again."),
    ] = None,
) -> None:
    """Coarsen a graph into a hierarchy of hyper-nodes."""
    if out is not None:
        _check_target(out)

    from hiergcn.cli.data import Source
    from hiergcn.cli.terminal import console, duration
    from hiergcn.coarsen import CoarsenConfig
    from hiergcn.coarsen import coarsen as make_hierarchy

    config = CoarsenConfig(strategy=strategy)
    graph = Source(data, nodes, id=id_).read().graph
    screen = console()
    began = time.perf_counter()
    hierarchy = make_hierarchy(graph.adjacency, levels, config)
    seconds = time.perf_counter() - began
    _print_levels(hierarchy, f"{graph.name}, coarsened by {strategy} in {duration(seconds)}")
    for note in graph.notes:
        screen.print(f"Note: {note}")
    if hierarchy.depth < levels:
        screen.print(
            f"The graph can be coarsened {hierarchy.depth} times, not {levels}: a further level would be no smaller."
        )
    if out is not None:
        _write(hierarchy, graph, out)
        screen.print(f"Written to {out}", soft_wrap=True)


def _check_target(out: Path) -> None:
    if out.suffix not in ENDINGS:
        raise InputError(f"--out {out}: its ending must be one of {', '.join(ENDINGS)}.")
    check_target(out)


def _print_levels(hierarchy: "Hierarchy", title: str) -> None:
    from hiergcn.cli.terminal import console, new_table, printable

    screen = console()
    columns = ("level", "nodes", "edges", "heaviest hyper-node", "nodes left")
    table = new_table(screen, *columns, title=printable(title), left=0)
    n = hierarchy.levels[0].n_nodes
    for number, level in enumerate(hierarchy.levels):
        heaviest = f"{level.node_weight.max():,}"
        table.add_row(f"{number}", f"{level.n_nodes:,}", f"{level.n_edges:,}", heaviest, f"{level.n_nodes / n:.1%}")
    screen.print(table)


def _write(hierarchy: "Hierarchy", graph: "Graph", out: Path) -> None:
    from hiergcn.files import write_csv, written_whole

    if out.suffix == ".npz":
        hierarchy.save(out)
        return
    frame = hierarchy.to_frame(graph.ids)
    if out.suffix == ".csv":
        write_csv(frame, out)
        return
    with written_whole(out) as part:
        frame.to_parquet(part, index=False)
