"""The table of methods: name, title and classes.

This is the only list of methods in the package. A method's module is imported when it is first used, so that reading
the table does not import torch.
"""

from dataclasses import replace
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from hiergcn.errors import InputError

if TYPE_CHECKING:
    from hiergcn.model.method import Method


class _Entry(NamedTuple):
    """Title in tables and sentences; module below `hiergcn.model`; prefix of its Config and Method; description."""

    title: str
    module: str
    prefix: str
    about: str
    package: str | None = None
    """A package that it needs, beside those of hiergcn."""


_METHODS = {
    "hgcn": _Entry(
        "H-GCN", "hgcn", "HGCN", "The paper's network: convolve, coarsen, refine back, classify (Hu et al., 2019)."
    ),
    "hgcn-plus": _Entry(
        "H-GCN+",
        "plus.network",
        "HGCNPlus",
        "Random propagation over graph and hierarchy, then a small network; for few labels.",
    ),
    "gcn": _Entry("GCN", "baselines.gcn", "GCN", "Graph convolutions, two by default (Kipf & Welling, 2017)."),
    "gat": _Entry("GAT", "baselines.gat", "GAT", "Graph attention (Veličković et al., 2018).", "torch_geometric"),
    "appnp": _Entry(
        "APPNP",
        "baselines.appnp",
        "APPNP",
        "A perceptron, then personalised PageRank of its outputs (Gasteiger et al., 2019).",
    ),
    "graph-unet": _Entry(
        "Graph U-Net",
        "baselines.graph_unet",
        "GraphUNet",
        "Learned pooling and unpooling (Gao & Ji, 2019).",
        "torch_geometric",
    ),
    "mlp": _Entry("MLP", "baselines.mlp", "MLP", "A perceptron on the features alone, without edges."),
    "label-propagation": _Entry(
        "label propagation",
        "baselines.label_propagation",
        "LabelPropagation",
        "Labels spread along the edges, without features (Zhou et al., 2004).",
    ),
    "harmonic": _Entry(
        "harmonic function",
        "baselines.label_propagation",
        "Harmonic",
        "Every node is the mean of its neighbours, without features (Zhu et al., 2003).",
    ),
    "constant": _Entry(
        "constant",
        "baselines.label_propagation",
        "Constant",
        "The mean number, or the shares of the classes: a floor for all others.",
    ),
    "graphsage": _Entry(
        "GraphSAGE",
        "baselines.graphsage",
        "GraphSAGE",
        "A node beside the mean of its neighbours, in each layer (Hamilton et al., 2017).",
    ),
    "gcnii": _Entry(
        "GCNII", "baselines.gcnii", "GCNII", "A deep GCN that keeps its first layer in sight (Chen et al., 2020)."
    ),
    "grand": _Entry(
        "GRAND", "baselines.grand", "GRAND", "Random propagation and consistency training (Feng et al., 2020)."
    ),
    "dgcn": _Entry(
        "DGCN",
        "baselines.dgcn",
        "DGCN",
        "Two GCNs, one on edges and one on random walks, that must agree (Zhuang & Ma, 2018).",
    ),
    "planetoid-t": _Entry(
        "Planetoid-T",
        "baselines.planetoid",
        "PlanetoidT",
        "Embeddings of nodes that predict contexts and classes, transductive (Yang et al., 2016).",
    ),
    "planetoid-i": _Entry(
        "Planetoid-I",
        "baselines.planetoid",
        "PlanetoidI",
        "The same with embeddings computed from features, inductive (Yang et al., 2016).",
    ),
    "deepwalk": _Entry(
        "DeepWalk",
        "baselines.deepwalk",
        "DeepWalk",
        "A skip-gram of random walks, then a support vector machine (Perozzi et al., 2014).",
        "gensim",
    ),
}


_WITHOUT_COLUMNS: dict[str, Any] = {"harmonic": False, "sharp": False}


def method_names() -> tuple[str, ...]:
    """Return the names of all methods."""
    return tuple(_METHODS)


def method_title(name: str) -> str:
    """Return the method's name as people read it, such as `H-GCN`."""
    return _entry(name).title


def method_about(name: str) -> str:
    """Describe the method in a sentence, with the package that it needs."""
    entry = _entry(name)
    return entry.about + (f" Needs pip install {entry.package}." if entry.package else "")


def method_source(name: str) -> tuple[str, str]:
    """Return the module of a method below `hiergcn.model`, and the prefix of its classes, Config and Method."""
    entry = _entry(name)
    return entry.module, entry.prefix


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
    entry = _entry(name)
    found: type[Any] = getattr(import_module(f"hiergcn.model.{entry.module}"), entry.prefix + kind)
    return found


def _entry(name: str) -> _Entry:
    if name not in _METHODS:
        near = get_close_matches(name, _METHODS, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; choose one of {', '.join(_METHODS)}."
        raise InputError(f"There is no model named {name!r}{hint}")
    return _METHODS[name]
