"""`hiergcn reproduce`: the paper's tables and figures, run again, each number beside the paper's."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiergcn.errors import InputError

if TYPE_CHECKING:
    from hiergcn.paper.experiments import Scale
    from hiergcn.paper.identity import Job
    from hiergcn.paper.runner import Hands, RunSummary


def reproduce(
    what: Annotated[
        list[str],
        typer.Argument(help="Experiments (`list` names them), or all; `page` makes the page from the store alone."),
    ],
    store: Annotated[
        Path | None, typer.Option(help="Folder of results; what is there is not run again. [default: runs/reproduce]")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the page. [default: page in the store]")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version of everything, for a first look.")] = False,
    models: Annotated[str | None, typer.Option(help="Run these methods only, with commas between them.")] = None,
    datasets: Annotated[str | None, typer.Option(help="Run on these only, with commas between them.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    workers: Annotated[int | None, typer.Option(min=0, help="Processes on the CPU. [default: one a core]")] = None,
    gpu_workers: Annotated[int, typer.Option(min=1, help="Processes that share the GPU.")] = 1,
    side_by_side: Annotated[int, typer.Option(min=1, help="Most runs trained at once on a GPU.")] = 50,
    any_version: Annotated[
        bool, typer.Option("--any-version", help="Do not run again what another version of the code has done.")
    ] = False,
    page: Annotated[bool, typer.Option(help="Write the page at the end.")] = True,
    readme: Annotated[Path | None, typer.Option(help="A file whose marked block gets the results in short.")] = None,
    budget_minutes: Annotated[float | None, typer.Option(min=0.0, help="Begin nothing after so many.")] = None,
) -> None:
    """Run the paper's experiments again, as far as they are not done, and write the page."""
    from hiergcn.paper.experiments import FULL, QUICK

    scale = QUICK if quick else FULL
    if what == ["list"]:
        _list(scale)
        return
    place = store or Path("runs") / ("reproduce-quick" if quick else "reproduce")
    folder = out or (place.parent if place.is_file() else place) / "page"
    if what == ["page"]:
        _write_page(place, folder, scale, readme)
        return
    if place.is_file():
        raise InputError(f"{place} is a file of results, which only `page` can read; give --store a folder.")
    hands = _hands(device, workers, gpu_workers, side_by_side)
    jobs = _jobs(what, place, scale, (_words(models), _words(datasets)), any_version)
    summary = _run(jobs, place, hands, budget_minutes)
    if page:
        _write_page(place, folder, scale, readme)
    _tell(summary)


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in text.split(",")] if text else []


def _jobs(
    what: list[str], place: Path, scale: "Scale", only: tuple[list[str], list[str]], any_version: bool
) -> "list[Job]":
    from hiergcn.model.registry import config_class
    from hiergcn.paper.archive import read_records
    from hiergcn.paper.collect import Results
    from hiergcn.paper.experiments import chosen
    from hiergcn.paper.units import jobs_of

    models, datasets = only
    for name in models:
        config_class(name)  # knows the names
    unknown = [name for name in datasets if name not in scale.datasets]
    if unknown:
        raise InputError(f"--datasets {unknown[0]}: give some of {', '.join(scale.datasets)}.")
    jobs = jobs_of(chosen(what, scale), models, datasets)
    if not any_version or not (place / "jobs").is_dir():
        return jobs
    have = Results(read_records(place))
    return [job for job in jobs if not have.answers(job)]


def _hands(device: str, workers: int | None, gpu_workers: int, side_by_side: int) -> "Hands":
    from hiergcn.paper.runner import Hands
    from hiergcn.run.device import choose_device, cores

    where = choose_device(device).type
    if where == "cpu" and workers == 0:
        raise InputError("--workers 0 leaves nobody to work without a GPU; give at least 1.")
    return Hands(cores() if workers is None else workers, where, gpu_workers, side_by_side)


def _run(jobs: "list[Job]", place: Path, hands: "Hands", budget_minutes: float | None) -> "RunSummary":
    from hiergcn.cli.reproducing import run_progress
    from hiergcn.cli.terminal import console
    from hiergcn.paper.runner import run_jobs
    from hiergcn.paper.store import Store

    budget = None if budget_minutes is None else 60 * budget_minutes
    with run_progress(console()) as progress:
        return run_jobs(jobs, Store(place), hands, listener=progress, budget_seconds=budget)


def _list(scale: "Scale") -> None:
    from hiergcn.cli.terminal import console, new_table
    from hiergcn.paper.experiments import experiments

    screen = console()
    table = new_table(screen, "experiment", "runs", "what it is")
    table.columns[2].justify = "left"
    for one in experiments(scale).values():
        runs = sum(len(cell.runs) for cell in one.cells()) + len(one.measurements)
        table.add_row(one.name, f"{runs:,}", one.about)
    screen.print(table)
    screen.print("Runs that two experiments share are run once.")


def _write_page(place: Path, folder: Path, scale: "Scale", readme: Path | None) -> None:
    from hiergcn.cli.terminal import console
    from hiergcn.paper.page import write_paper_page

    page = write_paper_page(place, folder, scale, readme)
    console().print(f"Page: {page}", soft_wrap=True)


def _tell(summary: "RunSummary") -> None:
    from hiergcn.cli.asked import INTERRUPTED
    from hiergcn.cli.terminal import console, duration, printable

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
        screen.print("The time was up; the same command goes on.", style="yellow")
    if summary.interrupted:
        screen.print("Stopped; what is finished is kept, and the same command goes on.", style="yellow")
        raise typer.Exit(INTERRUPTED)
    if summary.failures:
        raise typer.Exit(1)
