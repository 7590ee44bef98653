"""The table of methods: name, title, one-line summary and classes.

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
    """Title in tables and sentences; a summary; module below `hiergcn.model`; prefix of its Config and Method."""

    title: str
    summary: str
    module: str
    prefix: str


_PLANETOID = "baselines.planetoid"
_METHODS = {
    "hgcn": _Entry("H-GCN", "The paper's network on a hierarchy of coarsened graphs.", "hgcn", "HGCN"),
    "hgcn-plus": _Entry("H-GCN+", "Random propagation over the levels of the hierarchy.", "plus.network", "HGCNPlus"),
    "gcn": _Entry("GCN", "Two graph convolutions (Kipf & Welling, 2017).", "baselines.gcn", "GCN"),
    "gat": _Entry("GAT", "Graph attention (Veličković et al., 2018).", "baselines.gat", "GAT"),
    "appnp": _Entry("APPNP", "Personalised PageRank of an MLP (Gasteiger et al., 2019).", "baselines.appnp", "APPNP"),
    "graph-unet": _Entry("Graph U-Net", "Graph pooling (Gao & Ji, 2019).", "baselines.graph_unet", "GraphUNet"),
    "mlp": _Entry("MLP", "A perceptron on the features alone, without edges.", "baselines.mlp", "MLP"),
    "label-propagation": _Entry(
        "label propagation",
        "Labels spread along edges, without features.",
        "baselines.label_propagation",
        "LabelPropagation",
    ),
    "grand": _Entry("GRAND", "Random propagation on the graph (Feng et al., 2020).", "baselines.grand", "GRAND"),
    "dgcn": _Entry("DGCN", "Adjacency and co-occurrence (Zhuang & Ma, 2018).", "baselines.dgcn", "DGCN"),
    "planetoid-t": _Entry("Planetoid-T", "Transductive embeddings (Yang et al., 2016).", _PLANETOID, "PlanetoidT"),
    "planetoid-i": _Entry("Planetoid-I", "Inductive embeddings (Yang et al., 2016).", _PLANETOID, "PlanetoidI"),
    "deepwalk": _Entry("DeepWalk", "Random-walk embeddings (Perozzi et al., 2014).", "baselines.deepwalk", "DeepWalk"),
}


def method_names() -> tuple[str, ...]:
    """Return the names of all methods."""
    return tuple(_METHODS)


def method_title(name: str) -> str:
    """Return the method's name as people read it, such as `H-GCN`."""
    return _entry(name).title


def method_summary(name: str) -> str:
    """Return one sentence about the method."""
    return _entry(name).summary


def config_class(name: str) -> type[Any]:
    """Return the dataclass of the method's settings."""
    return _class(name, "Config")


def method_class(name: str) -> type[Any]:
    """Return the method's class, whose constructor takes the settings."""
    return _class(name, "Method")


def build_method(name: str, config: Any) -> "Method":
    """Make the method; `networks` above 1 and `scaling="standard"` wrap it."""
    from hiergcn.model.ensemble import EnsembleMethod
    from hiergcn.model.features import Standardised

    if getattr(config, "networks", 1) > 1:
        return EnsembleMethod(build_method(name, replace(config, networks=1)), config.networks)
    if getattr(config, "scaling", None) == "standard":
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
