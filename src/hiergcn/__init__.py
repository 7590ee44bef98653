"""hiergcn: classify the nodes of a graph from a few labels, by hierarchical graph convolutional networks (H-GCN).

Names are imported when first used, so that `import hiergcn` and `hiergcn --help` stay instant.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hiergcn.version import __version__

if TYPE_CHECKING:
    from hiergcn.api import coarsen as coarsen
    from hiergcn.api import compare as compare
    from hiergcn.api import explain as explain
    from hiergcn.api import fit as fit
    from hiergcn.api import load as load
    from hiergcn.api import report as report
    from hiergcn.api import suggest as suggest
    from hiergcn.coarsening import Hierarchy as Hierarchy
    from hiergcn.coarsening.node_table import node_table as node_table
    from hiergcn.datasets import load_dataset as load_dataset
    from hiergcn.datasets import planted_graph as planted_graph
    from hiergcn.errors import HierGCNError as HierGCNError
    from hiergcn.errors import InputError as InputError
    from hiergcn.estimator import HGCNClassifier as HGCNClassifier
    from hiergcn.estimator import NodeClassifier as NodeClassifier
    from hiergcn.estimator import NodeRegressor as NodeRegressor
    from hiergcn.graph import Graph as Graph
    from hiergcn.graph import Split as Split
    from hiergcn.model.hgcn import HGCN as HGCN
    from hiergcn.model.levels import HierarchyTensors as HierarchyTensors
    from hiergcn.settings.fields import CoarsenConfig as CoarsenConfig
    from hiergcn.settings.fields import TrainConfig as TrainConfig
    from hiergcn.settings.methods import HGCNConfig as HGCNConfig
    from hiergcn.settings.methods import HGCNPlusConfig as HGCNPlusConfig
    from hiergcn.settings.registry import register_method as register_method

_NAMES = {
    "hiergcn.coarsening": ("Hierarchy",),
    "hiergcn.coarsening.node_table": ("node_table",),
    "hiergcn.datasets": ("load_dataset", "planted_graph"),
    "hiergcn.errors": ("HierGCNError", "InputError"),
    "hiergcn.estimator": ("HGCNClassifier", "NodeClassifier", "NodeRegressor"),
    "hiergcn.graph": ("Graph", "Split"),
    "hiergcn.model.hgcn": ("HGCN",),
    "hiergcn.model.levels": ("HierarchyTensors",),
    "hiergcn.settings.fields": ("CoarsenConfig", "TrainConfig"),
    "hiergcn.settings.methods": ("HGCNConfig", "HGCNPlusConfig"),
    "hiergcn.settings.registry": ("register_method",),
    "hiergcn.api": ("coarsen", "compare", "explain", "fit", "load", "report", "suggest"),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}


__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hiergcn' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
