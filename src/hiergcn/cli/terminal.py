"""Printing: tables and colours on a terminal, plain text elsewhere; help; sentences for commands typed wrongly.

rich is imported when something is printed. Help has options in groups without it: importing rich takes as long as all
the rest.
"""

import os
import shutil
import sys
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import IO, TYPE_CHECKING, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from hiergcn.fragments import duration as duration
from hiergcn.fragments import percent as percent

if TYPE_CHECKING:
    from rich.console import Console, OverflowMethod

    from hiergcn.graph import Graph, Split

MOST_LETTERS = 140  # of a line of help; a longer one is hard to read
PLAIN_WIDTH = 80
NARROWEST = 60
"""Letters per line of a table, at least; a narrower terminal breaks the lines."""
FEW_TESTS = 20


class _QuietStream:
    """A stream that goes on without a word when nobody reads it any more: a closed terminal, a full disk, `| head`."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def console(stderr: bool = False) -> "Console":
    """Return a console that prints text as it is: names come from users' files and may look like markup."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(
        file=cast("IO[str]", _QuietStream(stream)),
        stderr=stderr,
        quiet=not stderr and not is_first_rank(),
        markup=False,
        emoji=False,
        highlight=False,
        width=None if stream.isatty() else shutil.get_terminal_size((PLAIN_WIDTH, 0)).columns,
    )


def is_first_rank() -> bool:
    """Return whether this process prints and writes: of the ranks of torchrun, the first one does."""
    return "WORLD_SIZE" not in os.environ or int(os.environ.get("RANK", 0)) == 0


def print_error(sentence: str) -> None:
    """Print one line in red on stderr; rich, which takes a moment to import, is not needed for that."""
    with suppress(OSError):  # nobody reads it any more
        typer.secho(printable(sentence), fg=typer.colors.RED, err=True)


def printable(text: str) -> str:
    """Return the text without line breaks and control characters, which could steer a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def print_table(
    out: "Console",
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str | None = None,
    words: Collection[int] = (0,),
    overflow: "OverflowMethod" = "ellipsis",
    letters: int | None = None,
    most: int | None = None,
    what: str = "rows",
) -> None:
    """Print a table in which the columns `words` are aligned on the left and the others, figures, on the right.

    Cells are cut to `letters`. After `most` rows, a line says how many `what` are left out.
    """
    from rich import box
    from rich.table import Table

    style = box.SIMPLE_HEAD if out.is_terminal else None
    if title is not None:  # a table's own title would be wrapped to the width of the table
        out.print(title, style="bold", soft_wrap=True)
    table = Table(box=style, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number in words else "right", overflow=overflow)
    every = list(rows)
    for row in every[:most]:
        table.add_row(*(printable(cell[:letters]) for cell in row))
    width, out.width = out.width, max(out.width, NARROWEST)
    out.print(table)
    out.width = width
    if most is not None and len(every) > most:
        out.print(f"... and {len(every) - most:,} more {what}")


def graph_sizes(graph: "Graph") -> str:
    aim = f"{graph.n_classes} classes" if graph.targets is None else f"target {printable(graph.target_name)!r:.40}"
    return f"{graph.n_nodes:,} nodes, {graph.n_edges:,} edges, {graph.n_features:,} features, {aim}"


def split_sizes(split: "Split") -> str:
    parts = ("train", "validation", "test", *(("calibration",) if len(split.calibration) else ()))
    return ", ".join(f"{len(getattr(split, part)):,} {part}" for part in parts)


def warn_of_few_tests(out: "Console", nodes: int) -> None:
    """Print a warning if single nodes decide the test accuracy."""
    if 0 < nodes < FEW_TESTS:
        few = f"are only {nodes} test nodes, so each counts {100 / nodes:.0f} points" if nodes > 1 else "is 1 test node"
        out.print(f"The test accuracy is rough: there {few}.", style="yellow")


class _GroupedHelp:
    """Lists subcommands and options under the titles of their panels; those without a panel come last."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        for name, command in getattr(self, "commands", {}).items():
            about = " ".join(command.help.split("\n\n")[0].split())
            sections.setdefault(_panel(command, "Commands"), []).append((name, about))
        for parameter in self.get_params(ctx):  # type: ignore[attr-defined]
            if parameter.param_type_name == "argument":
                sections["Arguments"].append((parameter.name.strip("_").upper(), parameter.help))
            elif row := parameter.get_help_record(ctx):  # a hidden option has none
                about = row[1].replace("]  [", "; ")  # a default in the help, and what typer adds
                sections.setdefault(_panel(parameter, "Options"), []).append((row[0], about))
        for title in sorted(sections, key=lambda title: title in ("Commands", "Options")):
            if sections[title]:
                with formatter.section(title):
                    formatter.write_dl(sections[title])

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces: list[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        return [piece.strip("{}").upper() for piece in pieces]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write nothing: the commands stand among the sections."""


class Command(_GroupedHelp, TyperCommand):
    """A command of the shell."""


class Group(_GroupedHelp, TyperGroup):
    """A command with subcommands."""


def _panel(part: Any, otherwise: str) -> str:
    panel = getattr(part, "rich_help_panel", None)
    return panel if isinstance(panel, str) else otherwise


def usage_sentence(error: Any) -> str:
    """Return a usage error as one sentence."""
    context, kind, parameter = getattr(error, "ctx", None), type(error).__name__, getattr(error, "param", None)
    path = context.command_path if context is not None else "hiergcn"
    see, message = f"see {path} --help.", str(error.format_message()).strip().rstrip(".")
    if kind == "NoSuchOption":
        near = get_close_matches(error.option_name, getattr(error, "possibilities", None) or (), 1, cutoff=0.7)
        return f"{path} has no option {error.option_name}; " + (f"did you mean {near[0]}?" if near else see)
    if kind == "MissingParameter" and parameter is not None:
        argument = parameter.param_type_name == "argument"
        return f"{path} needs {parameter.name.upper() if argument else parameter.opts[0]}; {see}"
    if kind == "BadParameter" and parameter is not None:
        described = getattr(parameter, "type_descriptor", None)
        type_ = str(getattr(described, "annotation", None) or getattr(parameter, "type", "")).lower()
        wanted = "a whole number" if "int" in type_ else "a number" if "float" in type_ else ""
        if wanted and getattr(parameter, "min", None) is not None:
            wanted += f" of at least {parameter.min:g}"
        return f"{parameter.opts[0]} must be {wanted or message.rpartition(': ')[2]}; {see}"
    message = message.replace("No such command", "There is no command").replace(". Did you", "; did you")
    return message if message.endswith("?") else f"{message[:1].upper()}{message[1:]}; {see}"
