"""The options of the commands: those that several share, how a command gets its own, and checks of their values."""

import os
import shlex
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hiergcn.cli.terminal import console, is_first_rank, printable
from hiergcn.datasets import dataset_names
from hiergcn.errors import InputError
from hiergcn.settings.registry import method_about, method_names
from hiergcn.settings.settings import AUTO, method_settings, preset_names

if TYPE_CHECKING:
    from hiergcn.graph import Graph
    from hiergcn.run.run import Run
    from hiergcn.run.source import Data as ReadData
    from hiergcn.run.source import Source
    from hiergcn.workers.pool import Engine

INTERRUPTED = 130  # the exit code of shells after Ctrl-C


def complete_data(incomplete: str) -> list[str]:
    place, _, start = incomplete.rpartition("/")
    folder = Path(place) if place else Path("/" if incomplete.startswith("/") else ".")
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    files = [f"{path}/" if path.is_dir() else str(path) for path in paths if path.name.startswith(start)]
    return [name for name in dataset_names() if name.startswith(incomplete)] + files


def complete_model(incomplete: str) -> list[tuple[str, str]]:
    """Return the methods that begin with a text, with their descriptions."""
    about = {AUTO: "Choose and combine methods for the graph."} | {name: method_about(name) for name in method_names()}
    return [(name, text) for name, text in about.items() if name.startswith(incomplete)]


def complete_models(incomplete: str) -> list[str]:
    """Return comma-separated lists of methods that begin with a text."""
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in method_names() if name.startswith(last)]


def complete_preset(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the presets of the named method, or of H-GCN, that begin with a text."""
    model = ctx.params.get("model")
    return [name for name in preset_names(model if model in method_names() else "hgcn") if name.startswith(incomplete)]


def complete_setting(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the settings of the named method, or of H-GCN+, that begin with a text, with their meaning."""
    model = ctx.params.get("model")
    known = method_settings(model if model in method_names() else "hgcn-plus")
    return [(f"{name}=", setting.about) for name, setting in known.items() if name.startswith(incomplete)]


def check_device(name: str) -> None:
    """Refuse the name of a device that cannot exist, before torch is imported."""
    if name not in (AUTO, "cpu", "cuda") and not name.startswith("cuda:"):
        raise InputError(f"There is no device named {name!r} here; give auto, cpu or cuda.")


def check_target(out: Path | None) -> Path | None:
    """Refuse to write over a file, or into a folder that does not exist, before any work is done."""
    if out is not None and out.exists():
        raise InputError(f"{out} exists already; name another file or move that one away.")
    if out is not None and not out.parent.is_dir():
        raise InputError(f"There is no folder {out.parent} to write {out.name} into; make it first.")
    return out


def check_run(run: Path) -> None:
    """Refuse what cannot be a run folder, before anything heavy is imported."""
    if not run.is_dir():
        raise InputError(f"There is no folder {run}; name one that `hiergcn fit` wrote.")


def _option(group: str | None, metavar: str | None, about: str, *names: str, **more: Any) -> Any:
    """Return an option of a group of the help."""
    return typer.Option(*names, metavar=metavar, help=about, rich_help_panel=group, **more)


option, in_files, in_method, in_running, in_results = (
    partial(_option, group) for group in (None, "Your files", "Method and settings", "Running", "Results")
)


def argument(about: str, complete: Callable[..., Any] | None = None) -> Any:
    return typer.Argument(help=about, autocompletion=complete)


_FILES = {
    "data": argument(
        "A dataset (see `hiergcn datasets`), a table of edges (CSV, Parquet, JSON lines, Excel, Matrix Market), or a "
        "whole graph in .npz or .graphml.",
        complete_data,
    ),
    "nodes": argument("A table of nodes: ids, features, labels."),
    "label": in_files("COLUMN", "Column of the labels in NODES; blank means unknown."),
    "target": in_files("COLUMN", "Column of NODES with a number to predict, instead of --label; blank means unknown."),
    "id": in_files("COLUMN", "Column of the ids in NODES."),
    "weight": in_files("COLUMN", "Column of the edge weights. [default: weight]"),
    "split_column": in_files(
        "COLUMN", "Column in NODES that says train, validation, test or nothing. [default: split]"
    ),
    "drop": in_files("COLUMN", "Column of NODES to leave out; may be repeated."),
    "unknown": in_files(
        "WORD", "A label that means unknown, instead of -1, NA and similar words; may be repeated. Blank always does."
    ),
    "delimiter": in_files("CHARACTER", "Column delimiter, or the word tab. [default: guessed]"),
    "labels": in_files(
        "FILE", "Further labels: a CSV of id and label, such as a filled-in file of `hiergcn suggest`; may be repeated."
    ),
}
"""The options that select a graph: the arguments of `run.source.Source`."""
_REPEATED = ("drop", "unknown", "labels")

SHARED = {
    "run": argument("A folder that `hiergcn fit` wrote."),
    "model": in_method(
        "NAME",
        f"auto, {', '.join(method_names())}; `hiergcn models` explains them. [default: for your own files auto, which "
        "chooses; for a dataset, or with --preset, hgcn]",
        autocompletion=complete_model,
    ),
    "set_": in_method(
        "KEY=VALUE",
        "Change a setting; may be repeated. `hiergcn settings MODEL` lists them.",
        "--set",
        autocompletion=complete_setting,
    ),
    "device": in_running("NAME", "auto, cpu, cuda or cuda:N."),
    "workers": in_running("N", "Processes that share the seeds on a CPU. [default: one per core]", min=1),
    "engine": in_running(
        "NAME",
        "local; ray: the cluster of RAY_ADDRESS or of this machine, else one for this command; or ray://HOST:PORT. "
        "[default: ray if RAY_ADDRESS is set]",
    ),
    "out": in_results("FOLDER", "New folder for the results. [default: the next free one in runs/]"),
    "spreadsheet_safe": in_results(
        None, "Put an apostrophe before text that a spreadsheet would run as a formula.", "--spreadsheet-safe"
    ),
}
_CHECKS: dict[str, Callable[[Any], None]] = {"run": check_run, "device": check_device}
OUT_TABLE = in_results("FILE", "A CSV to write. [default: standard output]", callback=check_target)

Command = Callable[..., None]


def command(*left_out: str, **own: Any) -> Callable[[Command], Command]:
    """Describe the parameters of a command: its own here by name, those that commands share are known.

    A parameter `source` stands for all options that select a graph, but those left out.
    """
    known = _FILES | SHARED | own
    selecting = [name for name in _FILES if name not in left_out]

    def decorate(function: Command) -> Command:
        wanted, kinds = signature(function).parameters, list[tuple[str, Any, Any]]()
        for name, parameter in wanted.items():
            if name == "source":
                kinds.append(("data", str, Parameter.empty))
                kinds += [(each, (list[str] if each in _REPEATED else str) | None, None) for each in selecting[1:]]
            else:
                kinds.append((name, parameter.annotation, parameter.default))
        shown = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, known.get(name)])
            for name, kind, default in kinds
        ]

        def run(**given: Any) -> None:
            for name in _CHECKS.keys() & given.keys():
                _CHECKS[name](given[name])
            if "source" in wanted:
                from hiergcn.run.source import Source

                chosen = {name: given.pop(name) for name in selecting}
                given["source"] = Source(**{name: value for name, value in chosen.items() if value is not None})
            function(**given)

        run.__name__, run.__doc__ = function.__name__, function.__doc__
        run.__signature__ = Signature(shown)  # type: ignore[attr-defined]
        return run

    return decorate


