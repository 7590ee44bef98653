"""`hiergcn datasets`: list the named datasets and their folders; `hiergcn datasets get NAME` downloads one."""

from typing import Annotated

import typer

WIDE = 10_000  # columns outside a terminal: a wrapped path cannot be copied

app = typer.Typer(help="List the named datasets, or download one.", rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def datasets(context: typer.Context) -> None:
    """Print the table of datasets."""
    if context.invoked_subcommand is not None:
        return
    from hiergcn.cli.terminal import console, new_table
    from hiergcn.datasets import list_datasets

    screen = console()
    if not screen.is_terminal:
        screen.width = WIDE
    table = new_table(screen, "name", "nodes", "edges", "features", "classes")
    table.add_column("where", overflow="fold")
    for row in list_datasets():
        sizes = (f"{size:,}" for size in (row.nodes, row.edges, row.features, row.classes))
        table.add_row(row.name, *sizes, row.where)
    screen.print(table)


@app.command("get")
def get(name: Annotated[str, typer.Argument(help="A name that `hiergcn datasets` lists.")]) -> None:
    """Download a dataset and check it; later commands find it by its name."""
    from hiergcn.cli.progress import download_progress
    from hiergcn.cli.terminal import console
    from hiergcn.datasets import list_datasets, load_dataset

    with download_progress(name) as on_bytes:
        graph = load_dataset(name, progress=on_bytes).graph
    where = next(row.where for row in list_datasets() if row.name == name)
    place = "in the package" if where == "embedded" else f"in {where}"
    console().print(f"{name} is {place}: {graph.n_nodes:,} nodes, {graph.n_edges:,} edges", soft_wrap=True)
