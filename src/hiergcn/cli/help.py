"""Help with options in groups, and one form of sentence for commands typed wrongly.

Typer groups options with rich only, which takes as long to import as all the rest.
"""

from difflib import get_close_matches
from typing import Any

from typer.core import TyperCommand, TyperGroup

MOST_LETTERS = 140  # of a line; a longer one is hard to read


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
    see, message = f"see {path} --help.", str(error.format_message()).strip()
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
        return f"{parameter.opts[0]} must be {wanted or message.rpartition(': ')[2].rstrip('.')}; {see}"
    if "No such command" in message:
        message = message.replace("No such command", "There is no command").replace(". Did you", "; did you")
        return message if message.endswith("?") else f"{message.rstrip('.')}; {see}"
    return f"{message[:1].upper()}{message[1:].rstrip('.')}; {see}"
