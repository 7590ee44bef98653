"""`hiergcn tune`: search for settings by validation accuracy; a search can be resumed."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hiergcn.cli import options
from hiergcn.cli.terminal import console, percent, print_error, print_table

if TYPE_CHECKING:
    from hiergcn.comparison.tune import Trial
    from hiergcn.run.source import Source


def tune(
    context: typer.Context,
    data: options.Data,
    nodes: options.Nodes = None,
    label: options.Label = None,
    id_: options.Id = None,
    weight: options.Weight = None,
    split_column: options.SplitColumn = None,
    drop: options.Drop = None,
    unknown: options.Unknown = None,
    delimiter: options.Delimiter = None,
    model: options.Model = None,
    trials: Annotated[
        int, options.in_running("N", "Settings to try, those of an earlier search included.", min=1)
    ] = 50,
    seeds: Annotated[
        int, options.in_running("N", "Seeds per trial; their mean validation accuracy is optimised.", min=1)
    ] = 2,
    set_: Annotated[
        list[str] | None,
        options.in_method(
            "KEY=VALUE", "Fix a setting; it is not searched then. `hiergcn settings MODEL` lists them.", "--set"
        ),
    ] = None,
    device: options.Device = "auto",
    workers: Annotated[
        int | None,
        options.in_running(
            "N", "Trials at the same time. [default: 1; with Ray, as many as the cluster has room for]", min=1
        ),
    ] = None,
    engine: options.Engine = None,
    out: Annotated[
        Path | None,
        options.in_results("FOLDER", "Folder of the search, new or to be resumed. [default: runs/DATA-MODEL-tune]"),
    ] = None,
) -> None:
    """Search for good settings by validation accuracy. No test label is read."""
    from hiergcn.choose.portfolio import checked_method
    from hiergcn.run.source import Source
    from hiergcn.settings.settings import method_for

    source = Source(data, nodes, label, id_, weight, split_column, drop or (), unknown, delimiter)
    changes = options.parse_changes(set_)
    options.check_device(device)
    method = checked_method(model or method_for(None, source.dataset), None, source.dataset, changes)
    options.announce(source)

    read = options.read_data(source)
    read.check_labels()  # a wrong column is found before torch is imported

    from hiergcn.cli.progress import Progress
    from hiergcn.comparison.comparison_page import tuning_figure
    from hiergcn.comparison.tune import JOURNAL, write_tuning
    from hiergcn.comparison.tune import tune as search
    from hiergcn.run.out_folder import check_free

    folder = Path("runs") / f"{source.name}-{method}-tune" if out is None else out
    if not (folder / JOURNAL).is_file():
        check_free(folder)
    where = options.open_engine(context, engine, workers)
    screen = console()
    screen.print(f"Search in {folder}: {trials} trials of {seeds} seeds; Ctrl-C keeps finished trials.", soft_wrap=True)
    with Progress(screen, where) as progress:

        def on_event(trial: "Trial") -> None:
            result = f"validation {percent(trial.accuracy)} %" if trial.failure is None else f"failed: {trial.failure}"
            values = ", ".join(f"{name}={_short(value)}" for name, value in trial.settings.items())
            progress.note(f"trial {trial.number}: {result} ({values})")
            progress.advance(trial.number + 1)

        progress.start("trials", trials)
        tuning = search(
            read.graph,
            read.split,
            folder,
            model=method,
            dataset=source.dataset,
            changes=changes,
            trials=trials,
            seeds=range(seeds),
            device=device,
            on_event=on_event,
            workers=workers,
            engine=where,
        )
    if not tuning.trials:
        print_error("Stopped before the first trial was finished.")
        raise typer.Exit(options.INTERRUPTED)
    write_tuning(tuning, folder, options.command_line())
    tuning_figure(tuning).save(folder / "tuning.svg")
    best = tuning.best
    screen.print()
    title = f"Trial {best.number}: validation {percent(best.accuracy)} %"
    rows = [(name, _short(value), percent(tuning.importance.get(name))) for name, value in best.settings.items()]
    print_table(screen, ("setting", "best", "importance %"), rows, title=title)
    screen.print("Importance: share of the differences in validation accuracy that the setting explains.")
    screen.print(
        "The best of many trials is optimistic on validation; only a test shows how good it is. To fit with it:"
    )
    screen.print(_fit_command(source, method, changes | best.settings), soft_wrap=True)
    screen.print(f"Trials, recipe and figure: {folder}", soft_wrap=True)
    if tuning.interrupted:
        screen.print("Stopped early; run the same command to continue.", style="yellow")
        raise typer.Exit(options.INTERRUPTED)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _fit_command(source: "Source", model: str | None, settings: dict[str, Any]) -> str:
    """Return the command that fits with the best settings."""
    words = ["hiergcn", "fit", source.data, *([source.nodes] if source.nodes else [])]
    for option, value in (
        ("--label", source.label),
        ("--id", source.id),
        ("--weight", source.weight),
        ("--split-column", source.split_column),
        *(("--drop", name) for name in source.drop),
        *(("--unknown", word) for word in source.unknown or ()),
        ("--delimiter", source.delimiter),
        ("--model", model),
        *(("--set", f"{name}={value}") for name, value in settings.items()),
    ):
        words += [] if value is None else [option, value]
    return shlex.join(words)
