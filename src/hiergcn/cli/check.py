"""`hiergcn check`: what would be made of a user's files, and what is odd about them, before any training."""

from typing import TYPE_CHECKING, Annotated

import typer

from hiergcn.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from hiergcn.graph import Split
    from hiergcn.graph.csv import CsvGraph

SHOWN_COLUMNS = 30
SHOWN_CLASSES = 20
GIGABYTE = 1e9


def check(
    edges: Annotated[str, typer.Argument(help="A CSV of edges.")],
    nodes: Annotated[str | None, typer.Argument(help="A CSV of nodes: ids, features, labels.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the labels in NODES; blank means unknown.")] = None,
    id_: Annotated[str | None, typer.Option("--id", help="Column of the ids in NODES.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of the weights in EDGES. [default: weight]")] = None,
    split_column: Annotated[
        str | None, typer.Option(help="Column in NODES that says train, validation, test or nothing. [default: split]")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column of NODES to leave out; may be repeated.")] = None,
    estimate: Annotated[bool, typer.Option(help="Train a few epochs to tell how long a fit will take.")] = True,
) -> None:
    """Look at your files before you train: exit code 0 if a fit would work, 2 if not."""
    from hiergcn.cli.asked import SPLIT_FROM, SPLIT_SEED
    from hiergcn.cli.data import Source
    from hiergcn.cli.terminal import console
    from hiergcn.graph import Split

    source = Source(edges, nodes, label, id_, weight, split_column, tuple(drop or ()))
    if source.is_dataset:
        raise InputError(f"{edges} is a dataset, which needs no check: name files, or write ./{edges} for a file.")
    read = source.read_files()
    screen = console()
    _print_understood(screen, read)
    _print_findings(screen, read)
    graph = read.graph
    if graph.labels is None:
        raise InputError(f"{edges}: a fit needs labels; name a CSV of nodes and its column of labels with --label.")
    _print_classes(screen, read)
    split = read.split or Split.holdout(graph.labels, seed=SPLIT_SEED)
    split.check(graph)
    parts = ", ".join(f"{len(getattr(split, part)):,} {part}" for part in ("train", "validation", "test"))
    how = f"column {read.nodes.columns.split!r}" if read.split and read.nodes else SPLIT_FROM
    screen.print(f"\nThe split would be {parts}; it is {how}.", soft_wrap=True)
    if not len(split.test):
        screen.print("No labels are left for a test: a fit would give the figure of validation.", style="yellow")
    if estimate:
        _print_estimate(screen, read, split)
    screen.print("\nA fit would work.", style="green")


def _print_understood(screen: "Console", read: "CsvGraph") -> None:
    from hiergcn.cli.terminal import new_table, printable
    from hiergcn.graph.findings import column_roles, understood

    graph = read.graph
    screen.print(
        f"{graph.n_nodes:,} nodes, {graph.n_edges:,} edges, {graph.n_features:,} features, {graph.n_classes} classes\n"
    )
    for line in understood(read):
        screen.print(f"- {printable(line)}", soft_wrap=True)
    roles = column_roles(read)
    table = new_table(screen, "file", "column", "becomes", title="\nColumns", left=3)
    for role in roles[:SHOWN_COLUMNS]:
        table.add_row(*(printable(f"{text:.60}") for text in (role.file, role.column, role.becomes)))
    screen.print(table)
    if len(roles) > SHOWN_COLUMNS:
        screen.print(f".. and {len(roles) - SHOWN_COLUMNS:,} more columns")


def _print_findings(screen: "Console", read: "CsvGraph") -> None:
    from hiergcn.cli.terminal import new_table, printable
    from hiergcn.graph.findings import findings

    found = findings(read)
    if not found:
        screen.print("\nNothing odd was found.")
        return
    table = new_table(
        screen, "what", "what is done", "how many", title="\nWhat is odd, and what is done about it", left=2
    )
    for finding in found[:SHOWN_COLUMNS]:
        table.add_row(printable(finding.what), printable(finding.done), f"{finding.count:,}")
    screen.print(table)
    if len(found) > SHOWN_COLUMNS:
        screen.print(f".. and {len(found) - SHOWN_COLUMNS:,} more of these")


def _print_classes(screen: "Console", read: "CsvGraph") -> None:
    from hiergcn.cli.terminal import new_table, printable
    from hiergcn.graph.findings import label_counts

    counts = label_counts(read.graph)
    table = new_table(screen, "class", "labels", title="\nLabels")
    for name, count in counts[:SHOWN_CLASSES]:
        table.add_row(printable(f"{name:.60}"), f"{count:,}")
    screen.print(table)
    if len(counts) > SHOWN_CLASSES:
        screen.print(f".. and {len(counts) - SHOWN_CLASSES:,} more classes")


def _print_estimate(screen: "Console", read: "CsvGraph", split: "Split") -> None:
    from hiergcn.cli.terminal import duration
    from hiergcn.run.adapt import adapted_settings
    from hiergcn.run.device import choose_device
    from hiergcn.run.estimate import estimate_fit
    from hiergcn.run.plan import planned_to_fit

    settings = adapted_settings(read.graph, split).settings
    planned_to_fit(read.graph, settings, None, choose_device())
    told = estimate_fit(read.graph, split, settings)
    how = f"a trial with {told.trial_nodes:,} nodes, scaled up" if told.scaled else "a trial of a few epochs"
    screen.print(
        f"\nA fit would take about {duration(told.seconds)} a seed (at most {settings.train.epochs} epochs, by {how}) "
        f"and about {told.memory / GIGABYTE:.1f} GB of memory.",
        soft_wrap=True,
    )
