"""The table of methods: name, title and classes. `register_method` adds to it from outside of the package.

A method's module is imported when it is first used, so that reading the table does not import torch.
"""

from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from hiergcn.errors import InputError
from hiergcn.plugins import EXPERIMENTS, plugins

if TYPE_CHECKING:
    from hiergcn.model.method import Method


class _Entry(NamedTuple):
    """Title in tables and sentences; module, below `hiergcn.model` if it begins with a dot; prefix of its Config and
    Method; description."""

    title: str
    module: str
    prefix: str
    about: str
    package: str | None = None
    """A package that it needs, beside those of hiergcn."""
    recipes: str | None = None
    """`package:folder` of its recipes; None for the folder of its name in `recipes` of its package."""


_EXPERIMENTS = ("graph-unet", "dgcn", "planetoid-t", "planetoid-i", "deepwalk", "hgcn-exchange")
"""Methods that `hiergcn-experiments` adds."""

_METHODS = {
    "hgcn": _Entry(
        "H-GCN", ".hgcn", "HGCN", "The paper's network: convolve, coarsen, refine back, classify (Hu et al., 2019)."
    ),
    "hgcn-plus": _Entry(
        "H-GCN+",
        ".plus.network",
        "HGCNPlus",
        "Random propagation over graph and hierarchy, then a small network; for few labels.",
    ),
    "gcn": _Entry("GCN", ".baselines.gcn", "GCN", "Graph convolutions, two by default (Kipf & Welling, 2017)."),
    "gat": _Entry("GAT", ".baselines.gat", "GAT", "Graph attention (Veličković et al., 2018).", "torch_geometric"),
    "appnp": _Entry(
        "APPNP",
        ".baselines.appnp",
        "APPNP",
        "A perceptron, then personalised PageRank of its outputs (Gasteiger et al., 2019).",
    ),
    "mlp": _Entry("MLP", ".baselines.mlp", "MLP", "A perceptron on the features alone, without edges."),
    "label-propagation": _Entry(
        "label propagation",
        ".baselines.label_propagation",
        "LabelPropagation",
        "Labels spread along the edges, without features (Zhou et al., 2004).",
    ),
    "harmonic": _Entry(
        "harmonic function",
        ".baselines.label_propagation",
        "Harmonic",
        "Every node is the mean of its neighbours, without features (Zhu et al., 2003).",
    ),
    "constant": _Entry(
        "constant",
        ".baselines.label_propagation",
        "Constant",
        "The mean number, or the shares of the classes: a floor for all others.",
    ),
    "graphsage": _Entry(
        "GraphSAGE",
        ".baselines.graphsage",
        "GraphSAGE",
        "A node beside the mean of its neighbours, in each layer (Hamilton et al., 2017).",
    ),
    "gcnii": _Entry(
        "GCNII", ".baselines.gcnii", "GCNII", "A deep GCN that keeps its first layer in sight (Chen et al., 2020)."
    ),
    "grand": _Entry(
        "GRAND", ".baselines.grand", "GRAND", "Random propagation and consistency training (Feng et al., 2020)."
    ),
}


_WITHOUT_COLUMNS: dict[str, Any] = {"harmonic": False, "sharp": False}


def register_method(
    name: str,
    title: str,
    module: str,
    prefix: str,
    about: str,
    *,
    package: str | None = None,
    recipes: str | None = None,
) -> None:
    """Add a method to those that every command and estimator takes by name.

    Worker processes know the method, too, if the module that calls this is an entry point of `hiergcn.methods`.

    Args:
        name: as in `--model NAME`.
        title: as people read it.
        module: full name of the module that has its classes; imported when the method is used.
        prefix: of the two classes, `<prefix>Config` and `<prefix>Method`.
        about: a sentence.
        package: one that the method needs, beside those of hiergcn.
        recipes: `package:folder` of its recipes; by default `recipes/<name>` in the package of `module`.
    """
    _METHODS[name] = _Entry(title, module, prefix, about, package, recipes)


