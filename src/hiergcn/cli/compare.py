"""`hiergcn compare` and `hiergcn tune`.

The one runs several methods over the same splits and seeds, with their paired differences. The other searches for
settings by validation accuracy; a search can be resumed.
"""

import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from hiergcn.cli import options
from hiergcn.cli.terminal import console, duration, percent, print_error, print_table, printable
from hiergcn.errors import UnwritableError

if TYPE_CHECKING:
    from rich.console import Console

    from hiergcn.cli.progress import Progress
    from hiergcn.comparison.compare import CompareEvent, Comparison
    from hiergcn.comparison.tune import Trial
    from hiergcn.run.source import Source


@options.command(
    *("target", "labels"),
    models=options.in_method(
        "NAMES",
        "Comma-separated; NAME or NAME:PRESET, see `hiergcn models`. [default: gcn and the default of `hiergcn fit`]",
        autocompletion=options.complete_models,
    ),
    seeds=options.in_running("N", "Run each method with seeds 0 to N-1 on each split.", min=1),
    splits=options.in_running(
        "SPLITS",
        "public; or N of a kind: random:N (20 training nodes per class, 500 validation, rest test), tenths:N (10, 10 "
        "and 80 %), blocked:N (training and test nodes in different halves of the graph), apart:N (the same, with "
        "validation nodes apart from training nodes).",
    ),
    against=options.in_method(
        "NAME",
        "The method that the others are compared with. [default: the first]",
        autocompletion=options.complete_model,
    ),
)
def compare(
    context: typer.Context,
    source: "Source",
    models: str | None = None,
    seeds: int = 6,
    splits: str = "public",
    against: str | None = None,
    set_: list[str] | None = None,
    device: str = "auto",
    engine: str | None = None,
    out: Path | None = None,
) -> None:
    """Compare methods over the same splits and seeds."""
    from hiergcn.run.out_folder import check_free
    from hiergcn.settings.settings import method_for, parse_methods

    changes = options.parse_changes(set_)
    methods = parse_methods(models or f"gcn,{method_for(None, source.dataset)}", source.dataset, changes)
    if out is not None:
        check_free(out)  # before any work is done

    from hiergcn.comparison.splits import describe_splits, parse_splits

    specs = parse_splits(splits)
    read = options.read_labelled(source)

    from hiergcn.cli.progress import Progress
    from hiergcn.comparison.compare import COMPARISON, PAGE, SCORES, MethodDone, write_comparison
    from hiergcn.comparison.compare import compare as run_compare
    from hiergcn.comparison.comparison_page import write_comparison_page
    from hiergcn.run.out_folder import write_or_rescue

    folder = options.out_folder(context, out, Path("runs") / f"{source.name}-compare")
    where, screen = options.open_engine(context, engine), console()
    which = "seed 0" if seeds == 1 else f"seeds 0 to {seeds - 1}"
    screen.print(f"{printable(read.graph.name)}: {describe_splits(specs, read.split is None)}; {which} of each method.")

    def write(folder: Path) -> None:
        write_comparison(comparison, folder)
        write_comparison_page(comparison, folder / PAGE)

    def on_event(event: "CompareEvent") -> None:
        if isinstance(event, MethodDone):  # in case the process is killed; a full disk is reported at the end
            with suppress(UnwritableError):
                write_comparison(event.so_far, folder)
        show(event)

    try:
        with Progress(screen, where) as progress:
            show = CompareProgress(progress)
            comparison = run_compare(
                read.graph,
                read.split,
                methods,
                range(seeds),
                dataset=source.dataset,
                changes=changes,
                splits=specs,
                against=against,
                device=device,
                on_event=on_event,
                command=options.command_line(),
                engine=where,
            )
    except KeyboardInterrupt:
        print_error("Stopped before the first method was finished: nothing was written.")
        raise typer.Exit(options.INTERRUPTED) from None
    _print_comparison(screen, comparison)
    place, problem = write_or_rescue(write, folder)
    screen.print(f"\nFigures: {place / COMPARISON}, {place / SCORES}", soft_wrap=True)
    screen.print(f"Page:    {place / PAGE}", soft_wrap=True)
    if problem is not None:
        raise UnwritableError(f"{problem} The comparison is in {place}.")
    if comparison.interrupted:
        raise typer.Exit(options.INTERRUPTED)


class CompareProgress:
    """Shows the events of a comparison."""

    def __init__(self, progress: "Progress") -> None:
        self.progress = progress
        self.done = self.runs = 0

    def __call__(self, event: "CompareEvent") -> None:
        from hiergcn.comparison.compare import MethodDone, MethodStarted, RunDone

        match event:
            case MethodStarted(model, runs):
                self.done, self.runs = 0, runs
                self.progress.start(model, runs)
            case RunDone(model, split, seed, failure):
                self.done += 1
                if failure is not None:
                    why = f". {failure}" if failure[:1].isupper() else f", it {failure}"
                    self.progress.note(f"{model}, split {split}, seed {seed}: failed{why}", style="yellow")
                self.progress.advance(self.done, f"{self.done} of {self.runs} runs")
            case MethodDone(run, _) if run.failure is not None:
                self.progress.note(f"{run.model}: failed. {run.failure}", style="yellow")
            case MethodDone(run, _):
                mean, seconds = percent(run.test_accuracy.mean), duration(run.seconds or 0.0)
                self.progress.note(f"{run.model}: test {mean} % over {len(run.scores)} runs, {seconds} each")


