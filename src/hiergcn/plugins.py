"""What other packages add to this one, found by their entry points.

A group of entry points is `hiergcn.` and what they add: `hiergcn.commands` are functions that become commands of the
shell. `hiergcn-experiments`, beside this package in its repository, is the first to add something.
"""

from typing import Any

EXPERIMENTS = "is part of hiergcn-experiments. In a clone of the repository, run pip install ./experiments."
"""Ends a sentence about something that the experiments add."""


def plugins(kind: str) -> dict[str, Any]:
    """Return by name what installed packages add, such as `commands`."""
    from importlib.metadata import entry_points  # takes a third of the time of `hiergcn --help`

    return {point.name: point.load() for point in entry_points(group=f"hiergcn.{kind}")}
