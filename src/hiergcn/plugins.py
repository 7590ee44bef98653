"""What other packages add to this one, found by their entry points.

A group of entry points is `hiergcn.` and what they add: `hiergcn.commands` are functions that become commands of the
shell; the module of another entry point registers what it adds when it is imported. `hiergcn-experiments`, beside this
package in its repository, adds commands, methods and datasets.
"""

import os
from importlib import import_module
from typing import Any

VARIABLE = "HIERGCN_PLUGINS"
"""Environment variable with the modules, separated by commas, that are imported although no entry point names them."""

EXPERIMENTS = "is part of hiergcn-experiments. In a clone of the repository, run pip install ./experiments."
"""Ends a sentence about something that the experiments add."""


def plugins(kind: str) -> dict[str, Any]:
    """Return by name what installed packages add, such as `commands`."""
    for module in filter(None, os.environ.get(VARIABLE, "").split(",")):
        import_module(module)
    from importlib.metadata import entry_points  # takes a third of the time of `hiergcn --help`

    return {point.name: point.load() for point in entry_points(group=f"hiergcn.{kind}")}