def parse_changes(pairs: list[str] | None, levels: int | None = None) -> dict[str, str]:
    """Return the settings that `--set KEY=VALUE` and `--levels` change."""
    changes = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not key.strip() or not equals:
            raise InputError(f"--set {pair} must have the form KEY=VALUE, e.g. --set hidden=32.")
        changes[key.strip()] = value.strip()
    return changes if levels is None else changes | {"levels": str(levels)}


def announce(source: "Source") -> None:
    """Print what is about to happen, before imports that take seconds."""
    if is_first_rank():
        with suppress(OSError):  # nobody reads it
            typer.echo(f"Reading {printable(' and '.join(filter(None, (source.data, source.nodes))))}")


def read_data(source: "Source") -> "ReadData":
    """Read the graph, with a progress bar if it is downloaded."""
    from hiergcn.cli.progress import download_progress

    with download_progress(source.name) as on_bytes:
        return source.read(on_bytes)


def read_run(path: Path) -> tuple["Run", "Graph"]:
    """Read a run and the graph that it was fitted on."""
    from hiergcn.run.run import Run
    from hiergcn.run.source import Source

    run = Run.load(path)
    return run, read_data(Source.of_run(run)).graph


def read_labelled(source: "Source") -> "ReadData":
    """Read a graph to train on, and say so. A wrong column is found before torch is imported."""
    announce(source)
    data = read_data(source)
    data.check_labels()
    return data


def check_resume(out: Path | None, resume: bool) -> bool:
    """Return whether a run goes on from its checkpoint, as it does when torchrun starts its processes again.

    Refuse a folder that is not free. If the run is complete already, say so and end the command.
    """
    from hiergcn.run.out_folder import check_free, check_unfinished, checkpoint_folder

    resume = resume or int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0)) > 0
    if out is None:
        if resume:
            raise InputError("--resume goes on with the run of a folder; name it with --out.")
        return False
    if resume and (out / "manifest.json").exists():
        if is_first_rank():
            shutil.rmtree(checkpoint_folder(out), ignore_errors=True)  # of a process that was killed at the very end
            typer.echo(f"{printable(str(out))} is complete.")
        raise typer.Exit
    check_free(out)
    check_unfinished(out, resume)
    return resume


def out_folder(context: typer.Context, out: Path | None, default: Path) -> Path:
    """Return the folder for the results, which no other process can take until the command ends.

    It is that of the user, which must be free, or the first free one after the default.
    """
    from hiergcn.run.out_folder import check_free, held, held_free

    if out is not None:
        check_free(out)
    folder: Path = context.with_resource(held_free(default) if out is None else held(out))
    check_free(folder)  # another run may have ended between
    return folder


def open_engine(context: typer.Context, name: str | None, workers: int | None = None) -> "Engine | None":
    """Return the engine that is named, which is closed when the command ends; None for this machine."""
    from hiergcn.workers.pool import open_engine as opened

    engine: Engine | None = context.with_resource(opened(name, workers, console().print))
    return engine


def command_line() -> str:
    """Return the command as it was given, to be kept with its results."""
    return shlex.join(["hiergcn", *sys.argv[1:]])
