"""`hiergcn suggest`: which nodes to label next, before any fit or after one."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from hiergcn.cli import options
from hiergcn.cli.terminal import console, printable


def suggest(
    data: Annotated[
        str,
        typer.Argument(
            help="A folder that `hiergcn fit` wrote; or a table of edges, a whole graph, or a dataset.",
            autocompletion=options.complete_data,
        ),
    ],
    nodes: options.Nodes = None,
    budget: Annotated[int, typer.Option(metavar="N", min=1, help="Number of nodes to suggest.")] = 20,
    label: options.Label = None,
    target: options.Target = None,
    id_: options.Id = None,
    weight: options.Weight = None,
    drop: options.Drop = None,
    unknown: options.Unknown = None,
    delimiter: options.Delimiter = None,
    labels: options.Labels = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="For the random draws.")] = 0,
    out: options.OutTable = None,
    spreadsheet_safe: options.SpreadsheetSafe = False,
) -> None:
    """Suggest which nodes to label next; fill in the labels and give the file to `fit --labels`."""
    options.check_target(out)

    from hiergcn.files import write_csv
    from hiergcn.run.source import Source

    if Path(data).is_dir() or data.endswith("/"):
        from hiergcn.advise.suggest import suggest as suggest_nodes
        from hiergcn.run.predict import training_graph
        from hiergcn.run.run import Run

        run = Run.load(Path(data))
        confidence = run.table.get("confidence")  # numbers have none
        graph = training_graph(run, options.read_data(Source.of_run(run)).graph)
        frame = suggest_nodes(
            graph, budget, confidence=None if confidence is None else confidence.to_numpy(), seed=seed
        )
    else:
        source = Source(data, nodes, label, id_, weight, None, drop or (), unknown, delimiter, labels or (), target)
        graph = options.read_data(source).graph  # a wrong column is found before torch is imported

        from hiergcn.advise.suggest import suggest as suggest_nodes

        for note in graph.notes:
            console(stderr=True).print(f"Note: {printable(note)}", style="yellow", soft_wrap=True)
        frame = suggest_nodes(graph, budget, seed=seed)
    write_csv(frame, sys.stdout if out is None else out, spreadsheet=spreadsheet_safe)
    where = "" if out is None else f", written to {out}. Fill in its column label and give it to fit: --labels {out}"
    console(stderr=True).print(f"{len(frame):,} nodes to label{where}", soft_wrap=True)  # stdout may hold the table
