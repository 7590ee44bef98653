"""The methods by name. A method's file is imported when it is asked for, so that no run pays for the others."""

from dataclasses import replace
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from hiergcn.errors import InputError
from hiergcn.model.ensemble import CommitteeMethod
from hiergcn.model.method import Method
from hiergcn.model.standardise import Standardised

_HOME = {  # name: (module, config class, method class)
    "hgcn": ("hiergcn.model.hgcn", "HGCNConfig", "HGCNMethod"),
    "hgcn-plus": ("hiergcn.model.plus.network", "HGCNPlusConfig", "HGCNPlusMethod"),
    "gcn": ("hiergcn.model.baselines.gcn", "GCNConfig", "GCNMethod"),
    "gat": ("hiergcn.model.baselines.gat", "GATConfig", "GATMethod"),
    "appnp": ("hiergcn.model.baselines.appnp", "APPNPConfig", "APPNPMethod"),
    "graph-unet": ("hiergcn.model.baselines.graph_unet", "GraphUNetConfig", "GraphUNetMethod"),
    "mlp": ("hiergcn.model.baselines.mlp", "MLPConfig", "MLPMethod"),
    "label-propagation": (
        "hiergcn.model.baselines.label_propagation",
        "LabelPropagationConfig",
        "LabelPropagationMethod",
    ),
    "grand": ("hiergcn.model.baselines.grand", "GRANDConfig", "GRANDMethod"),
    "dgcn": ("hiergcn.model.baselines.dgcn", "DGCNConfig", "DGCNMethod"),
    "planetoid-t": ("hiergcn.model.baselines.planetoid", "PlanetoidTConfig", "PlanetoidTMethod"),
    "planetoid-i": ("hiergcn.model.baselines.planetoid", "PlanetoidIConfig", "PlanetoidIMethod"),
    "deepwalk": ("hiergcn.model.baselines.deepwalk", "DeepWalkConfig", "DeepWalkMethod"),
}


def method_names() -> tuple[str, ...]:
    return tuple(_HOME)


def config_class(name: str) -> type[Any]:
    """The dataclass of the method's settings."""
    module, config, _ = _home(name)
    found: type[Any] = getattr(import_module(module), config)
    return found


def method_class(name: str) -> type[Any]:
    """The class of the method, which is made of its settings."""
    module, _, method = _home(name)
    found: type[Any] = getattr(import_module(module), method)
    return found


def build_method(name: str, config: Any) -> Method:
    make = method_class(name)
    if getattr(config, "networks", 1) > 1:
        return CommitteeMethod(build_method(name, replace(config, networks=1)), config.networks)
    if getattr(config, "scaling", None) == "standard":
        return Standardised(make(replace(config, scaling="none")))
    built: Method = make(config)
    return built


def _home(name: str) -> tuple[str, str, str]:
    if name not in _HOME:
        near = get_close_matches(name, _HOME, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; choose one of {', '.join(_HOME)}."
        raise InputError(f"There is no model named {name!r}{hint}")
    return _HOME[name]
