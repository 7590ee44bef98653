r"""GAT, Veličković et al., Graph Attention Networks (ICLR 2018).

.. math:: h_i' = \Big\Vert_{k=1}^{K} \operatorname{ELU}\Big(\sum_{j \in N(i) \cup \{i\}} \alpha^k_{ij} W^k h_j\Big),
    \quad \alpha_{ij} = \operatorname{softmax}_j \operatorname{LeakyReLU}(a^\top [W h_i \Vert W h_j])

and an output layer that takes the mean of its heads, on PyG's `GATConv`. Attention is stored for edges only, so memory
grows with the edges, not, as in the authors' first code, with the square of the nodes: a few tensors of (edges + n) *
heads * width. A run on NELL peaks at 1.9 GB. Edge weights are not used, as in the paper.

Reference: each head draws its own feature dropout, and drops the projected features again before they are summed; PyG's
layer does neither. The authors stop after 100 epochs without a better validation loss or accuracy; here after 100
without a better epoch by the selection rule. Test labels play no part in either.

PyG's layers begin with a product X W of dense features. `FeatureLinear` takes that product instead, because it keeps
sparse features sparse (NELL's would fill 16 GB); `on_projected` removes the layer's own.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from hiergcn.errors import MissingPackageError
from hiergcn.graph.task import Task
from hiergcn.model.baselines.base import FlatMethod, drawing_from
from hiergcn.model.method import WORD, Features, MemoryPlan, NodeModel, Workload, flat_memory
from hiergcn.model.ops.dropout import dropout
from hiergcn.model.ops.sparse import FeatureLinear
from hiergcn.settings.methods import GATConfig


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


class GAT(NodeModel):
    """Two layers of attention over the edges of one graph."""

    def __init__(
        self, edges: Edges, n_features: int, n_classes: int, config: GATConfig, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.edges, self.config, self.generator = edges, config, generator
        conv, width = pyg_layers().GATConv, config.heads * config.hidden
        shared = {"negative_slope": config.slope, "dropout": config.attention_dropout}
        self.project = FeatureLinear(n_features, width, config.dropout, generator)
        with drawing_from(generator):
            self.first = on_projected(conv(width, config.hidden, config.heads, **shared))
            self.second = conv(width, n_classes, config.output_heads, concat=False, **shared)

    def forward(self, features: Features) -> Tensor:
        projected = self.project(features)  # (n, heads * hidden)
        with drawing_from(self.generator) if self.training else nullcontext():  # for attention dropout
            H = nn.functional.elu(self.first(projected, self.edges.index))
            H = dropout(H, self.config.dropout if self.training else 0.0, self.generator)
            logits: Tensor = self.second(H, self.edges.index)
        return logits


class GATMethod(EdgeMethod):
    network = GAT

    def memory(self, work: Workload) -> MemoryPlan:
        """Return the bytes of a flat network and of six arrays over the edges, as wide as all heads."""
        width = self.config.heads * self.config.hidden
        return flat_memory(work, width, per_entry=32 + 6 * WORD * width)
