"""Options that several commands share, and the checks of their values."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiergcn.errors import InputError
from hiergcn.model.registry import method_names

if TYPE_CHECKING:
    from hiergcn.run.source import Data as ReadData
    from hiergcn.run.source import Source

INTERRUPTED = 130  # the exit code of shells after Ctrl-C

Data = Annotated[
    str,
    typer.Argument(
        help="A dataset (see `hiergcn datasets`), a table of edges (CSV, Parquet, JSON lines, Excel, Matrix Market), "
        "or a whole graph in .npz or .graphml."
    ),
]
Nodes = Annotated[str | None, typer.Argument(help="A table of nodes: ids, features, labels.")]
Label = Annotated[str | None, typer.Option(help="Column of the labels in NODES; blank means unknown.")]
Target = Annotated[
    str | None, typer.Option(help="Column of NODES with a number to predict, instead of --label; blank means unknown.")
]
Id = Annotated[str | None, typer.Option("--id", help="Column of the ids in NODES.")]
Weight = Annotated[str | None, typer.Option(help="Column of the edge weights. [default: weight]")]
SplitColumn = Annotated[
    str | None, typer.Option(help="Column in NODES that says train, validation, test or nothing. [default: split]")
]
Drop = Annotated[list[str] | None, typer.Option(help="Column of NODES to leave out; may be repeated.")]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        help="CSV of further labels (columns id and label), as `hiergcn suggest` writes it and you fill it in; may be "
        "repeated."
    ),
]
Unknown = Annotated[
    list[str] | None,
    typer.Option(
        help="A label that means unknown, instead of unknown, -1, NA and other usual words; may be repeated. A blank "
        "always does."
    ),
]
Delimiter = Annotated[str | None, typer.Option(help="Character between columns, or tab. [default: guessed]")]
Model = Annotated[
    str | None,
    typer.Option(
        help=f"auto, {', '.join(method_names())}. "
        "[default: auto, the best for your graph, for your own files; hgcn for a dataset, or with --preset]"
    ),
]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Processes that share the seeds on a CPU. [default: one per core]")
]
Out = Annotated[Path | None, typer.Option(help="New folder for the results. [default: the next free one in runs/]")]
Run = Annotated[Path, typer.Argument(help="A folder that `hiergcn fit` wrote.")]
SpreadsheetSafe = Annotated[
    bool,
    typer.Option("--spreadsheet-safe", help="Put an apostrophe before text that a spreadsheet would run as a formula."),
]


def parse_changes(pairs: list[str] | None, levels: int | None = None) -> dict[str, str]:
    """Return the settings that `--set KEY=VALUE` and `--levels` change."""
    changes = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not key.strip() or not equals:
            raise InputError(f"--set {pair} must have the form KEY=VALUE, e.g. --set hidden=32.")
        changes[key.strip()] = value.strip()
    return changes if levels is None else changes | {"levels": str(levels)}


def read_data(source: "Source") -> "ReadData":
    """Read the graph, with a progress bar if it is downloaded."""
    from hiergcn.cli.progress import download_progress

    with download_progress(source.name) as on_bytes:
        return source.read(on_bytes)


def check_target(out: Path | None) -> None:
    """Refuse to write over a file, or into a folder that does not exist, before any work is done."""
    if out is None:
        return
    if out.exists():
        raise InputError(f"{out} exists already; name another file or move that one away.")
    if not out.parent.is_dir():
        raise InputError(f"There is no folder {out.parent} to write {out.name} into; make it first.")


def out_folder(context: typer.Context, out: Path | None, default: Path) -> Path:
    """Return the folder for the results, which no other process can take until the command ends.

    It is that of the user, which must be free, or the first free one after the default.
    """
    from hiergcn.run.out_folder import check_free, held, held_free

    if out is not None:
        check_free(out)
    folder: Path = context.with_resource(held_free(default) if out is None else held(out))
    check_free(folder)  # another run may have ended between
    return folder


def command_line() -> str:
    """Return the command as it was given, to be kept with its results."""
    return shlex.join(["hiergcn", *sys.argv[1:]])