def _print_comparison(out: "Console", comparison: "Comparison") -> None:
    """Print the table and the meaning of its columns."""
    columns = ["model", "mean ± std", "failed", "s/seed", "GB", "difference, 95 %", "p"]
    rows = []
    for run in comparison.runs:
        accuracy, peak = run.test_accuracy, run.peak.gpu or run.peak.resident
        spread = "" if accuracy.std is None else f" ± {percent(accuracy.std)}"
        seconds = "-" if run.seconds is None else f"{run.seconds:.1f}"
        memory = "-" if peak is None else f"{peak / 1e9:.2f}"
        difference, p, paired = "", "", comparison.difference(run.model)
        if paired is not None and paired.mean is not None:
            known = None not in (paired.low, paired.high)
            ends = f"[{_points(paired.low)}, {_points(paired.high)}]" if known else ""
            difference = f"{_points(paired.mean)} {ends}".strip()
            p = "-" if paired.p_holm is None else "<0.001" if paired.p_holm < 1e-3 else f"{paired.p_holm:.3f}"
        failed = str(run.failed or "-")
        rows.append([run.model, percent(accuracy.mean) + spread, failed, seconds, memory, difference, p])
    if not any(run.failed for run in comparison.runs):  # in 80 letters there is no room to spare
        for row in (columns, *rows):
            del row[2]
    on = f" on each of {len(comparison.splits)} splits" if len(comparison.splits) > 1 else ""
    title = f"Test accuracy on {printable(comparison.dataset)}, %: mean of {len(comparison.seeds)} seeds{on}"
    out.print()
    print_table(out, columns, rows, title=title)
    for sentence in (*comparison.explanations, comparison.about_memory):
        out.print(sentence)
    for pair in comparison.differences:
        if pair.left_out:
            pairs = f"{pair.model} and {pair.against}: {pair.left_out} pairs"
            out.print(f"{pairs} are left out because one of the two failed.", style="yellow")
    if comparison.interrupted:
        out.print("Stopped early: only the finished methods are shown.", style="yellow")


def _points(difference: float | None) -> str:
    """Return a difference in points with its sign; 0.0 has none."""
    return f"{100 * (difference or 0.0):+.1f}".replace("-0.0", "0.0").replace("+0.0", "0.0")


@options.command(
    *("target", "labels"),
    trials=options.in_running("N", "Settings to try, those of an earlier search included.", min=1),
    seeds=options.in_running("N", "Seeds per trial; their mean validation accuracy is optimised.", min=1),
    set_=options.in_method(
        "KEY=VALUE", "Fix a setting; it is not searched then. `hiergcn settings MODEL` lists them.", "--set"
    ),
    workers=options.in_running(
        "N", "Trials at the same time. [default: 1; with Ray, as many as the cluster has room for]", min=1
    ),
    out=options.in_results("FOLDER", "Folder of the search, new or to be resumed. [default: runs/DATA-MODEL-tune]"),
)
def tune(
    context: typer.Context,
    source: "Source",
    model: str | None = None,
    trials: int = 50,
    seeds: int = 2,
    set_: list[str] | None = None,
    device: str = "auto",
    workers: int | None = None,
    engine: str | None = None,
    out: Path | None = None,
) -> None:
    """Search for good settings by validation accuracy. No test label is read."""
    from hiergcn.choose.portfolio import checked_method
    from hiergcn.settings.settings import method_for

    changes = options.parse_changes(set_)
    method = checked_method(model or method_for(None, source.dataset), None, source.dataset, changes)
    read = options.read_labelled(source)

    from hiergcn.cli.progress import Progress
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
    best = tuning.best
    screen.print()
    title = f"Trial {best.number}: validation {percent(best.accuracy)} %"
    rows = [(name, _short(value), percent(tuning.importance.get(name))) for name, value in best.settings.items()]
    print_table(screen, ("setting", "best", "importance %"), rows, title=title)
    screen.print("Importance: share of the differences in validation accuracy that the setting explains.")
    screen.print(
        "The best of many trials is optimistic on validation; only a test shows how good it is. To fit with it:"
    )
    given = {name: value for name, value in vars(source).items() if value} | {"model": method}
    given["set"], words = [f"{name}={value}" for name, value in (changes | best.settings).items()], ["hiergcn", "fit"]
    for name, values in given.items():
        option = [] if name in ("data", "nodes") else [f"--{name.replace('_', '-')}"]
        for value in values if isinstance(values, list) else [values]:
            words += [*option, value]
    screen.print(shlex.join(words), soft_wrap=True)
    screen.print(f"Trials and recipe: {folder}", soft_wrap=True)
    if tuning.interrupted:
        screen.print("Stopped early; run the same command to continue.", style="yellow")
        raise typer.Exit(options.INTERRUPTED)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
