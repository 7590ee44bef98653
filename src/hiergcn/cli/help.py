"""Help as wide as the terminal, with options in groups; and one form of sentence for commands typed wrongly.

Typer's own help either imports rich, which takes as long as all the rest, or knows no groups.
"""

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

OPTIONS, COMMANDS = "Options", "Commands"
_INDENT, _GAP, _WIDEST = 2, 2, 30  # letters: before the first column, after it, and at most in it
_MOST = 140  # a longer line is hard to read


class _GroupedHelp:
    """Writes the help page of a command."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write("\n".join(_page(self, ctx)) + "\n")


class Command(_GroupedHelp, TyperCommand):
    """A command of the shell."""


class Group(_GroupedHelp, TyperGroup):
    """A command with subcommands."""


def _page(command: Any, ctx: Any) -> Iterable[str]:
    width = min(shutil.get_terminal_size().columns, _MOST)
    parameters = [one for one in command.get_params(ctx) if not getattr(one, "hidden", False)]
    arguments = [one for one in parameters if one.param_type_name == "argument"]
    options = [one for one in parameters if one.param_type_name == "option"]
    words = [_argument(one, usage=True) for one in arguments] + (["COMMAND ..."] if _commands(command) else [])
    yield " ".join(["Usage:", ctx.command_path, *(["[OPTIONS]"] if options else []), *words])
    yield ""
    for paragraph in (command.help or "").strip().split("\n\n"):
        yield from _wrapped(" ".join(paragraph.split()), width, _INDENT)
        yield ""
    yield from _section("Arguments", [(_argument(one), _about(one)) for one in arguments], width)
    for title, rows in _grouped(((_panel(one, COMMANDS), (name, _short(one))) for name, one in _commands(command))):
        yield from _section(title, rows, width)
    for title, rows in _grouped((_panel(one, OPTIONS), (_option(one), _about(one))) for one in options):
        yield from _section(title, rows, width)
    if command.epilog:
        yield from _wrapped(command.epilog, width, 0)


def _commands(command: Any) -> list[tuple[str, Any]]:
    return list(getattr(command, "commands", {}).items())


def _short(command: Any) -> str:
    return " ".join((command.help or "").strip().split("\n\n")[0].split())


def _panel(one: Any, otherwise: str) -> str:
    panel = getattr(one, "rich_help_panel", None)
    return panel if isinstance(panel, str) else otherwise


def _grouped(rows: Iterable[tuple[str, tuple[str, str]]]) -> Iterable[tuple[str, list[tuple[str, str]]]]:
    """Collect rows by their group, in the order in which groups are first met; a group without a name comes last."""
    found: dict[str, list[tuple[str, str]]] = {}
    for title, row in rows:
        found.setdefault(title, []).append(row)
    return sorted(found.items(), key=lambda item: item[0] in (OPTIONS, COMMANDS))


def _section(title: str, rows: Sequence[tuple[str, str]], width: int) -> Iterable[str]:
    if not rows:
        return
    yield typer.style(f"{title}:", bold=True)
    first = min(max(len(name) for name, _ in rows), _WIDEST)
    for name, about in rows:
        head = " " * _INDENT + typer.style(name, fg=typer.colors.CYAN)
        lines = _wrapped(about, width, _INDENT + first + _GAP) or [""]
        if len(name) > first:
            yield head
        else:
            yield head + " " * (first - len(name) + _GAP) + lines.pop(0).strip()
        yield from (line for line in lines if line)
    yield ""


def _wrapped(text: str, width: int, indent: int) -> list[str]:
    space = " " * indent
    room = max(width, indent + 20)
    return textwrap.wrap(text, room, initial_indent=space, subsequent_indent=space, break_on_hyphens=False)


def _argument(one: Any, usage: bool = False) -> str:
    name = one.metavar or one.name.upper()
    many = "..." if one.nargs != 1 else ""
    return f"[{name}]{many}" if usage and not one.required else f"{name}{many}"


def _option(one: Any) -> str:
    names = ", ".join(sorted(one.opts, key=len))
    if one.secondary_opts:
        return f"{names} / {', '.join(one.secondary_opts)}"
    return names if getattr(one, "is_flag", False) else f"{names} {one.metavar or 'VALUE'}"


def _about(one: Any) -> str:
    """Return the help of a parameter with its default, unless the help itself names one."""
    text, default = one.help or "", one.default
    if default is None or default is False or callable(default) or "[default:" in text:
        return text
    if default is True:
        default = one.opts[0].removeprefix("--") if one.secondary_opts else ""
    shown = f"{default:g}" if isinstance(default, float) else default
    return f"{text} [default: {shown}]" if default != "" else text


def usage_sentence(error: Any) -> str:
    """Return a usage error as one sentence."""
    context, kind = getattr(error, "ctx", None), type(error).__name__
    path = context.command_path if context is not None else "hiergcn"
    see, message = f"see {path} --help.", str(error.format_message()).strip()
    parameter = getattr(error, "param", None)
    if kind == "NoSuchOption":
        from difflib import get_close_matches

        near = get_close_matches(error.option_name, getattr(error, "possibilities", None) or (), 1, cutoff=0.7)
        return f"{path} has no option {error.option_name}; " + (f"did you mean {near[0]}?" if near else see)
    if kind == "MissingParameter" and parameter is not None:
        name = _argument(parameter) if parameter.param_type_name == "argument" else parameter.opts[0]
        return f"{path} needs {name}; {see}"
    if kind == "BadParameter" and parameter is not None:
        return f"{parameter.opts[0]} must be {_number(parameter) or message.rpartition(': ')[2].rstrip('.')}; {see}"
    if "No such command" in message:
        message = message.replace("No such command", "There is no command").replace(". Did you", "; did you")
        return message if message.endswith("?") else f"{message.rstrip('.')}; {see}"
    return f"{message[:1].upper()}{message[1:].rstrip('.')}; {see}"


def _number(parameter: Any) -> str:
    """Return the numbers that an option takes, in words; nothing if it takes no number."""
    described = getattr(parameter, "type_descriptor", None)
    kind = str(getattr(described, "annotation", None) or getattr(parameter, "type", ""))
    words = "a whole number" if "int" in kind.lower() else "a number" if "float" in kind.lower() else ""
    least = getattr(parameter, "min", None)
    return f"{words} of at least {least:g}" if words and least is not None else words