def method_names() -> tuple[str, ...]:
    """Return the names of all methods."""
    _load_plugins()
    return tuple(_METHODS)


def method_title(name: str) -> str:
    """Return the method's name as people read it, such as `H-GCN`."""
    return _entry(name).title


def method_about(name: str) -> str:
    """Describe the method in a sentence, with the package that it needs."""
    entry = _entry(name)
    return entry.about + (f" Needs pip install {entry.package}." if entry.package else "")


def method_source(name: str) -> tuple[str, str]:
    """Return the module of a method, and the prefix of its classes, Config and Method."""
    entry = _entry(name)
    return ("hiergcn.model" if entry.module.startswith(".") else "") + entry.module, entry.prefix


def method_recipes(name: str) -> tuple[str, str]:
    """Return the package and the folder of a method's recipes."""
    entry, package = _entry(name), method_source(name)[0].partition(".")[0]
    package, _, folder = (entry.recipes or f"{package}:recipes/{name}").partition(":")
    return package, folder


def config_class(name: str) -> type[Any]:
    """Return the dataclass of the method's settings."""
    return _class(name, "Config")


def method_class(name: str) -> type[Any]:
    """Return the method's class, whose constructor takes the settings."""
    return _class(name, "Method")


def build_method(name: str, config: Any) -> "Method":
    """Make the method; `networks` above 1 and the settings of `InputConfig` wrap it, as does `scaling="standard"`."""
    from hiergcn.model.ensemble import EnsembleMethod
    from hiergcn.model.features import Degrees, HarmonicColumns, HopColumns, Standardised

    if getattr(config, "networks", 1) > 1:
        return EnsembleMethod(build_method(name, replace(config, networks=1)), config.networks)
    if getattr(config, "nearness", False):
        from hiergcn.model.nearness import NearnessMethod

        inner = replace(config, nearness=False, nearness_shares=False)
        own = config.nearness_weight, config.nearness_shares, config.hop_counts
        return NearnessMethod(build_method(name, inner), *own)
    if getattr(config, "nearness_shares", False):
        raise InputError(
            "nearness_shares has no effect without nearness. Set nearness to true, or nearness_shares to false."
        )
    if getattr(config, "degrees", False):
        return Degrees(build_method(name, replace(config, degrees=False, scaling="standard")))
    scaling: Any = getattr(config, "scaling", "none")
    rows: Any = "none" if scaling == "standard" else scaling  # else after the columns joined
    later: Any = "standard" if scaling == "standard" else "none"
    if getattr(config, "hop_counts", False) or getattr(config, "hop_means", False):
        inner = replace(config, hop_counts=False, hop_means=False, scaling=later)
        return HopColumns(build_method(name, inner), rows, config.hop_counts, config.hop_means)
    if getattr(config, "harmonic", False):
        inner = replace(config, **_WITHOUT_COLUMNS, scaling=later)
        return HarmonicColumns(build_method(name, inner), rows, config.sharp)
    for setting, off in _WITHOUT_COLUMNS.items():
        if hasattr(config, "harmonic") and getattr(config, setting) != off:
            raise InputError(
                f"{setting} has no effect without harmonic columns; set harmonic to true, or leave it out."
            )
    if scaling == "standard":
        return Standardised(method_class(name)(replace(config, scaling="none")))
    method: Method = method_class(name)(config)
    return method


def _class(name: str, kind: str) -> type[Any]:
    module, prefix = method_source(name)
    found: type[Any] = getattr(import_module(module), prefix + kind)
    return found


def _entry(name: str) -> _Entry:
    if name not in _METHODS:
        _load_plugins()
    if name in _METHODS:
        return _METHODS[name]
    if name in _EXPERIMENTS:
        raise InputError(f"The model {name} {EXPERIMENTS}")
    near = get_close_matches(name, _METHODS, n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; choose one of {', '.join(_METHODS)}."
    raise InputError(f"There is no model named {name!r}{hint}")


@cache
def _load_plugins() -> None:
    plugins("methods")
