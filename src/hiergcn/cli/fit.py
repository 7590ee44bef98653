"""`hiergcn fit`: train a model for each seed, write the run folder and print the results."""

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hiergcn.cli import options
from hiergcn.cli.terminal import console, graph_sizes, is_first_rank, print_error, print_table, printable, split_sizes
from hiergcn.errors import HierGCNError, InputError, UnwritableError
from hiergcn.settings.settings import AUTO, value_text

if TYPE_CHECKING:
    from hiergcn.graph import Graph
    from hiergcn.run.run import Run
    from hiergcn.run.source import Source
    from hiergcn.train.events import SettingsChosen, SplitChosen

SHOWN_SETTINGS = 4  # in a line; those that differ most from graph to graph come first


@options.command(
    preset=options.in_method(
        "NAME",
        "Settings to start from: paper, reference (the authors' code), plus (H-GCN+), plus-few (for a handful of "
        "labels), long-range (for a large diameter), elsewhere (for regions without labels). [default: the model's "
        "own]",
        autocompletion=options.complete_preset,
    ),
    seeds=options.in_running(
        "N", "Train with seeds 0 to N-1, for mean and spread; auto trains as many as the time limit allows.", min=1
    ),
    levels=options.in_method("N", "Coarsening levels; short for --set levels=N."),
    baselines=options.in_method(
        None, "Also fit label propagation, a perceptron and GCN; auto tries them anyway. [default: for your own files]"
    ),
    time_limit=options.in_running(
        "SECONDS", "Time in which auto tries methods. [default: 2 to 300, by the graph's size]", min=0.0
    ),
    coverage=options.in_results(
        "SHARE",
        "Give each node the set of classes, or the interval of numbers, that holds the true one with this "
        "probability, such as 0.9. Some labels calibrate them and do not train.",
    ),
    drop_doubtful=options.in_method("N", "Train without the N labels that the other labels contradict most.", min=0),
    advice=options.in_results(None, "Look for doubtful labels and for nodes to label next; up to 200,000 nodes."),
    verbose=options.in_results(None, "Say why each setting was chosen.", "--verbose", "-v"),
    resume=options.in_running(
        None,
        "Continue a run that was killed, from the checkpoint beside --out; a complete run stays as it is.",
        "--resume",
    ),
    checkpoint_every=options.in_running("SECONDS", "Time between checkpoints; needs --out.", min=0.0),
)
def fit(
    context: typer.Context,
    source: "Source",
    model: str | None = None,
    preset: str | None = None,
    seeds: int = 5,
    levels: int | None = None,
    set_: list[str] | None = None,
    baselines: bool | None = None,
    time_limit: float | None = None,
    coverage: float | None = None,
    drop_doubtful: int = 0,
    advice: bool = True,
    device: str = "auto",
    workers: int | None = None,
    engine: str | None = None,
    verbose: bool = False,
    spreadsheet_safe: bool = False,
    out: Path | None = None,
    resume: bool = False,
    checkpoint_every: float = 30.0,
) -> None:
    """Train a model on a graph and predict the class, or a number, of every node."""
    from hiergcn.choose.portfolio import checked_method
    from hiergcn.run.out_folder import check_room, checkpoint_folder, run_size

    changes = options.parse_changes(set_, levels)
    method = checked_method(model, preset, source.dataset, changes)  # refuses unknown names before anything is read
    resume = options.check_resume(out, resume)
    if coverage is not None:
        from hiergcn.evaluate.calibration import check_coverage  # imports NumPy and SciPy

        check_coverage(coverage)
    default = Path("runs") / f"{source.name}-{method}"
    folder = options.out_folder(context, out, default) if is_first_rank() else default
    read = options.read_labelled(source)
    if is_first_rank():
        check_room(folder, run_size(read.graph, seeds))

    from hiergcn.choose.budget import default_limit
    from hiergcn.cli.progress import FitProgress, Progress
    from hiergcn.cli.summary import print_summary
    from hiergcn.model.ops.ranks import joined, rank_device
    from hiergcn.run.fit import BASELINES, DRAWN_SPLIT, checkpoint_of
    from hiergcn.run.fit import fit as run_fit
    from hiergcn.workers.machine import workers_for

    ranks = context.with_resource(joined(device))
    if ranks.size > 1 and int(changes.get("batches", 1)) < ranks.size:
        raise InputError("The ranks of torchrun share the batches of an epoch; give --set batches=N, a few per rank.")
    where = options.open_engine(context, engine, workers)
    checkpoint = None if out is None else checkpoint_of(read.graph, checkpoint_folder(out), checkpoint_every)
    split_from = read.split_from or DRAWN_SPLIT[read.graph.target.kind]
    with_baselines = not source.is_dataset if baselines is None else baselines
    limit = default_limit(read.graph.n_nodes) if time_limit is None else time_limit
    if method == AUTO:
        console().print(f"Time limit of the choice: {limit:.0f} s (--time-limit)")
    try:
        with Progress(console(), where) as progress:
            result = run_fit(
                read.graph,
                read.split,
                seeds=range(seeds),
                model=model,
                preset=preset,
                dataset=source.dataset,
                changes=changes,
                baselines=BASELINES[read.graph.target.kind] if with_baselines else (),
                device=rank_device(device),
                time_limit=limit,
                coverage=coverage,
                advise=advice and ranks.rank == 0,
                drop_doubtful=drop_doubtful,
                engine=where,
                checkpoint=checkpoint,
                workers=1 if ranks.size > 1 else workers or workers_for(read.graph.n_nodes),
                on_event=FitProgress(
                    progress,
                    seeds,
                    on_settings=lambda event: _announce(read.graph, split_from, event, verbose),
                    numbers=read.graph.targets is not None,
                ),
            )
    except HierGCNError:
        if checkpoint is not None and ranks.rank == 0:
            checkpoint.remove_if_empty()  # else the corrected command would be refused
        raise
    except KeyboardInterrupt:
        saved = out is not None and checkpoint_folder(out).exists()
        left = "the same command goes on with --resume" if saved else "nothing was written"
        print_error(f"Stopped before the first seed was finished: {left}.")
        raise typer.Exit(options.INTERRUPTED) from None
    if ranks.rank > 0:
        return
    again = resume or ranks.size > 1  # torchrun ends all ranks if one dies, and starts them again
    if result.interrupted and again and checkpoint is not None and checkpoint.is_whole:
        print_error("Stopped; finished seeds are in the checkpoint, and the same command goes on with --resume.")
        raise typer.Exit(options.INTERRUPTED)
    recorded = source.to_dict() | {"split": split_from, "command": options.command_line()}
    place, problem = _save(result.from_source(recorded, spreadsheet_safe), folder)
    if out is not None:
        shutil.rmtree(checkpoint_folder(out), ignore_errors=True)
    print_summary(console(), result, place, asked=seeds)
    if problem is not None:
        raise UnwritableError(problem)
    if result.interrupted:
        raise typer.Exit(options.INTERRUPTED)


