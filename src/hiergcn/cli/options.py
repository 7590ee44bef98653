"""Words that several commands take, each with one name and one explanation."""

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    str,
    typer.Argument(help="A dataset (see `hiergcn datasets`), a CSV of edges, or a whole graph in .npz or .graphml."),
]
Nodes = Annotated[str | None, typer.Argument(help="A CSV of nodes: ids, features, labels.")]
Label = Annotated[str | None, typer.Option(help="Column of the labels in NODES; blank means unknown.")]
Id = Annotated[str | None, typer.Option("--id", help="Column of the ids in NODES.")]
Weight = Annotated[str | None, typer.Option(help="Column of the weights of edges. [default: weight]")]
SplitColumn = Annotated[
    str | None, typer.Option(help="Column in NODES that says train, validation, test or nothing. [default: split]")
]
Drop = Annotated[list[str] | None, typer.Option(help="Column of NODES to leave out; may be repeated.")]
Model = Annotated[
    str | None,
    typer.Option(help="The method. [default: hgcn-plus for your own files; hgcn for a dataset, or with --preset]"),
]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Processes that share the seeds on a CPU. [default: one for each core]")
]
SpreadsheetSafe = Annotated[
    bool,
    typer.Option("--spreadsheet-safe", help="Put an apostrophe before ids and classes that a spreadsheet would run."),
]
Out = Annotated[
    Path | None, typer.Option(help="Folder for the results, not there yet. [default: the next free one in runs/]")
]
