"""`hiergcn predict`: the model of a run at work again, on its own data or on newer files."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiergcn.cli import options
from hiergcn.cli.asked import check_target
from hiergcn.errors import InputError

if TYPE_CHECKING:
    from hiergcn.graph import Graph
    from hiergcn.run.folder import LoadedRun


def predict(
    run: Annotated[Path, typer.Argument(help="A folder that `hiergcn fit` wrote.")],
    edges: Annotated[
        str | None,
        typer.Argument(
            help="A newer CSV of edges, or a whole graph in .npz or .graphml: the same nodes, or more. "
            "[default: the run's own data]"
        ),
    ] = None,
    nodes: Annotated[str | None, typer.Argument(help="Its CSV of nodes, with the columns that the run had.")] = None,
    out: Annotated[Path | None, typer.Option(help="A CSV to write. [default: standard output]")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    spreadsheet_safe: options.SpreadsheetSafe = False,
) -> None:
    """Predict the class of every node with the model of a run."""
    check_target(out)

    from hiergcn.cli.terminal import console, printable
    from hiergcn.files import write_csv
    from hiergcn.run.folder import load_run
    from hiergcn.run.predict import predictions_again, predictions_on

    loaded = load_run(run)
    screen = console(stderr=True)
    if edges is None:
        frame = predictions_again(loaded, run_graph(loaded), device)
        what = f", in agreement with {run / 'predictions.csv'}"
    else:
        graph = _newer_graph(loaded, edges, nodes)
        frame = predictions_on(loaded, graph, device)
        what = f", {int((~frame['seen']).sum()):,} of them of nodes that the run did not have"
        for note in graph.notes:
            screen.print(f"Note: {printable(note)}", style="yellow", soft_wrap=True)
    write_csv(frame, sys.stdout if out is None else out, spreadsheet=spreadsheet_safe)
    where = "" if out is None else f", written to {out}"
    screen.print(f"{len(frame):,} predictions{what}{where}", soft_wrap=True)


def _newer_graph(loaded: "LoadedRun", edges: str, nodes: str | None) -> "Graph":
    """Newer files, read as those of the run were."""
    from hiergcn.cli.data import Source
    from hiergcn.graph.tables.csv_files import CsvOptions, read_csv
    from hiergcn.graph.tables.feature_columns import STRUCTURAL

    known = tuple(column for column in loaded.columns if column.kind != STRUCTURAL)
    newer = Source(edges, nodes)
    if newer.holds_all:
        graph = newer.read().graph
        if [column.features for column in graph.columns] != [column.features for column in known]:
            raise InputError(f"{edges} has other columns of features than {loaded.path}: give those that the run had.")
        return graph
    if not loaded.columns and loaded.config["n_features"]:
        raise InputError(
            f"the features of {loaded.path} did not come from a file of columns: newer files cannot match."
        )
    if known and nodes is None:
        raise InputError(
            "the model was trained on features of the nodes: name the CSV of nodes after that of the edges."
        )
    source = loaded.config["source"]
    options = CsvOptions(id=source.get("id") if nodes else None, weight=source.get("weight"), known=known)
    return read_csv(edges, nodes, options).graph


def run_graph(loaded: "LoadedRun") -> "Graph":
    """The graph that the run was made of."""
    from hiergcn.cli.data import Source

    recorded = {key: value for key, value in loaded.config["source"].items() if key not in ("command", "split")}
    if "data" not in recorded:
        raise InputError(f"{loaded.path} does not say where its graph came from: it was not made by `hiergcn fit`.")
    return Source(**recorded).read().graph
