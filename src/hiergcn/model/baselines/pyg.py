"""Shared code of GAT and Graph U-Net, which run on PyTorch Geometric's layers.

PyG's layers begin with a product X W of dense features. `FeatureLinear` takes that product instead, because it keeps
sparse features sparse (NELL's would fill 16 GB); `on_projected` removes the layer's own.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from hiergcn.errors import MissingPackageError
from hiergcn.graph.task import Task
from hiergcn.model.baselines.base import FlatMethod


def pyg_layers() -> Any:
    """Return `torch_geometric.nn`, imported when a model is built: that takes seconds, and the package is an extra."""
    try:
        import torch_geometric.nn as layers
    except ImportError:
        raise MissingPackageError(
            "This model needs PyTorch Geometric, which is not installed; run pip install torch_geometric."
        ) from None
    return layers


def on_projected(layer: Any) -> Any:
    """Remove the layer's own product, so that it takes X W instead of X; return the layer."""
    layer.lin = nn.Identity()
    return layer


@dataclass(frozen=True, eq=False)
class Edges:
    """Both directions of every edge between two different nodes, as PyG takes them; its layers add self-loops."""

    index: Tensor  # (2, edges)
    weight: Tensor  # (edges,)
    n_nodes: int

    @classmethod
    def of(cls, adjacency: sp.csr_array, device: torch.device) -> Self:
        coo = adjacency.tocoo()
        apart = coo.row != coo.col
        index = np.stack([coo.row[apart], coo.col[apart]]).astype(np.int64)
        weight = coo.data[apart].astype(np.float32)
        return cls(torch.from_numpy(index).to(device), torch.from_numpy(weight).to(device), int(adjacency.shape[0]))


class EdgeMethod(FlatMethod):
    """A network over `Edges`."""

    def structure(self, task: Task, device: torch.device) -> Edges:
        return Edges.of(task.adjacency, device)
