"""`hiergcn check`: what would be made of a user's files, and what is odd about them, before any training."""

from typing import TYPE_CHECKING, Annotated

import typer

from hiergcn.cli.named import of_graph
from hiergcn.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from hiergcn.cli.data import Source
    from hiergcn.graph import Graph, Split
    from hiergcn.graph.tables.csv_files import CsvGraph

SHOWN_COLUMNS = 30
SHOWN_CLASSES = 20
GIGABYTE = 1e9


@of_graph
def check(
    source: "Source",
    estimate: Annotated[bool, typer.Option(help="Train a few epochs to tell how long a fit will take.")] = True,
) -> None:
    """Look at your files before you train: exit code 0 if a fit would work, 2 if not."""
    from hiergcn.cli.asked import with_split
    from hiergcn.cli.data import Data
    from hiergcn.cli.terminal import console, printable, warn_of_few_tests

    if source.is_dataset:
        name = source.data
        raise InputError(f"{name} is a dataset, which needs no check: name files, or write ./{name} for a file.")
    screen = console()
    if source.holds_all:
        data = source.read()
        _print_sizes(screen, data.graph)
        for note in data.graph.notes:
            screen.print(f"- {printable(note)}", soft_wrap=True)
    else:
        read = source.read_files()
        data = Data.of(read)
        _print_sizes(screen, data.graph)
        _print_understood(screen, read)
        _print_findings(screen, read)
    data, split = with_split(data)
    _print_classes(screen, data.graph)
    split.check(data.graph)
    parts = ", ".join(f"{len(getattr(split, part)):,} {part}" for part in ("train", "validation", "test"))
    screen.print(f"\nThe split would be {parts}; it is {printable(data.split_from or '')}.", soft_wrap=True)
    if not len(split.test):
        screen.print("No labels are left for a test: a fit would give the figure of validation.", style="yellow")
    warn_of_few_tests(screen, len(split.test))
    if estimate:
        _print_estimate(screen, data.graph, split)
    screen.print("\nA fit would work.", style="green")


def _print_sizes(screen: "Console", graph: "Graph") -> None:
    screen.print(
        f"{graph.n_nodes:,} nodes, {graph.n_edges:,} edges, {graph.n_features:,} features, {graph.n_classes} classes\n"
    )


def _print_understood(screen: "Console", read: "CsvGraph") -> None:
    from hiergcn.cli.terminal import new_table, printable
    from hiergcn.graph.tables.findings import column_roles, understood

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
    from hiergcn.graph.tables.findings import findings

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


def _print_classes(screen: "Console", graph: "Graph") -> None:
    from hiergcn.cli.terminal import new_table, printable
    from hiergcn.graph.tables.findings import label_counts

    counts = label_counts(graph)
    table = new_table(screen, "class", "labels", title="\nLabels")
    for name, count in counts[:SHOWN_CLASSES]:
        table.add_row(printable(f"{name:.60}"), f"{count:,}")
    screen.print(table)
    if len(counts) > SHOWN_CLASSES:
        screen.print(f".. and {len(counts) - SHOWN_CLASSES:,} more classes")


def _print_estimate(screen: "Console", graph: "Graph", split: "Split") -> None:
    from hiergcn.cli.terminal import duration
    from hiergcn.run.adapt import adapted_settings
    from hiergcn.run.device import choose_device
    from hiergcn.run.estimate import estimate_fit
    from hiergcn.run.memory_plan import planned_to_fit

    settings = adapted_settings(graph, split).settings
    planned_to_fit(graph, settings, None, choose_device())
    told = estimate_fit(graph, split, settings)
    how = f"a trial with {told.trial_nodes:,} nodes, scaled up" if told.scaled else "a trial of a few epochs"
    screen.print(
        f"\nA fit would take about {duration(told.seconds)} a seed (at most {settings.train.epochs} epochs, by {how}) "
        f"and about {told.memory / GIGABYTE:.1f} GB of memory.",
        soft_wrap=True,
    )
