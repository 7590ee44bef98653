"""The words by which a command is told its graph, the same for every command that learns from labels."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from hiergcn.cli import options

if TYPE_CHECKING:
    from hiergcn.cli.data import Source


def _words(
    data: options.Data,
    nodes: options.Nodes = None,
    label: options.Label = None,
    id_: options.Id = None,
    weight: options.Weight = None,
    split_column: options.SplitColumn = None,
    drop: options.Drop = None,
) -> "Source":
    from hiergcn.cli.data import Source

    return Source(data, nodes, label, id_, weight, split_column, tuple(drop or ()))


def of_graph(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, whose first parameter is a `Source`, the words that name one in its place."""
    words, others = inspect.signature(_words).parameters, inspect.signature(command).parameters

    @wraps(command)
    def taking_words(**given: Any) -> None:
        source = _words(**{name: given.pop(name) for name in words})
        command(source, **given)

    parameters = [*words.values(), *list(others.values())[1:]]
    keyword = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    taking_words.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
    taking_words.__annotations__ = {one.name: one.annotation for one in keyword}
    return taking_words
