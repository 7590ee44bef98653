"""The table of methods: `register_method` adds one, from this package or from any other.

What is registered is known without importing torch: a method's classes may be named as `module:Class`, and are imported
when they are first used.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from hiergcn.errors import InputError
from hiergcn.plugins import plugins


class EpochPrice(NamedTuple):
    """Seconds of an epoch on one core, for the budget of the automatic choice.

    Ours were measured on eight graphs of 400 to 6,000 nodes, on one core; they are right to a third.
    """

    tiny: float = 0.0084
    """On a tiny graph."""
    per_activation: float = 0.85e-9
    """For each byte of activations."""
    per_feature: float = 0.0
    """For each byte of features and structure."""


@dataclass(frozen=True)
class MethodInfo:
    """What is known of a method."""

    name: str
    config: type[Any] | str
    method: type[Any] | str
    title: str
    about: str
    package: str | None = None
    """A package that it needs, beside those of hiergcn."""
    recipes: str | Path | None = None
    """Folder of its recipes, a path or `package:folder`. Without recipes, the defaults are its only preset."""
    adapt: Callable[..., Sequence[Any]] | str | None = None
    """Function of an `adapt.GraphFacts` that returns settings for a graph, at the top of a module, or
    `module:function`."""
    price: EpochPrice = EpochPrice()
    reason: str = "features and edges together say most"
    """Why it was chosen, if it was; `{features}` stands for the features."""
    reason_without_features: str | None = "the edges say much, and there are no features"
    """The same if the nodes have no features of their own; None if it is the same."""
    colour: str = "grey"
    """In pictures: a hue of `reports.palette`, or a CSS colour."""
    recomputes: bool = False
    """Whether the setting `recompute` saves memory."""


_METHODS: dict[str, MethodInfo] = {}


def register_method(
    name: str, config: type[Any] | str, method: type[Any] | str, *, title: str, about: str, **facts: Any
) -> None:
    """Add a method, which `--model`, `compare`, `tune` and the estimators then accept by its name.

    Args:
        name: in lower case, such as `gcn`.
        config: the dataclass of its settings, a `MethodConfig` or an `InputConfig`, or `module:Class`.
        method: the subclass of `Method`, whose constructor takes the settings, or `module:Class`.
        title: in tables and sentences, such as `GCN`.
        about: describes it in a sentence.
        facts: further fields of `MethodInfo`.
    """
    info = MethodInfo(name, config, method, title, about, **facts)
    known = _METHODS.setdefault(name, info)
    if (str(known.config), str(known.method)) != (str(config), str(method)):
        raise InputError(f"A method named {name!r} exists already; choose another name.")


def method_names() -> tuple[str, ...]:
    """Return the names of all methods."""
    _load_all()
    return tuple(_METHODS)


def method_info(name: str) -> MethodInfo:
    """Return what is known of a method."""
    if name not in _METHODS:
        _load_all()
    if name not in _METHODS:
        near = get_close_matches(name, _METHODS, n=1)
        more = "" if plugins("methods") else " In a clone, pip install ./experiments adds more."
        hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(_METHODS)}.{more}"
        raise InputError(f"There is no model named {name!r}; {hint}")
    return _METHODS[name]


def method_named_in(variant: str) -> str:
    """Return the method whose variant this is: `gcn` of `gcn+harmonic`, `hgcn-plus` of `hgcn-plus-flat`."""
    methods = [name for name in method_names() if re.match(rf"{re.escape(name)}(?![a-z])", variant)]
    return method_info(max(methods, key=len, default=variant)).name


def method_title(name: str) -> str:
    """Return the method's name as people read it, such as `H-GCN`."""
    return method_info(name).title


def method_about(name: str) -> str:
    """Describe the method in a sentence, with the package that it needs."""
    info = method_info(name)
    return info.about + (f" Needs pip install {info.package}." if info.package else "")


def config_class(name: str) -> type[Any]:
    """Return the dataclass of the method's settings."""
    config: type[Any] = imported(method_info(name).config)
    return config


def outside_methods() -> list[MethodInfo]:
    """Return the methods that were registered by their classes, outside of this package. Worker processes need them."""
    ours = "hiergcn.settings.methods"
    return [info for info in _METHODS.values() if getattr(info.config, "__module__", ours) != ours]


def imported(what: Any) -> Any:
    """Return what `module:name` names; anything else as it is."""
    if not isinstance(what, str):
        return what
    module, _, name = what.partition(":")
    return getattr(import_module(module), name)


def _load_all() -> None:
    """Import the methods of this package and of those installed beside it; they register themselves."""
    import_module("hiergcn.settings.methods")
    plugins("methods")
