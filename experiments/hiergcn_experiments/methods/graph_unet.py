r"""Graph U-Net, Gao & Ji, Graph U-Nets (ICML 2019), on PyG's `GraphUNet`.

A U-Net whose pooling keeps the k nodes with the highest scores along a learned vector p; unpooling puts them back:

.. math:: y = X p / \Vert p \Vert, \quad i = \operatorname{top}_k(y), \quad X' = (X \odot \tanh y)_i, \quad
    A' = ((A + I)^2)_{i,i}

Settings follow PyG's own example, the source of later re-runs' figures; training drops edges too. The squared adjacency
grows with the sum of squared degrees, so graphs with large hubs need much memory: NELL's has 105 million entries.

Reference: the authors report the best test accuracy over epochs; here validation chooses the epoch.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from hiergcn.extend import (
    SCALING,
    Count,
    EdgeMethod,
    Edges,
    FeatureLinear,
    Features,
    InputConfig,
    NodeModel,
    Rate,
    Scaling,
    TrueShare,
    drawing_from,
    on_projected,
    pyg_layers,
    setting,
)


@dataclass(frozen=True)
class GraphUNetConfig(InputConfig):
    """The settings; the defaults are those of PyG's example on Cora."""

    hidden: Count = setting(32, "Width of every hidden layer.")
    depth: Count = setting(3, "Pooling layers.")
    first_pool: Count = setting(
        2000, "Nodes that the first pooling keeps; a graph with no more nodes keeps the share `pool_ratio`."
    )
    pool_ratio: TrueShare = setting(0.5, "Share of the nodes that each further pooling keeps.")
    dropout: Rate = setting(0.92, "Dropout rate on the features.")
    edge_dropout: Rate = setting(0.2, "Share of the edges dropped in a training step.")
    scaling: Scaling = setting("none", SCALING)


class GraphUNet(NodeModel):
    """The U-Net over one graph."""

    def __init__(
        self, edges: Edges, n_features: int, n_classes: int, config: GraphUNetConfig, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.edges, self.config, self.generator = edges, config, generator
        large = edges.n_nodes > config.first_pool
        ratios = [config.first_pool / edges.n_nodes if large else config.pool_ratio, config.pool_ratio]
        self.project = FeatureLinear(n_features, config.hidden, config.dropout, generator)
        with drawing_from(generator):
            self.unet = pyg_layers().GraphUNet(
                config.hidden, config.hidden, n_classes, config.depth, ratios[: config.depth]
            )
        on_projected(self.unet.down_convs[0])

    def forward(self, features: Features) -> Tensor:
        index, weight = self._kept_edges()
        projected = self.project(features)  # (n, hidden)
        with torch.sparse.check_sparse_tensor_invariants(enable=False):  # torch warns if it is not set
            logits: Tensor = self.unet(projected, index, edge_weight=weight)
        return logits

    def _kept_edges(self) -> tuple[Tensor, Tensor]:
        """Return the edges that dropout keeps: both directions of an edge or neither."""
        index, weight = self.edges.index, self.edges.weight
        if not (self.training and self.config.edge_dropout):
            return index, weight
        forth = torch.nonzero(index[0] < index[1]).squeeze(1)
        draw = torch.rand(len(forth), generator=self.generator, device=index.device)
        forth = forth[draw >= self.config.edge_dropout]
        kept = index[:, forth]
        return torch.cat([kept, kept.flip(0)], dim=1), weight[forth].repeat(2)


class GraphUNetMethod(EdgeMethod):
    network = GraphUNet
