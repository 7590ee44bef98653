"""The command line, a module for each group of commands.

Heavy imports are inside the commands, so that `hiergcn --help` is instant.
"""

import atexit
import gc
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from hiergcn.cli import options as options
from hiergcn.cli.progress import Progress as Progress
from hiergcn.cli.terminal import (
    MOST_LETTERS,
    Command,
    Group,
    console,
    duration,
    is_first_rank,
    print_error,
    print_table,
    printable,
    usage_sentence,
)
from hiergcn.errors import HierGCNError, InputError, MissingPackageError
from hiergcn.plugins import EXPERIMENTS, plugins
from hiergcn.version import __version__

__all__ = ["Progress", "add_command", "console", "duration", "main", "options", "print_table", "printable", "shell"]
"""For commands of other packages."""

TRACEBACK = "HIERGCN_TRACEBACK"
NO_MEMORY = ("allocate memory", "failed to map segment", "can't start new thread")
"""Words of torch, of the library loader and of the system if memory runs out."""
LIBRARIES = 3_000_000_000
"""Bytes of address space that the libraries take, the compiler of numba included."""

_COMMANDS = {  # by the titles of the help, with the module of each
    "Train and predict": {"check": "data", "fit": "fit", **dict.fromkeys(("predict", "explain", "suggest"), "of_run")},
    "Compare": {"compare": "compare", "tune": "compare"},
    "Look up": dict.fromkeys(("models", "settings", "datasets"), "lookup"),
    "More": {"report": "of_run", "export": "of_run", "coarsen": "data"},
}
_ADDED: dict[str, Callable[..., Any]] = {}


def add_command(name: str, function: Callable[..., Any]) -> None:
    """Add a command to the shell, unless it has one of that name."""
    _ADDED.setdefault(name, function)


def make_app(words: Sequence[str] = ()) -> typer.Typer:
    """Return the shell for a command line: with the command that its first word names, or else with all of them."""
    app = typer.Typer(
        name="hiergcn",
        cls=Group,
        help="Predict the class, or a number, of every node of a graph from a few labels: H-GCN and other methods.",
        epilog="Start with: hiergcn fit cora, or with your own files: hiergcn check edges.csv nodes.csv --label COLUMN",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": MOST_LETTERS},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # importing rich takes as long as all the rest
    )
    app.callback()(_options)
    known = {name: (module, panel) for panel, modules in _COMMANDS.items() for name, module in modules.items()}
    named = [word for word in words[:1] if word in known]
    for name in named or known:
        home, panel = known[name]
        module = import_module(f"hiergcn.cli.{home}")
        if name == "datasets":
            app.add_typer(module.app, name=name, rich_help_panel=panel)
        else:
            app.command(name, cls=Command, rich_help_panel=panel)(getattr(module, name))
    if not named:  # commands of other packages
        added = {name: function for name, function in (_ADDED | plugins("commands")).items() if name not in known}
        for name, function in added.items():
            app.command(name, cls=Command, rich_help_panel="More")(function)
        if words[:1] == ["reproduce"] and "reproduce" not in added:
            raise MissingPackageError(f"hiergcn reproduce {EXPERIMENTS}")
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hiergcn {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    try:  # with too little address space the libraries would crash, each in its own way
        import resource
    except ImportError:  # Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if 0 <= limit < LIBRARIES:
        taken, needed = (f"{size / 1e9:.1f} GB" for size in (limit, LIBRARIES))
        raise InputError(f"This process may take {taken} of memory and needs {needed}; raise the limit (ulimit -v).")


def shell() -> None:
    """Run a command as a process of its own, with settings of the whole process, which no function of the API makes.

    Python looks for garbage less often, since what libraries define stays. At the end the memory is left to the system:
    Python would look through every object once more, which takes half a second.
    """
    gc.set_threshold(50_000, 20, 20)
    try:
        main()
    except SystemExit as ending:
        end_threads, run_at_exit = getattr(threading, "_shutdown", None), getattr(atexit, "_run_exitfuncs", None)
        if end_threads is None or run_at_exit is None:  # another Python, which ends as it likes
            raise
        end_threads()
        run_at_exit()
        with suppress(OSError):  # of a full disk, for instance, on which Python itself reports
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(int(ending.code or 0))
        raise


def main() -> None:
    """Run a command. Errors that the user can fix become one sentence and exit code 2.

    SIGTERM and SIGHUP keep finished work as Ctrl-C does, unless the caller ignores them, as nohup does.
    """
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    _open_streams()
    try:
        if odd := next((word for word in sys.argv if re.search("[\udc80-\udcff]", word)), None):
            raise InputError(f"{ascii(os.fsencode(odd))[1:]} is not in UTF-8; rename the file or give another path.")
        code = make_app(sys.argv[1:])(prog_name="hiergcn", standalone_mode=False)
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(str(error), err=True)
            sys.exit(2)
        code, sentence = _explain(error)
        if is_first_rank():
            print_error(sentence)
        elif not isinstance(error, HierGCNError):  # those are the same on every rank of torchrun
            print_error(f"Rank {os.environ['RANK']}: {sentence}")
    sys.exit(code if isinstance(code, int) else 0)


def _open_streams() -> None:
    """Open the streams that the caller has closed, and write UTF-8 to files and pipes, whatever the locale is."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("r" if number == 0 else "w", encoding="utf-8"))  # noqa: SIM115
        elif number > 0 and hasattr(stream, "reconfigure"):
            # a terminal that cannot show ± still gets the figures
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="replace")


def _explain(error: Exception) -> tuple[int, str]:
    """Return exit code and sentence: 2 if the user can fix it, 1 if hiergcn is at fault."""
    if isinstance(error, HierGCNError):
        return 2, str(error)
    if hasattr(error, "format_message"):  # typer's own, about what was typed
        return 2, usage_sentence(error)
    said = any(words in str(error) for words in NO_MEMORY)
    if said or isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__:
        return 2, (
            "Out of memory; try --workers 1, a smaller model (--set hidden=16), a smaller graph or a larger machine."
        )
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return 2, f"{where}{error.strerror}."
    return 1, (
        f"hiergcn failed with {type(error).__name__}: {error!s:.300} (this is a bug, not your mistake; "
        f"set {TRACEBACK}=1 to see where, and please report it)."
    )
