"""`hiergcn datasets`: list the named datasets and their folders; `hiergcn datasets get NAME` downloads one."""

from typing import Annotated

import typer

from hiergcn.cli import options
from hiergcn.cli.help import Command, Group
from hiergcn.cli.terminal import console, print_table

WIDE = 10_000  # columns outside a terminal: a wrapped path cannot be copied

app = typer.Typer(cls=Group, help="List the named datasets, or download one.", rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def datasets(context: typer.Context) -> None:
    """Print the table of datasets."""
    if context.invoked_subcommand is not None:
        return
    from hiergcn.datasets import list_datasets

    screen = console()
    if not screen.is_terminal:
        screen.width = WIDE
    columns = ("name", "nodes", "edges", "features", "classes", "where")
    found = list_datasets()
    rows = []
    for row in found:
        sizes = (f"{size:,}" for size in (row.nodes, row.edges, row.features))
        rows.append((row.name, *sizes, "a number" if row.target else f"{row.classes:,}", row.where))
    print_table(screen, columns, rows, words=(0, 5), overflow="fold")
    ways: dict[str, list[str]] = {}
    for row in found:
        if row.how:
            ways.setdefault(row.how, []).append(row.name)
    for how, absent in ways.items():
        console().print(f"{', '.join(absent)}: {how}.")
    if any(row.where == "generated" for row in found):
        screen.print("\nCities of any size are generated: city-N, city-N-clustered. Licences of data:")
    for credit in dict.fromkeys(row.credit for row in found if row.credit):
        rows_of = [row for row in found if row.credit == credit]
        names = ", ".join(row.name for row in rows_of if not row.target or all(one.target for one in rows_of))
        screen.print(f"{names}: {credit}", soft_wrap=True, highlight=False)


@app.command("get", cls=Command)
def get(
    name: Annotated[
        str, typer.Argument(help="A name that `hiergcn datasets` lists.", autocompletion=options.complete_data)
    ],
) -> None:
    """Download a dataset and check it; later commands find it by its name."""
    from hiergcn.cli.progress import download_progress
    from hiergcn.datasets import list_datasets, load_dataset

    with download_progress(name) as on_bytes:
        dataset = load_dataset(name, progress=on_bytes)
    name, graph = dataset.name, dataset.graph
    where = next((row.where for row in list_datasets() if row.name == name), "generated")
    place = {"embedded": "in the package", "generated": "generated when it is needed"}.get(where, f"in {where}")
    console().print(f"{name} is {place}: {graph.n_nodes:,} nodes, {graph.n_edges:,} edges", soft_wrap=True)
