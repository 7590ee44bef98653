"""hiergcn: classify the nodes of a graph from a few labels, by hierarchical graph convolutional networks (H-GCN).

Names are imported when first used, so that `import hiergcn` and `hiergcn --help` stay instant.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hiergcn.version import __version__

if TYPE_CHECKING:
    from hiergcn.coarsen import CoarsenConfig as CoarsenConfig
    from hiergcn.coarsen import Hierarchy as Hierarchy
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
    from hiergcn.model.hgcn import HGCNConfig as HGCNConfig
    from hiergcn.model.levels import HierarchyTensors as HierarchyTensors
    from hiergcn.run.suggest import suggest as suggest

_NAMES = {
    "hiergcn.coarsen": ("CoarsenConfig", "Hierarchy"),
    "hiergcn.datasets": ("load_dataset", "planted_graph"),
    "hiergcn.errors": ("HierGCNError", "InputError"),
    "hiergcn.estimator": ("HGCNClassifier", "NodeClassifier", "NodeRegressor"),
    "hiergcn.graph": ("Graph", "Split"),
    "hiergcn.model.hgcn": ("HGCN", "HGCNConfig"),
    "hiergcn.model.levels": ("HierarchyTensors",),
    "hiergcn.run.suggest": ("suggest",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hiergcn' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
