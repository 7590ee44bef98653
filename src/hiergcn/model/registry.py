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
    """Title in tables and sentences; module below `hiergcn.model`; prefix of its Config and Method."""

    title: str
    module: str
    prefix: str


_METHODS = {
    "hgcn": _Entry("H-GCN", "hgcn", "HGCN"),  # the paper's network on a hierarchy of coarsened graphs
    "hgcn-plus": _Entry("H-GCN+", "plus.network", "HGCNPlus"),  # random propagation over the levels of the hierarchy
    "gcn": _Entry("GCN", "baselines.gcn", "GCN"),  # Kipf & Welling, 2017
    "gat": _Entry("GAT", "baselines.gat", "GAT"),  # Veličković et al., 2018
    "appnp": _Entry("APPNP", "baselines.appnp", "APPNP"),  # Gasteiger et al., 2019
    "graph-unet": _Entry("Graph U-Net", "baselines.graph_unet", "GraphUNet"),  # Gao & Ji, 2019
    "mlp": _Entry("MLP", "baselines.mlp", "MLP"),  # the features alone, without edges
    "label-propagation": _Entry("label propagation", "baselines.label_propagation", "LabelPropagation"),
    "harmonic": _Entry("harmonic function", "baselines.label_propagation", "Harmonic"),  # Zhu et al., 2003
    "constant": _Entry("constant", "baselines.label_propagation", "Constant"),  # mean number or shares of the classes
    "graphsage": _Entry("GraphSAGE", "baselines.graphsage", "GraphSAGE"),  # Hamilton et al., 2017
    "gcnii": _Entry("GCNII", "baselines.gcnii", "GCNII"),  # Chen et al., 2020
    "grand": _Entry("GRAND", "baselines.grand", "GRAND"),  # Feng et al., 2020
    "dgcn": _Entry("DGCN", "baselines.dgcn", "DGCN"),  # Zhuang & Ma, 2018
    "planetoid-t": _Entry("Planetoid-T", "baselines.planetoid", "PlanetoidT"),  # Yang et al., 2016
    "planetoid-i": _Entry("Planetoid-I", "baselines.planetoid", "PlanetoidI"),  # Yang et al., 2016
    "deepwalk": _Entry("DeepWalk", "baselines.deepwalk", "DeepWalk"),  # Perozzi et al., 2014
}


_WITHOUT_COLUMNS: dict[str, Any] = {"harmonic": False, "sharp": False, "fade": 0.0, "column_dropout": 0.0}


def method_names() -> tuple[str, ...]:
    """Return the names of all methods."""
    return tuple(_METHODS)


def method_title(name: str) -> str:
    """Return the method's name as people read it, such as `H-GCN`."""
    return _entry(name).title


def config_class(name: str) -> type[Any]:
    """Return the dataclass of the method's settings."""
    return _class(name, "Config")


def method_class(name: str) -> type[Any]:
    """Return the method's class, whose constructor takes the settings."""
    return _class(name, "Method")


def build_method(name: str, config: Any) -> "Method":
    """Make the method; `networks` above 1, `harmonic` and `scaling="standard"` wrap it."""
    from hiergcn.model.ensemble import EnsembleMethod
    from hiergcn.model.features import HarmonicColumns, Standardised

    if getattr(config, "networks", 1) > 1:
        return EnsembleMethod(build_method(name, replace(config, networks=1)), config.networks)
    scaling: Any = getattr(config, "scaling", "none")
    if getattr(config, "harmonic", False):
        rows: Any = "none" if scaling == "standard" else scaling  # else after the columns joined
        inner = replace(config, **_WITHOUT_COLUMNS, scaling="standard" if scaling == "standard" else "none")
        return HarmonicColumns(build_method(name, inner), rows, config)
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
