"""`hiergcn fit`: train a model for each seed, print what came out, write the run folder."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiergcn.cli import options
from hiergcn.cli.asked import INTERRUPTED, changes, next_free, with_split
from hiergcn.cli.named import of_graph

if TYPE_CHECKING:
    from hiergcn.cli.data import Data, Source
    from hiergcn.run.adapt import ChosenSettings

SHOWN = 4  # settings in a line, those that differ from graph to graph first
MANY_NODES = 200_000  # above, processes would want more memory than time is worth


@of_graph
def fit(
    source: "Source",
    model: options.Model = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Settings to begin from: paper, reference (the authors' code), plus (H-GCN+) or plus-few (H-GCN+ for "
            "a handful of labels). [default: the model's own]"
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, help="Runs 0 to N-1, for a mean with its spread; the paper's tables take 20.")
    ] = 5,
    levels: Annotated[int | None, typer.Option(help="Coarsening levels; short for --set levels=N.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be given repeatedly.")
    ] = None,
    baselines: Annotated[
        bool | None,
        typer.Option(help="Fit label propagation, a perceptron and GCN too. [default: for your own files]"),
    ] = None,
    device: options.Device = "auto",
    workers: options.Workers = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say why each setting was chosen.")] = False,
    spreadsheet_safe: options.SpreadsheetSafe = False,
    out: options.Out = None,
) -> None:
    """Train a model on a graph and predict the class of every node."""
    changed = changes(set_, levels)

    from hiergcn.cli.progress import FitProgress, Progress
    from hiergcn.cli.summary import print_summary
    from hiergcn.cli.terminal import complain, console
    from hiergcn.report import write_report
    from hiergcn.run.adapt import method_for
    from hiergcn.run.device import cores
    from hiergcn.run.fit import BASELINES
    from hiergcn.run.fit import fit as run_fit
    from hiergcn.run.folder import check_free, write_run
    from hiergcn.run.settings import settings_for

    settings = settings_for(model or method_for(preset, source.dataset), preset, source.dataset).override(changed)
    folder = next_free(Path("runs") / f"{source.name}-{settings.method}") if out is None else out
    check_free(folder)
    data, split = with_split(source.read())
    if baselines is None:
        baselines = not source.is_dataset
    try:
        with Progress(console()) as progress:
            result = run_fit(
                data.graph,
                split,
                seeds=range(seeds),
                model=model,
                preset=preset,
                dataset=source.dataset,
                changes=changed,
                baselines=BASELINES if baselines else (),
                device=device,
                workers=workers or (cores() if data.graph.n_nodes <= MANY_NODES else 1),
                on_event=FitProgress(progress, seeds, announce=lambda chosen: _announce(data, chosen, verbose)),
            )
    except KeyboardInterrupt:
        complain("Stopped before the first seed was finished: nothing was written.")
        raise typer.Exit(INTERRUPTED) from None
    folder = next_free(folder)  # another run may have taken it meanwhile
    how = {"split": data.split_from, "command": shlex.join(["hiergcn", *sys.argv[1:]])}
    write_run(result, folder, source.recorded() | how, spreadsheet=spreadsheet_safe)
    write_report(folder, result)
    print_summary(console(), result, folder, asked=seeds)
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)


def _announce(data: "Data", chosen: "ChosenSettings", verbose: bool) -> None:
    """The graph, its split, the method and, where they were chosen for it, its settings."""
    from hiergcn.cli.terminal import console, new_table, printable

    screen = console()
    graph, (_, split) = data.graph, with_split(data)
    screen.print(
        f"{printable(graph.name)}: {graph.n_nodes:,} nodes, {graph.n_edges:,} edges, {graph.n_features:,} features, "
        f"{graph.n_classes} classes"
    )
    parts = ", ".join(f"{len(getattr(split, part)):,} {part}" for part in ("train", "validation", "test"))
    screen.print(f"Labelled nodes: {parts}; the split is {printable(data.split_from or 'not recorded')}")
    if not len(split.test):
        screen.print("No labels are left for a test: the figure will be that of validation.", style="yellow")
    if not chosen.choices:
        return
    method = chosen.settings.method
    if verbose:
        table = new_table(screen, "setting", "value", "why", title=f"\nSettings of {method} for this graph", left=3)
        for one in chosen.choices:
            table.add_row(one.setting, one.shown, one.reason)
        screen.print(table)
        return
    words = ", ".join(f"{one.setting} {one.shown}" for one in chosen.choices[:SHOWN])
    more = len(chosen.choices) - SHOWN
    rest = f" and {more} more" if more > 0 else ""
    screen.print(f"{method} with settings for this graph: {words}{rest} (why: --verbose, or the report)")