def _save(run: "Run", folder: Path) -> tuple[Path | None, str | None]:
    """Write the run and its page. If there is no room, write the run to another place, or its predictions to stdout.

    Return the place, None for the terminal, and what went wrong if anything did.
    """
    from hiergcn.files import write_csv
    from hiergcn.run.out_folder import write_or_rescue

    try:
        place, problem = write_or_rescue(run.write, folder)
    except UnwritableError as failure:
        write_csv(run.table, sys.stdout, spreadsheet=run.config["spreadsheet_safe"])
        return None, f"{failure} The predictions and scores are printed above and nowhere else."
    problem = problem and f"{problem} The whole run is in {place}."
    try:
        run.at(place).write_page()
    except UnwritableError as error:
        problem = problem or f"{error} The run itself is in {place}; hiergcn report writes the page."
    return place, problem


def _announce(graph: "Graph", split_from: str, event: "SettingsChosen | SplitChosen", verbose: bool) -> None:
    """Print the sizes of the graph and its split, and the settings if they were chosen for the graph."""
    from hiergcn.train.events import SplitChosen

    screen = console()
    screen.print(f"{printable(graph.name)}: {graph_sizes(graph)}")
    screen.print(f"Labelled nodes: {split_sizes(event.split)}; the split is {printable(split_from)}")
    if not len(event.split.test):
        screen.print("No labels are left for a test: validation accuracy is shown instead.", style="yellow")
    if isinstance(event, SplitChosen):
        return
    choices, method = event.chosen.choices, event.chosen.settings.method
    if choices and verbose:
        rows = [(choice.setting, value_text(choice.value), choice.reason) for choice in choices]
        title = f"\nSettings of {method} for this graph"
        print_table(screen, ("setting", "value", "why"), rows, title=title, words=(0, 1, 2))
    elif choices:
        words = ", ".join(f"{choice.setting} {value_text(choice.value)}" for choice in choices[:SHOWN_SETTINGS])
        more = len(choices) - SHOWN_SETTINGS
        rest = f" and {more} more" if more > 0 else ""
        screen.print(f"{method} with settings for this graph: {words}{rest} (why: --verbose, or the report)")
