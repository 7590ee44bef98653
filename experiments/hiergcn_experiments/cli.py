"""`hiergcn reproduce`: run the paper's tables and figures again, each number beside the paper's."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiergcn import InputError
from hiergcn.cli import console, duration, options, print_table, printable

if TYPE_CHECKING:
    from hiergcn.cli import Progress
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
    device: Annotated[str, options.SHARED["device"]] = "auto",
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="Processes on the CPU; for choosing and labels, on the device. [default: one per core]",
        ),
    ] = None,
    gpu_workers: Annotated[int, typer.Option(metavar="N", min=1, help="Processes that train on the GPU.")] = 1,
    engine: Annotated[str | None, options.SHARED["engine"]] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Run also what is in the store; the new results count.")
    ] = False,
    budget_minutes: Annotated[
        float | None, typer.Option(metavar="MINUTES", min=0.0, help="Start no new run after this many minutes.")
    ] = None,
) -> None:
    """Run the paper's experiments that are not in the store yet, then write the page."""
    from hiergcn.cli import Progress
    from hiergcn.research import choose_device, config_class, cores
    from hiergcn_experiments.experiment import Scope
    from hiergcn_experiments.runner import jobs_of, run_jobs
    from hiergcn_experiments.store import Store, read_records
    from hiergcn_experiments.studies import named_experiments, studies, write_pages

    scope = Scope(quick, _names(tasks), time_limit)
    folder = store or Path("runs") / ("reproduce-quick" if quick else "reproduce")
    if what == [LIST]:
        listed = named_experiments(["all", "plus", *studies(), "range-large"], scope)
        rows = [(one.name, f"{len(one.jobs()):,}", one.about) for one in listed]
        print_table(console(), ("experiment", "runs", "about"), rows, words=(0, 2))
        console().print("Runs that two experiments share are run once.")
        return
    summary = None
    if what != [PAGE]:
        if folder.is_file():
            raise InputError(f"{folder} is a file of results, which only `page` can read. Give --store a folder.")
        experiments = named_experiments(what, scope)
        for name in _names(models):
            config_class(name)  # raises for an unknown name
        known = dict.fromkeys(job.dataset for one in experiments for job in one.jobs() if job.dataset)
        if unknown := [name for name in _names(datasets) if name not in known]:
            raise InputError(f"--datasets {unknown[0]}: choose some of {', '.join(known)}.")
        opened = options.open_engine(context, engine, workers or None)
        where = choose_device(device).type if opened is None else opened.device(device)
        if where == "cpu" and workers == 0:
            raise InputError("--workers 0 needs a GPU. Give at least 1.")
        with Progress(console(), opened) as progress:
            summary = run_jobs(
                jobs_of(experiments, _names(models), _names(datasets)),
                Store(folder),
                workers=cores() if workers is None else workers,
                device=where,
                engine=opened,
                again=again,
                on_event=_RunProgress(progress),
                budget_seconds=60 * (math.inf if budget_minutes is None else budget_minutes),
                gpu_workers=gpu_workers,
            )
    pages = out or (folder.parent if folder.is_file() else folder) / "pages"
    for page in write_pages(read_records(folder), pages, quick):
        console().print(f"Page: {page}", soft_wrap=True)
    if summary is not None:
        _print_summary(summary)


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in text.split(",")] if text else []


class _RunProgress:
    """Shows the events of a run."""

    def __init__(self, progress: "Progress") -> None:
        self.progress, self.done, self.total = progress, 0, 0

    def __call__(self, event: "Started | JobDone | UnitFailed") -> None:
        from hiergcn_experiments.runner import JobDone, Started, UnitFailed

        match event:
            case Started(jobs, units):
                self.total = sum(len(unit.jobs) for unit in units)
                before = f"{jobs - self.total:,} of {jobs:,} runs are done already; " if self.total < jobs else ""
                self.progress.note(f"{before}{self.total:,} runs to do.")
                self.progress.start("runs", self.total)
            case JobDone(unit, record):
                self.done += 1
                if failure := record.result.get("failure"):
                    key = record.key
                    if key["kind"] == "training":
                        run, reason = f"{key['split']}, seed {key['seed']}", f"failed, it {failure}"
                    else:
                        run, reason = f"split {key['arguments'].get('split')}", f"failed. {failure}"
                    self.progress.note(f"{unit.about}, {run}: {printable(reason)}", style="yellow")
                self.progress.advance(self.done, f"{self.done:,} of {self.total:,}, {unit.about}", total=self.total)
            case UnitFailed(unit, reason):
                self.total -= len(unit.jobs)
                self.progress.note(f"{unit.about}: not run. {reason}", style="yellow")


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
