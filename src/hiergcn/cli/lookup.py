"""`hiergcn models`, `settings` and `datasets`: the methods, the settings of each, and the named datasets.

`hiergcn datasets get NAME` downloads one.
"""

from collections import defaultdict

import typer

from hiergcn.cli import options
from hiergcn.cli.terminal import Command, Group, console, print_table
from hiergcn.settings.registry import config_class, method_about, method_names, method_title
from hiergcn.settings.settings import GROUPS, method_settings, preset_names, settings_for, value_text, without_effect

TITLES = {"model": "Method", "train": "Training", "coarsen": "Coarsening"}
WIDE = 10_000  # columns outside a terminal: a wrapped path cannot be copied

app = typer.Typer(cls=Group, help="List the named datasets, or download one.", rich_markup_mode=None)


def models() -> None:
    """List the methods and what each does."""
    only = {name: "" if config_class(name).predicts_numbers else " Classes only." for name in method_names()}
    rows = [(name, method_about(name) + only[name]) for name in method_names()]
    screen = console()
    screen.print("--model auto tries several of these on your graph and combines those that validation supports.\n")
    print_table(screen, ("model", "what it does"), rows, words=(0, 1), overflow="fold")
    screen.print("\nSettings of one: hiergcn settings NAME", soft_wrap=True)


@options.command(
    model=options.argument("A name that `hiergcn models` lists.", options.complete_model),
    preset=options.option(
        "NAME", "Show the values of this preset. [default: the method's own]", autocompletion=options.complete_preset
    ),
)
def settings(model: str, preset: str | None = None) -> None:
    """List the settings of a method: values, default and meaning."""
    chosen, screen = settings_for(model, preset), console()
    method, values = chosen.method, chosen.values()
    screen.print(f"{method_title(method)}: {method_about(method)}", soft_wrap=True)
    presets = ", ".join(preset_names(method))
    screen.print(f"Defaults are those of the preset {chosen.preset} (presets: {presets}).\n", soft_wrap=True)
    for group in GROUPS:
        members = [setting for setting in method_settings(method).values() if setting.group == group]
        rows = [(known.name, value_text(values[known.name]), known.values, known.about) for known in members]
        if rows and not without_effect(method, group):
            columns = ("setting", "default", "values", "what it does")
            print_table(screen, columns, rows, title=TITLES[group], words=(0, 1, 2, 3), overflow="fold")
            screen.print()
    screen.print(
        f"For your own graph, hiergcn fit adapts some of them to it and says why (--verbose). Change one with "
        f"--set NAME=VALUE, or in Python with NodeClassifier({model!r}, name=value).",
        soft_wrap=True,
    )


@app.callback(invoke_without_command=True)
def datasets(context: typer.Context) -> None:
    """Print the table of datasets."""
    if context.invoked_subcommand is not None:
        return
    from hiergcn.datasets import list_datasets

    screen, listed = console(), list_datasets()
    if not screen.is_terminal:
        screen.width = WIDE
    columns, rows = ("name", "nodes", "edges", "features", "classes", "where"), []
    ways, credited = defaultdict(list), defaultdict(list)
    for row in listed:
        sizes = (f"{size:,}" for size in (row.nodes, row.edges, row.features))
        rows.append((row.name, *sizes, "a number" if row.target else f"{row.classes:,}", row.where))
        ways[row.how].append(row.name)
        credited[row.credit].append(row)
    print_table(screen, columns, rows, words=(0, 5), overflow="fold")
    for how, absent in ways.items():
        if how:
            console().print(f"{', '.join(absent)}: {how}.")
    if any(row.where == "generated" for row in listed):
        screen.print("\nCities of any size are generated: city-N, city-N-clustered. Licences of data:")
    for credit, rows_of in credited.items():
        names = ", ".join(row.name for row in rows_of if not row.target or all(other.target for other in rows_of))
        if credit:
            screen.print(f"{names}: {credit}", soft_wrap=True, highlight=False)


@app.command("get", cls=Command)
@options.command(name=options.argument("A name that `hiergcn datasets` lists.", options.complete_data))
def get(name: str) -> None:
    """Download a dataset and check it; later commands find it by its name."""
    from hiergcn.cli.progress import download_progress
    from hiergcn.datasets import list_datasets, load_dataset

    with download_progress(name) as on_bytes:
        dataset = load_dataset(name, progress=on_bytes)
    name, graph = dataset.name, dataset.graph
    where = next((row.where for row in list_datasets() if row.name == name), "generated")
    place = {"embedded": "in the package", "generated": "generated when it is needed"}.get(where, f"in {where}")
    console().print(f"{name} is {place}: {graph.n_nodes:,} nodes, {graph.n_edges:,} edges", soft_wrap=True)
