"""`hiergcn models` and `hiergcn settings`: the methods, and the settings of each."""

from typing import Annotated, Any

import typer

from hiergcn.cli import options
from hiergcn.cli.terminal import console, print_table
from hiergcn.settings.registry import method_about, method_names, method_title

TITLES = {"model": "Method", "train": "Training", "coarsen": "Coarsening"}


def models() -> None:
    """List the methods and what each does."""
    from hiergcn.settings.registry import config_class

    only = {name: "" if config_class(name).predicts_numbers else " Classes only." for name in method_names()}
    rows = [(name, method_about(name) + only[name]) for name in method_names()]
    screen = console()
    screen.print("--model auto tries several of these on your graph and combines those that validation supports.\n")
    print_table(screen, ("model", "what it does"), rows, words=(0, 1), overflow="fold")
    screen.print("\nSettings of one: hiergcn settings NAME", soft_wrap=True)


def settings(
    model: Annotated[
        str, typer.Argument(help="A name that `hiergcn models` lists.", autocompletion=options.complete_model)
    ],
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Show the values of this preset. [default: the method's own]",
            autocompletion=options.complete_preset,
        ),
    ] = None,
) -> None:
    """List the settings of a method: values, default and meaning."""
    from hiergcn.settings.settings import (
        GROUPS,
        default_preset,
        method_of,
        method_settings,
        preset_names,
        settings_for,
        without_effect,
    )

    method = method_of(model, preset)
    known, values = method_settings(method), settings_for(method, preset).values()
    screen = console()
    shown = preset or default_preset(method, None)
    screen.print(f"{method_title(method)}: {method_about(method)}", soft_wrap=True)
    presets = ", ".join(preset_names(method))
    screen.print(f"Defaults are those of the preset {shown} (presets: {presets}).\n", soft_wrap=True)
    for group in GROUPS:
        rows = [
            (one.name, _shown(values[one.name]), one.values, one.about) for one in known.values() if one.group == group
        ]
        if rows and not without_effect(method, group):
            columns = ("setting", "default", "values", "what it does")
            print_table(screen, columns, rows, title=TITLES[group], words=(0, 1, 2, 3), overflow="fold")
            screen.print()
    screen.print(
        f"For your own graph, hiergcn fit adapts some of them to it and says why (--verbose). Change one with "
        f"--set NAME=VALUE, or in Python with NodeClassifier({model!r}, name=value).",
        soft_wrap=True,
    )


def _shown(value: Any) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
