"""`hiergcn explain`: which nodes, features and hyper-nodes contributed to a prediction."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiergcn.cli import options
from hiergcn.cli.terminal import console, percent, print_table, printable

if TYPE_CHECKING:
    from rich.console import Console

    from hiergcn.explanation.node import Explanation

SHOWN_LETTERS = 40
SHOWN = 8  # members of a hyper-node; the JSON file has more


def explain(
    run: options.Run,
    node: Annotated[str, typer.Option(metavar="ID", help="Id of the node.")],
    class_: Annotated[
        str | None, typer.Option("--class", metavar="NAME", help="Class to explain. [default: the predicted one]")
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="Nodes and features to show.")] = 10,
    out: Annotated[Path | None, options.in_results("FILE", "A JSON file to write as well.")] = None,
    device: options.Device = "auto",
) -> None:
    """Explain the prediction of a node."""
    options.check_target(out)
    options.check_run(run)
    options.check_device(device)

    from hiergcn.files import write_text
    from hiergcn.run.predict import explain as explain_node
    from hiergcn.run.run import Run
    from hiergcn.run.source import Source

    loaded = Run.load(run)
    graph = options.read_data(Source.of_run(loaded)).graph
    found = explain_node(loaded, graph, node, class_=class_, top=top, device=device)
    _print(console(), found)
    if out is not None:
        write_text(out, json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n")


def _print(out: "Console", found: "Explanation") -> None:
    name, explained, predicted = (printable(text) for text in (found.id, found.explained, found.predicted))
    if found.probability is None:
        sentence, region = f"{explained} of {name} is predicted to be {predicted}.", "Interval"
    else:
        sentence, region = f"{name} is predicted to be {predicted}.", "Prediction set"
        sentence += f" The probability of {explained} is {percent(found.probability)} %."
    out.print(sentence, soft_wrap=True)
    if found.set is not None and found.coverage is not None:
        out.print(f"{region} of {100 * found.coverage:g} %: {printable(found.set)}", soft_wrap=True)
    if found.methods:
        said = [(one.name, f"{100 * one.weight:.0f}", one.predicted, percent(one.probability)) for one in found.methods]
        columns = ("method", "weight %", "predicts", f"{found.explained} %")
        kept = 3 if found.probability is None else 4  # numbers have no probability
        out.print()
        print_table(out, columns[:kept], [row[:kept] for row in said], title="Methods of the answer")
    out.print(f"\n{_score(found)}")
    digits = "+.4g" if found.probability is None else "+.3f"
    last = max((number for number, share in enumerate(found.hops.values()) if share), default=0)
    reached = list(found.hops.items())[: last + 1]  # those farther away contribute nothing
    by_hops = [("the node itself" if hops == "0" else hops, format(share, digits)) for hops, share in reached]
    nodes = [(one.id, "-" if one.hops is None else str(one.hops), format(one.share, digits)) for one in found.nodes]
    features = [(one.name, format(one.share, digits)) for one in found.features]
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


def _score(found: "Explanation") -> str:
    """Return what the contributions add up to, in words."""
    explained, method = printable(found.explained), found.method
    if found.methods:
        features = "" if found.by_labels else " that uses features"
        method = f"Explained by {method}, the method with the largest weight{features}"
    digits = ".6g" if found.probability is None else "+.3f"
    score, without = format(found.score, digits), format(found.without, digits)
    if found.probability is None:
        start = "the mean of the training values" if found.by_labels else "its prediction without any features"
        return f"{method}: {score} is predicted, and {start} is {without}. Contributions add up to the difference."
    if found.by_labels:
        meaning = "its share of the labels nearby minus the mean over the classes"
        return f"{method}: the score of {explained} is {score}, {meaning}. Contributions add up to it."
    return (
        f"{method}: the score of {explained} is {score}, its logit minus the mean over the classes; without any "
        f"features it is {without}. Contributions add up to the difference."
    )


def _counts(classes: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {printable(name)}" for name, count in list(classes.items())[:SHOWN]) or "none"
