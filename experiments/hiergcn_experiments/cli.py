"""`hiergcn reproduce`: run the paper's tables and figures again, each number beside the paper's."""

import math
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiergcn.cli import options
from hiergcn.cli.terminal import console, duration, print_table, printable
from hiergcn.errors import InputError

if TYPE_CHECKING:
    from hiergcn.cli.progress import Progress
    from hiergcn_experiments.experiment import Experiment, Job
    from hiergcn_experiments.experiments import Scale
    from hiergcn_experiments.runner import JobDone, RunSummary, Started, UnitFailed

PAGE, LIST = "page", "list"


def reproduce(
    context: typer.Context,
    what: Annotated[
        list[str],
        typer.Argument(
            help="Experiments by name; all: the paper's; plus: those of H-GCN+; choosing: the automatic choice; "
            "labels: spending labels well; numbers: numeric targets; range: graphs of large diameter; page: write the "
            "pages from the store; list: show the names."
        ),
    ],
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder of results, or a runs.json.gz to make pages from. [default: runs/reproduce]"
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder for the pages. [default: pages in the store]")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version of everything, for a first look.")] = False,
    models: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Run only these methods; comma-separated.")
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Run only on these datasets; comma-separated.")
    ] = None,
    tasks: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="For choosing, labels and numbers: run only these tasks; comma-separated."),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.0,
            help="Time of an automatic choice. [default: choosing 120, labels 5, numbers 20]",
        ),
    ] = None,
    device: options.Device = "auto",
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="Processes on the CPU; for choosing and labels, on the device. [default: one per core]",
        ),
    ] = None,
    gpu_workers: Annotated[int, typer.Option(metavar="N", min=1, help="Processes that train on the GPU.")] = 1,
    engine: options.Engine = None,
    again: Annotated[
        bool, typer.Option("--again", help="Run also what is in the store; the new results count.")
    ] = False,
    budget_minutes: Annotated[
        float | None, typer.Option(metavar="MINUTES", min=0.0, help="Start no new run after this many minutes.")
    ] = None,
) -> None:
    """Run the paper's experiments that are not in the store yet, then write the page."""
    from hiergcn.cli.progress import Progress
    from hiergcn.workers.machine import choose_device, cores
    from hiergcn_experiments.experiments import FULL, QUICK
    from hiergcn_experiments.page import write_pages
    from hiergcn_experiments.runner import run_jobs
    from hiergcn_experiments.store import Store

    scale = QUICK if quick else FULL
    place = store or Path("runs") / ("reproduce-quick" if quick else "reproduce")
    folder = out or (place.parent if place.is_file() else place) / "pages"
    benchmarks = _benchmarks(what, quick, _names(tasks), time_limit)
    if what == [LIST]:
        _print_list(scale, benchmarks)
        return
    summary = None
    if what != [PAGE]:
        if place.is_file():
            raise InputError(f"{place} is a file of results, which only `page` can read. Give --store a folder.")
        jobs = _jobs(what, scale, benchmarks, _names(models), _names(datasets))
        opened = options.open_engine(context, engine, workers or None)
        where = choose_device(device).type if opened is None else opened.device(device)
        if where == "cpu" and workers == 0:
            raise InputError("--workers 0 needs a GPU. Give at least 1.")
        with Progress(console(), opened) as progress:
            summary = run_jobs(
                jobs,
                Store(place),
                workers=cores() if workers is None else workers,
                device=where,
                engine=opened,
                again=again,
                on_event=_RunProgress(progress),
                budget_seconds=60 * (math.inf if budget_minutes is None else budget_minutes),
                gpu_workers=gpu_workers,
            )
    for page in write_pages(place, folder, scale):
        console().print(f"Page: {page}", soft_wrap=True)
    if summary is not None:
        _print_summary(summary)


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in text.split(",")] if text else []


def _benchmarks(what: list[str], quick: bool, tasks: list[str], time_limit: float | None) -> "list[Experiment]":
    """Return the benchmarks beside the paper's experiments; `tasks` are those of the ones that are named."""
    from hiergcn_experiments import choosing, labels, long_range, numbers

    of_labels = tasks if any(name.startswith(labels.NAME) for name in what) else []
    of_numbers = tasks if numbers.NAME in what else []
    of_choice = tasks if choosing.NAME in what or not (of_labels or of_numbers) else []
    limits = [one.TIME_LIMIT if time_limit is None else time_limit for one in (choosing, labels, numbers)]
    splits = 1 if quick else None
    first = choosing.choosing_experiment(limits[0], of_choice, splits)
    last = numbers.numbers_experiment(limits[2], of_numbers, splits)
    of_range = long_range.range_experiments(quick)
    return [first, *labels.labels_experiments(limits[1], of_labels, quick), last, *of_range]


