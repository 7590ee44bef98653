"""`hiergcn fit`: train a model for each seed, print what came out, write the run folder."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiergcn.errors import InputError

if TYPE_CHECKING:
    from hiergcn.cli.data import Data
    from hiergcn.graph import Split
    from hiergcn.run.result import RunResult
    from hiergcn.run.settings import Settings

INTERRUPTED = 130  # what shells make of Ctrl-C
SPLIT_SEED = 0
BASELINE_SEEDS = 3
SPLIT_FROM = (
    f"drawn: of each class a fifth for validation and a fifth, if it has five labels, for test (seed {SPLIT_SEED})"
)


def fit(
    data: Annotated[str, typer.Argument(help="A dataset (see `hiergcn datasets`) or a CSV of edges.")],
    nodes: Annotated[str | None, typer.Argument(help="A CSV of nodes: ids, features, labels.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the labels in NODES; blank means unknown.")] = None,
    id_: Annotated[str | None, typer.Option("--id", help="Column of the ids in NODES.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of the weights in DATA. [default: weight]")] = None,
    split_column: Annotated[
        str | None, typer.Option(help="Column in NODES that says train, validation, test or nothing. [default: split]")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column of NODES to leave out; may be repeated.")] = None,
    model: Annotated[str, typer.Option(help="The method.")] = "hgcn",
    preset: Annotated[
        str | None, typer.Option(help="Settings to begin from, e.g. paper or reference. [default: the model's own]")
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
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results, not there yet. [default: the next free one in runs/]")
    ] = None,
) -> None:
    """Train a model on a graph and predict the class of every node."""
    changes = _changes(set_ or [], levels)

    from hiergcn.cli.data import Source
    from hiergcn.cli.summary import print_summary
    from hiergcn.cli.terminal import console
    from hiergcn.report import write_report
    from hiergcn.run.folder import check_free, write_run
    from hiergcn.run.settings import settings_for

    source = Source(data, nodes, label, id_, weight, split_column, tuple(drop or ()))
    settings = settings_for(model, preset, source.dataset).override(changes)
    folder = next_free(Path("runs") / f"{source.name}-{model}") if out is None else out
    check_free(folder)
    read = source.read()
    read = read if read.split else replace(read, split=_split(read), split_from=SPLIT_FROM)
    notes: tuple[str, ...] = ()
    if preset is None and not source.is_dataset:
        settings, notes = _adapted(read, model, changes)
    result = _train(read, settings, seeds, device, known=source.is_dataset, notes=notes)
    if baselines or (baselines is None and not source.is_dataset):
        result = _with_baselines(result, seeds, source.dataset, device)
    folder = next_free(folder)  # another run may have taken it meanwhile
    how = {"split": read.split_from, "command": shlex.join(["hiergcn", *sys.argv[1:]])}
    write_run(result, folder, source.recorded() | how)
    write_report(folder)
    print_summary(console(), result, folder, asked=seeds)
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)


def _changes(pairs: list[str], levels: int | None) -> dict[str, str]:
    changes = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key.strip() or not equals:
            raise InputError(f"--set {pair}: write it as KEY=VALUE, e.g. --set hidden=32.")
        changes[key.strip()] = value.strip()
    return changes if levels is None else changes | {"levels": str(levels)}


def _adapted(data: "Data", model: str, changes: dict[str, str]) -> "tuple[Settings, tuple[str, ...]]":
    """Settings that suit the user's graph, where they gave none, and why."""
    from hiergcn.run.adapt import adapted_settings

    assert data.split is not None  # noqa: S101  (the caller has made one where there was none)
    data.split.check(data.graph)
    adapted = adapted_settings(data.graph, data.split, model)
    return adapted.settings.override(changes), adapted.notes(overridden=changes)


def _with_baselines(result: "RunResult", seeds: int, dataset: str | None, device: str) -> "RunResult":
    """The result with what simpler methods give; Ctrl-C goes on without them."""
    from hiergcn.cli.terminal import console
    from hiergcn.run.baselines import fit_baselines

    if result.interrupted:
        return result
    console().print("Fitting simpler methods on the same split ..")
    few = range(min(seeds, BASELINE_SEEDS))
    try:
        found = fit_baselines(
            result.graph, result.split, few, dataset=dataset, leave_out=[result.settings.method], device=device
        )
    except KeyboardInterrupt:
        return replace(result, notes=(*result.notes, "the comparison with simpler methods was stopped"))
    return replace(result, baselines=found)


def _train(
    data: "Data", settings: "Settings", seeds: int, device: str, known: bool, notes: tuple[str, ...] = ()
) -> "RunResult":
    from hiergcn.cli.progress import fit_progress
    from hiergcn.cli.terminal import complain, console, printable
    from hiergcn.run.fit import fit as run_fit
    from hiergcn.run.recipes import published

    graph, split = data.graph, data.split
    assert split is not None  # noqa: S101  (the caller has made one where there was none)
    claim = published(settings.method, graph.name) if known else None
    screen = console()
    screen.print(
        f"{printable(graph.name)}: {graph.n_nodes:,} nodes, {graph.n_edges:,} edges, {graph.n_features:,} features, "
        f"{graph.n_classes} classes"
    )
    parts = ", ".join(f"{len(getattr(split, part)):,} {part}" for part in ("train", "validation", "test"))
    screen.print(f"Labelled nodes: {parts}; the split is {printable(data.split_from or 'not recorded')}")
    if not len(split.test):
        screen.print("No labels are left for a test: the figure will be that of validation.", style="yellow")
    try:
        with fit_progress(screen, seeds, settings.train.epochs) as progress:
            return run_fit(
                graph, split, settings, range(seeds), device=device, listener=progress, claim=claim, notes=notes
            )
    except KeyboardInterrupt:
        complain("Stopped before the first seed was finished: nothing was written.")
        raise typer.Exit(INTERRUPTED) from None


def _split(data: "Data") -> "Split":
    """A stratified split of the user's labels."""
    from hiergcn.graph import Split

    if data.graph.labels is None:
        raise InputError(
            f"{data.graph.name} has no labels to learn from: name a CSV of nodes and its column of labels with --label."
        )
    return Split.holdout(data.graph.labels, seed=SPLIT_SEED)


def next_free(folder: Path) -> Path:
    """The folder itself, or the first of folder-2, folder-3, .. that is not taken."""
    number, candidate = 1, folder
    while candidate.is_symlink() or candidate.is_file() or (candidate.is_dir() and any(candidate.iterdir())):
        number += 1
        candidate = folder.with_name(f"{folder.name}-{number}")
    return candidate
