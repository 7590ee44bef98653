"""`hiergcn predict`: predict again with the model of a run, on its own data or on newer files."""

import sys
from typing import Annotated

import typer

from hiergcn.cli import options
from hiergcn.cli.terminal import console, printable


def predict(
    run: options.Run,
    edges: Annotated[
        str | None,
        typer.Argument(
            help="A newer table of edges, or a whole graph in .npz or .graphml: the same nodes, or more. "
            "[default: the run's own data]"
        ),
    ] = None,
    nodes: Annotated[
        str | None, typer.Argument(help="The matching table of nodes, with the columns used in training.")
    ] = None,
    out: options.OutTable = None,
    device: options.Device = "auto",
    spreadsheet_safe: options.SpreadsheetSafe = False,
) -> None:
    """Predict the class, or the number, of every node with the model of a run."""
    options.check_target(out)
    options.check_run(run)
    options.check_device(device)

    from hiergcn.files import DIGITS, write_csv
    from hiergcn.run.predict import predictions_again, predictions_on
    from hiergcn.run.run import Run
    from hiergcn.run.source import Source, newer_graph

    loaded = Run.load(run)
    screen = console(stderr=True)  # stdout may hold the table
    if edges is None:
        frame = predictions_again(loaded, options.read_data(Source.of_run(loaded)).graph, device)
        about = f", in agreement with {run / 'predictions.csv'}"
    else:
        graph = newer_graph(loaded, edges, nodes)
        frame = predictions_on(loaded, graph, device)
        about = f", {int((~frame['seen']).sum()):,} of them of nodes that the run did not have"
        for note in graph.notes:
            screen.print(f"Note: {printable(note)}", style="yellow", soft_wrap=True)
    digits = DIGITS if loaded.target.kind == "classes" else None  # numbers are rounded already
    try:
        write_csv(frame, sys.stdout if out is None else out, spreadsheet=spreadsheet_safe, digits=digits)
        sys.stdout.flush()
    except OSError as error:
        error.filename = error.filename or "Standard output"
        raise
    where = "" if out is None else f", written to {out}"
    screen.print(f"{len(frame):,} predictions{about}{where}", soft_wrap=True)