def _jobs(
    what: list[str], scale: "Scale", benchmarks: "list[Experiment]", models: list[str], datasets: list[str]
) -> "list[Job]":
    from hiergcn.settings.registry import config_class
    from hiergcn_experiments.runner import chosen, jobs_of

    for name in models:
        config_class(name)  # raises for an unknown name
    every = dict.fromkeys([*scale.datasets, *(name for one in benchmarks for name in one.datasets)])
    unknown = [name for name in datasets if name not in every]
    if unknown:
        raise InputError(f"--datasets {unknown[0]}: choose some of {', '.join(every)}.")
    return jobs_of(chosen(what, scale, *benchmarks), models, datasets)


class _RunProgress:
    """Shows the events of a run.

    The time left is estimated: a run takes as long as those of its kind, or as the mean if there were none yet.
    """

    def __init__(self, progress: "Progress") -> None:
        self.progress = progress
        self.waiting: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.began = time.monotonic()

    def __call__(self, event: "Started | JobDone | UnitFailed") -> None:
        from hiergcn_experiments.runner import JobDone, Started, UnitFailed

        match event:
            case Started(jobs, units):
                for unit in units:
                    self.waiting[unit.about] += len(unit.jobs)
                missing = self.waiting.total()
                before = f"{jobs - missing:,} of {jobs:,} runs are done already; " if missing < jobs else ""
                self.progress.note(f"{before}{missing:,} runs to do.")
                self.progress.start("runs", missing)
            case JobDone(unit, record):
                self.waiting[unit.about] -= 1
                self.done[unit.about] += 1
                self.seconds[unit.about] += record.made["seconds"]
                if failure := record.result.get("failure"):
                    key = record.key
                    if key["kind"] == "training":
                        run, reason = f"{key['split']}, seed {key['seed']}", f"failed, it {failure}"
                    else:
                        run, reason = f"split {key['arguments'].get('split')}", f"failed. {failure}"
                    self.progress.note(f"{unit.about}, {run}: {printable(reason)}", style="yellow")
                done = self.done.total()
                total = done + self.waiting.total()
                text = f"{done:,} of {total:,}, {unit.about}"
                self.progress.advance(done, text, total=total, left=self._seconds_left())
            case UnitFailed(unit, reason):
                self.waiting[unit.about] -= len(unit.jobs)
                self.progress.note(f"{unit.about}: not run. {reason}", style="yellow")

    def _seconds_left(self) -> float:
        spent = sum(self.seconds.values())
        mean = spent / max(self.done.total(), 1)
        work = sum(
            count * (self.seconds[kind] / self.done[kind] if self.done[kind] else mean)
            for kind, count in self.waiting.items()
        )
        return (time.monotonic() - self.began) * work / max(spent, 1e-9)


def _print_list(scale: "Scale", benchmarks: "list[Experiment]") -> None:
    from hiergcn_experiments.runner import chosen

    screen = console()
    named = ["all", "plus", *(one.name for one in benchmarks)]
    rows = [(one.name, f"{len(one.jobs()):,}", one.about) for one in chosen(named, scale, *benchmarks)]
    print_table(screen, ("experiment", "runs", "about"), rows, words=(0, 2))
    screen.print("Runs that two experiments share are run once.")


def _print_summary(summary: "RunSummary") -> None:
    screen = console()
    left = summary.jobs - summary.done_before - summary.done
    screen.print(
        f"{summary.done:,} runs done in {duration(summary.seconds)}, {summary.done_before:,} were done before"
        + (f", {left:,} are left." if left else "."),
        soft_wrap=True,
    )
    for what, reason in summary.failures.items():
        screen.print(f"{what}: not run. {printable(reason)}", style="yellow", soft_wrap=True)
    if summary.out_of_time:
        screen.print("Time is up. Run the same command to continue.", style="yellow")
    if summary.interrupted:
        screen.print("Stopped. Finished runs are kept; run the same command to continue.", style="yellow")
        raise typer.Exit(options.INTERRUPTED)
    if summary.failures:
        raise typer.Exit(1)
