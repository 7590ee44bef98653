"""Commands on a finished run: `hiergcn predict`, `explain`, `suggest`, `export` and `report`.

`suggest` also takes a graph, before any fit.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hiergcn.cli import options
from hiergcn.cli.terminal import console, percent, print_table, printable

if TYPE_CHECKING:
    from rich.console import Console

    from hiergcn.explanation.node import Explanation
    from hiergcn.run.source import Source

SHOWN_LETTERS = 40
SHOWN = 8  # members of a hyper-node; the JSON file has more


@options.command(
    edges=options.argument(
        "A newer table of edges, or a whole graph in .npz or .graphml: the same nodes, or more. [default: the run's "
        "own data]"
    ),
    nodes=options.argument("The matching table of nodes, with the columns used in training."),
    out=options.OUT_TABLE,
)
def predict(
    run: Path,
    edges: str | None = None,
    nodes: str | None = None,
    out: Path | None = None,
    device: str = "auto",
    spreadsheet_safe: bool = False,
) -> None:
    """Predict the class, or the number, of every node with the model of a run."""
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
        guesses = 0 if "reached" not in frame else int((~frame["reached"]).sum())
        unreached = f"nodes that no label reaches, whose predictions are guesses (column `reached`): {guesses:,}"
        for note in (*graph.notes, *([unreached] if guesses else [])):
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


@options.command(
    node=options.option("ID", "Id of the node."),
    class_=options.option("NAME", "Class to explain. [default: the predicted one]", "--class"),
    top=options.option("N", "Nodes and features to show.", min=1),
    out=options.in_results("FILE", "A JSON file to write as well.", callback=options.check_target),
)
def explain(
    run: Path, node: str, class_: str | None = None, top: int = 10, out: Path | None = None, device: str = "auto"
) -> None:
    """Explain the prediction of a node."""
    from hiergcn.files import write_text
    from hiergcn.run.predict import explain as explain_node

    found = explain_node(*options.read_run(run), node, class_=class_, top=top, device=device)
    _print_explanation(console(), found)
    if out is not None:
        write_text(out, json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n")


def _print_explanation(out: "Console", found: "Explanation") -> None:
    name, explained, predicted = (printable(text) for text in (found.id, found.explained, found.predicted))
    is_number, method = found.probability is None, found.method
    score, without = (format(value, ".6g" if is_number else "+.3f") for value in (found.score, found.without))
    if is_number:
        sentence, region, digits = f"{explained} of {name} is predicted to be {predicted}.", "Interval", "+.4g"
        start = "the mean of the training values" if found.by_labels else "its prediction without any features"
        said = f"{score} is predicted, and {start} is {without}. Contributions add up to the difference."
    else:
        sentence, region, digits = f"{name} is predicted to be {predicted}.", "Prediction set", "+.3f"
        sentence += f" The probability of {explained} is {percent(found.probability)} %."
        said = f"the score of {explained} is {score}, its logit minus the mean over the classes; without any features "
        said += f"it is {without}. Contributions add up to the difference."
        if found.by_labels:
            said = f"the score of {explained} is {score}, its share of the labels nearby minus the mean over the "
            said += "classes. Contributions add up to it."
    out.print(sentence, soft_wrap=True)
    if found.set is not None and found.coverage is not None:
        out.print(f"{region} of {100 * found.coverage:g} %: {printable(found.set)}", soft_wrap=True)
    if found.methods:
        kept = slice(3 if is_number else 4)  # numbers have no probability
        cells = [(of.name, f"{100 * of.weight:.0f}", of.predicted, percent(of.probability)) for of in found.methods]
        columns = ("method", "weight %", "predicts", f"{found.explained} %")
        out.print()
        print_table(out, columns[kept], [row[kept] for row in cells], title="Methods of the answer")
        method = f"Explained by {method}, the method with the largest weight"
        method += "" if found.by_labels else " that uses features"
    out.print(f"\n{method}: {said}")
    last = max((number for number, share in enumerate(found.hops.values()) if share), default=0)
    reached = list(found.hops.items())[: last + 1]  # those farther away contribute nothing
    by_hops = [("the node itself" if hops == "0" else hops, format(share, digits)) for hops, share in reached]
    nodes = [(of.id, "-" if of.hops is None else str(of.hops), format(of.share, digits)) for of in found.nodes]
    features = [(of.name, format(of.share, digits)) for of in found.features]
    tables: list[tuple[str, tuple[str, ...], Sequence[tuple[str, ...]]]] = [
        ("Contributions by distance", ("edges away", "contribution"), by_hops),
        ("Labelled nodes" if found.by_labels else "Nodes", ("node", "edges away", "contribution"), nodes),
        ("Labels" if found.by_labels else "Features", ("feature", "contribution"), features),
    ]
    for title, names, rows in tables:
        out.print()
        print_table(out, names, rows, title=title, letters=SHOWN_LETTERS)
    for group in found.hyper_nodes:
        out.print()
        share = format(group.share, digits)
        out.print(f"Level {group.level}: a hyper-node of {group.size:,} nodes, contribution {share}")
        out.print(f"  labels given: {_counts(group.given)}; predicted: {_counts(group.predicted)}", soft_wrap=True)
        listed = ", ".join(printable(name)[:SHOWN_LETTERS] for name in group.members[:SHOWN])
        more = f" and {group.size - SHOWN:,} more" if group.size > SHOWN else ""
        out.print(f"  members: {listed}{more}", soft_wrap=True)


def _counts(classes: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {printable(name)}" for name, count in list(classes.items())[:SHOWN]) or "none"


@options.command(
    "split_column",
    data=options.argument(
        "A folder that `hiergcn fit` wrote; or a table of edges, a whole graph, or a dataset.", options.complete_data
    ),
    budget=options.option("N", "Number of nodes to suggest.", min=1),
    seed=options.option("N", "For the random draws.", min=0),
    out=options.OUT_TABLE,
)
def suggest(
    source: "Source", budget: int = 20, seed: int = 0, out: Path | None = None, spreadsheet_safe: bool = False
) -> None:
    """Suggest which nodes to label next; fill in the labels and give the file to `fit --labels`."""
    from hiergcn.files import write_csv

    confidence = None
    if Path(source.data).is_dir():
        from hiergcn.run.predict import training_graph

        run, graph = options.read_run(Path(source.data))
        graph = training_graph(run, graph)
        if "confidence" in run.table:  # numbers have none
            confidence = run.table["confidence"].to_numpy()
    else:
        graph = options.read_data(source).graph  # a wrong column is found before torch is imported
        for note in graph.notes:
            console(stderr=True).print(f"Note: {printable(note)}", style="yellow", soft_wrap=True)

    from hiergcn.advise.suggest import suggest as suggest_nodes

    frame = suggest_nodes(graph, budget, confidence=confidence, seed=seed)
    write_csv(frame, sys.stdout if out is None else out, spreadsheet=spreadsheet_safe)
    where = "" if out is None else f", written to {out}. Fill in its column label and give it to fit: --labels {out}"
    console(stderr=True).print(f"{len(frame):,} nodes to label{where}", soft_wrap=True)  # stdout may hold the table


@options.command(
    onnx=options.option(
        "FILE", "The .onnx file to write; its inputs go to an .npz beside it.", callback=options.check_target
    )
)
def export(run: Path, onnx: Path) -> None:
    """Export the networks of a run, after propagation, as ONNX."""
    typer.echo(f"Exporting {run}")

    from hiergcn.run.onnx import export_onnx, largest_difference

    loaded, graph = options.read_run(run)
    exported = export_onnx(loaded, graph, onnx)
    screen = console()
    sizes = ", ".join(f"{name} {' × '.join(f'{n:,}' for n in shape)}" for name, shape in exported.shapes.items())
    nodes = "for any nodes" if exported.any_nodes else "with the graph inside, for these nodes in this order"
    screen.print(f"Network: {exported.model}, {nodes}; it gives {exported.output}", soft_wrap=True)
    screen.print(f"Inputs:  {exported.inputs} ({sizes}; ids and class_names)", soft_wrap=True)
    difference = largest_difference(exported, loaded)
    if difference is not None:
        screen.print(f"The largest difference from the run's own {exported.output} is {difference:.1g}.")


@options.command(
    run=options.argument("A folder that `hiergcn fit` or `hiergcn compare` wrote."),
    open_=options.option(None, "Open the page in the browser.", "--open"),
)
def report(run: Path, open_: bool = False) -> None:
    """Write the report of a run or a comparison again."""
    from hiergcn import api

    page = api.report(run)
    console().print(f"Report: {page}", soft_wrap=True)
    if open_:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
