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

    from hiergcn.explain.node import Explanation

SHOWN_LETTERS = 40
SHOWN = 8  # members of a hyper-node; the JSON file has more


def explain(
    run: options.Run,
    node: Annotated[str, typer.Option(metavar="ID", help="Id of the node.")],
    class_: Annotated[
        str | None, typer.Option("--class", metavar="NAME", help="Class to explain. [default: the predicted one]")
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="Nodes and features to show.")] = 10,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A JSON file to write as well.", rich_help_panel=options.RESULTS)
    ] = None,
    device: options.Device = "auto",
) -> None:
    """Explain the prediction of a node."""
    options.check_target(out)
    options.check_run(run)
    options.check_device(device)

    from hiergcn.files import written_whole
    from hiergcn.run.folder import load_run
    from hiergcn.run.predict import explain as explain_node
    from hiergcn.run.source import Source

    loaded = load_run(run)
    graph = options.read_data(Source.of_run(loaded)).graph
    found = explain_node(loaded, graph, node, class_=class_, top=top, device=device)
    _print(console(), found)
    if out is not None:
        with written_whole(out) as part:
            part.write_text(json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _print(out: "Console", found: "Explanation") -> None:
    _print_prediction(out, found)
    if found.methods:
        said = [(one.name, f"{one.weight:.0%}", one.predicted, percent(one.probability)) for one in found.methods]
        columns = ("method", "weight", "says", f"{found.explained} %")
        kept = 3 if found.probability is None else 4  # numbers have no probability
        title = "The methods of the answer"
        print_table(out, columns[:kept], [row[:kept] for row in said], title=title)
    digits = "+.4g" if found.probability is None else "+.3f"
    by_hops = [("the node itself" if hops == "0" else hops, format(share, digits)) for hops, share in _reached(found)]
    nodes = [(one.id, "-" if one.hops is None else str(one.hops), format(one.share, digits)) for one in found.nodes]
    features = [(one.name, format(one.share, digits)) for one in found.features]
    tables: list[tuple[str, tuple[str, ...], Sequence[tuple[str, ...]]]] = [
        ("By distance in edges", ("distance", "share"), by_hops),
        ("Labelled nodes" if found.by_labels else "Nodes", ("node", "edges away", "share"), nodes),
        ("Labels" if found.by_labels else "Features", ("feature", "share"), features),
    ]
    for title, names, rows in tables:
        out.print()
        print_table(out, names, rows, title=title, letters=SHOWN_LETTERS)
    for group in found.hyper_nodes:
        out.print()
        out.print(f"Level {group.level}: one hyper-node of {group.size:,} nodes, share {format(group.share, digits)}")
        out.print(f"  labels given: {_counts(group.given)}; predicted: {_counts(group.predicted)}", soft_wrap=True)
        listed = ", ".join(printable(name)[:SHOWN_LETTERS] for name in group.members[:SHOWN])
        more = f" and {group.size - SHOWN:,} more" if group.size > SHOWN else ""
        out.print(f"  members: {listed}{more}", soft_wrap=True)


def _print_prediction(out: "Console", found: "Explanation") -> None:
    """Say what is predicted, and what the contributions add up to."""
    if found.probability is None:
        out.print(f"{printable(found.explained)} of {printable(found.id)} is predicted to be {found.predicted}")
        if found.set is not None and found.coverage is not None:
            out.print(f"Interval of {100 * found.coverage:g} %: {found.set}")
        without = "is the mean of the training values" if found.by_labels else "without any features"
        alone = f"{found.score:.6g} by {found.method} alone, {found.without:.6g} {without}"
        out.print(f"{alone}. Contributions to the difference:", soft_wrap=True)
        return
    out.print(f"{printable(found.id)} is predicted to be {printable(found.predicted)}")
    if found.set is not None and found.coverage is not None:
        out.print(f"Prediction set of {100 * found.coverage:g} %: {printable(found.set)}", soft_wrap=True)
    what = f"Score of {printable(found.explained)}: {found.score:+.3f}"
    probability = f"probability {percent(found.probability)} %"
    if found.by_labels:
        out.print(f"{what} (its share of the labels nearby less the mean of all; {probability}). Contributions:")
    else:
        out.print(
            f"{what} (its logit less the mean of all; {probability}), {found.without:+.3f} without any features. "
            "Contributions to the difference:"
        )


def _reached(found: "Explanation") -> list[tuple[str, float]]:
    """Return the contributions by distance, up to the last that is not 0."""
    hops = list(found.hops.items())
    last = max((place for place, (_, share) in enumerate(hops) if share), default=0)
    return hops[: last + 1]


def _counts(classes: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {printable(name)}" for name, count in list(classes.items())[:SHOWN]) or "none"
