"""`hiergcn export`: the networks of a run as ONNX, to predict without torch and hiergcn."""

from pathlib import Path
from typing import Annotated

import typer

from hiergcn.cli import options
from hiergcn.cli.terminal import console


def export(
    run: options.Run,
    onnx: Annotated[
        Path, typer.Option(metavar="FILE", help="The .onnx file to write; its inputs go to an .npz beside it.")
    ],
) -> None:
    """Export the networks of a run, after propagation, as ONNX."""
    options.check_target(onnx)
    options.check_run(run)
    typer.echo(f"Exporting {run}")

    from hiergcn.run.onnx import export_onnx, largest_difference
    from hiergcn.run.run import Run
    from hiergcn.run.source import Source

    loaded = Run.load(run)
    exported = export_onnx(loaded, options.read_data(Source.of_run(loaded)).graph, onnx)
    screen = console()
    sizes = ", ".join(f"{name} {' × '.join(f'{n:,}' for n in shape)}" for name, shape in exported.shapes.items())
    graph = "for any nodes" if exported.any_nodes else "with the graph inside, for these nodes in this order"
    screen.print(f"Network: {exported.model}, {graph}; it gives {exported.output}", soft_wrap=True)
    screen.print(f"Inputs:  {exported.inputs} ({sizes}; ids and class_names)", soft_wrap=True)
    difference = largest_difference(exported, loaded)
    if difference is not None:
        screen.print(f"The largest difference from the run's own {exported.output} is {difference:.1g}.")
