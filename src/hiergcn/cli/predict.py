"""`hiergcn predict`: the predictions of a run, computed again from its weights and its data."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiergcn.errors import InputError

if TYPE_CHECKING:
    from hiergcn.graph import Graph
    from hiergcn.run.folder import LoadedRun


def predict(
    run: Annotated[Path, typer.Argument(help="A folder that `hiergcn fit` wrote.")],
    out: Annotated[Path | None, typer.Option(help="A CSV to write. [default: standard output]")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
) -> None:
    """Predict the class of every node with the model of a run."""
    if out is not None and out.exists():
        raise InputError(f"{out} exists already; name another file or move that one away.")

    from hiergcn.cli.terminal import console
    from hiergcn.files import written_whole
    from hiergcn.graph.cells import write_cells
    from hiergcn.run.folder import load_run
    from hiergcn.run.predict import predictions_again

    loaded = load_run(run)
    frame = predictions_again(loaded, _graph(loaded), device)
    if out is None:
        write_cells(frame, sys.stdout)
    else:
        with written_whole(out) as part:
            write_cells(frame, part)
    where = "" if out is None else f", written to {out}"
    message = f"{len(frame):,} predictions, in agreement with {run / 'predictions.csv'}{where}"
    console(stderr=True).print(message, soft_wrap=True)


def _graph(loaded: "LoadedRun") -> "Graph":
    """The graph that the run was made of."""
    from hiergcn.cli.data import Source

    recorded = {key: value for key, value in loaded.config["source"].items() if key not in ("command", "split")}
    if "data" not in recorded:
        raise InputError(f"{loaded.path} does not say where its graph came from: it was not made by `hiergcn fit`.")
    return Source(**recorded).read().graph
