"""What the methods on PyTorch Geometric's layers share.

PyG's layers begin with a product X W of dense features. Here that product is taken by `FeatureLinear`, which keeps
sparse features sparse (NELL's would fill 16 GB), and the layer, its own product taken out by `on_projected`, does the
rest.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from hiergcn.errors import MissingPackageError
from hiergcn.graph.task import Task
from hiergcn.model.baselines.base import PlainMethod


def pyg_layers() -> Any:
    """`torch_geometric.nn`, imported when a model is built: it takes seconds, and the package is an extra."""
    try:
        import torch_geometric.nn as layers
    except ImportError:
        raise MissingPackageError(
            "This model needs PyTorch Geometric, which is not installed; install it with pip install 'hiergcn[pyg]'."
        ) from None
    return layers


def on_projected(layer: Any) -> Any:
    """The layer without its own product: it takes X W instead of X."""
    layer.lin = nn.Identity()
    return layer


def with_product(layer: Any, product: Callable[[Tensor, Tensor], Tensor]) -> Any:
    """The layer with a sparse product of ours, of the adjacency that it is given and the messages.

    PyG's transposes the adjacency in every backward pass and cannot train replicas side by side.
    """
    layer.message_and_aggregate = product
    return layer


@dataclass(frozen=True, eq=False)
class Edges:
    """Both directions of every edge between two different nodes, as PyG takes them. Self-loops are the layers' own."""

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


class OverEdges(PlainMethod):
    """A network over the edges."""

    def structure(self, task: Task, device: torch.device) -> Edges:
        return Edges.of(task.adjacency, device)
