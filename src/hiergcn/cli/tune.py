"""`hiergcn tune`: search for settings on validation, go on where the last search stopped, show what mattered."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hiergcn.cli import options
from hiergcn.cli.asked import INTERRUPTED, adapted, changes, with_split
from hiergcn.cli.named import of_graph

if TYPE_CHECKING:
    from rich.console import Console

    from hiergcn.cli.data import Source
    from hiergcn.run.tune import Trial, Tuning


@of_graph
def tune(
    source: "Source",
    model: options.Model = None,
    trials: Annotated[int, typer.Option(min=1, help="Settings to try, those of an earlier search included.")] = 50,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each, whose mean counts.")] = 2,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Fix a setting, which is then not searched.")
    ] = None,
    device: options.Device = "auto",
    out: Annotated[
        Path | None, typer.Option(help="Folder of the search, new or to go on with. [default: runs/DATA-MODEL-tune]")
    ] = None,
) -> None:
    """Search for good settings by validation accuracy. No test label is looked at."""
    from hiergcn.cli.terminal import complain, console
    from hiergcn.run.adapt import method_for
    from hiergcn.run.folder import check_free
    from hiergcn.run.settings import settings_for
    from hiergcn.run.tune import JOURNAL
    from hiergcn.run.tune import tune as search

    changed = changes(set_)
    method = model or method_for(None, source.dataset)
    base = settings_for(method, None, source.dataset).override(changed)
    folder = Path("runs") / f"{source.name}-{method}-tune" if out is None else out
    if not (folder / JOURNAL).is_file():
        check_free(folder)
    read, split = with_split(source.read())
    if not source.is_dataset:
        base = adapted(read, method, changed).settings
    screen = console()
    screen.print(f"Search in {folder}: {trials} trials of {seeds} seeds; Ctrl-C keeps those that are finished.")
    tuning = search(
        read.graph,
        split,
        base,
        folder,
        trials=trials,
        seeds=range(seeds),
        fixed=changed,
        device=device,
        on_trial=lambda trial: _say(screen, trial),
    )
    if not tuning.trials:
        complain("Stopped before the first trial was finished.")
        raise typer.Exit(INTERRUPTED)
    _write(tuning, folder)
    _print(screen, tuning, folder, _fit_command(source, model, changed | tuning.best.settings))
    if tuning.interrupted:
        raise typer.Exit(INTERRUPTED)


def _say(out: "Console", trial: "Trial") -> None:
    from hiergcn.cli.terminal import percent, printable

    result = (
        f"validation {percent(trial.accuracy)} %" if trial.failure is None else f"failed: {printable(trial.failure)}"
    )
    out.print(f"trial {trial.number}: {result} ({_shown(trial.settings)})", soft_wrap=True)


def _shown(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name}={_value(value)}" for name, value in settings.items())


def _value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _write(tuning: "Tuning", folder: Path) -> None:
    """trials.csv, best.toml, and the picture."""
    import pandas as pd

    from hiergcn.files import written_whole
    from hiergcn.report.figures import tuning_figure
    from hiergcn.report.svg import save_figure
    from hiergcn.run.tune import recipe

    table = pd.DataFrame(
        {"trial": one.number, "val_accuracy": one.accuracy, "val_loss": one.loss, "seconds": one.seconds}
        | one.settings
        | {"failure": one.failure}
        for one in tuning.trials
    )
    with written_whole(folder / "trials.csv") as part:
        table.to_csv(part, index=False)
    about = f"Best of {len(tuning.trials)} trials by validation accuracy: {shlex.join(['hiergcn', *sys.argv[1:]])}"
    with written_whole(folder / "best.toml") as part:
        part.write_text(recipe(tuning, about), encoding="utf-8")
    save_figure(tuning_figure(tuning), folder, "tuning")


def _fit_command(source: "Source", model: str | None, settings: dict[str, Any]) -> str:
    """The command that fits with the best settings."""
    words = ["hiergcn", "fit", source.data, *([source.nodes] if source.nodes else [])]
    for option, value in (
        ("--label", source.label),
        ("--id", source.id),
        ("--weight", source.weight),
        ("--split-column", source.split_column),
        *(("--drop", name) for name in source.drop),
    ):
        words += [option, value] if value else []
    words += ["--model", model] if model else []
    for name, value in settings.items():
        words += ["--set", f"{name}={value}"]
    return shlex.join(words)


def _print(out: "Console", tuning: "Tuning", folder: Path, command: str) -> None:
    from hiergcn.cli.terminal import new_table, percent

    best = tuning.best
    out.print()
    table = new_table(out, "setting", "best", "share %", title=f"Trial {best.number}: {percent(best.accuracy)} %")
    for name, value in best.settings.items():
        table.add_row(name, _value(value), percent(tuning.importance.get(name)))
    out.print(table)
    out.print("Share: of the validation accuracy that the setting decides.")
    out.print(
        "The best of many trials flatters itself on validation; only a test says how good it is. To fit with it:",
    )
    out.print(command, soft_wrap=True)
    out.print(f"Trials, recipe and picture: {folder}", soft_wrap=True)
    if tuning.interrupted:
        out.print("Stopped early; the same command goes on.", style="yellow")
