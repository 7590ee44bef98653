r"""GCN, Kipf & Welling, Semi-Supervised Classification with Graph Convolutional Networks (ICLR 2017).

.. math:: Z = \hat A \operatorname{ReLU}(\hat A X W_0) W_1, \quad \hat A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}

on PyG's `GCNConv`. As in the authors' code there is no bias, dropout falls on what each layer takes in (of sparse
features on the non-zeros), and the L2 penalty on :math:`W_0` alone.

Reference: stops when the validation loss rises above its mean of ten epochs and keeps the last weights; here the epoch
is chosen by validation, as for every method. Test labels play no part in either.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hiergcn.model.baselines.base import OverAdjacency
from hiergcn.model.baselines.pyg import on_projected, pyg_layers, with_product
from hiergcn.model.baselines.two_layers import TwoLayerConfig
from hiergcn.model.generators import drawing_from
from hiergcn.model.method import Features, NodeModel
from hiergcn.model.ops.dropout import dropout
from hiergcn.model.ops.feature_linear import FeatureLinear
from hiergcn.model.ops.sparse import propagate


@dataclass(frozen=True)
class GCNConfig(TwoLayerConfig):
    """The network's settings."""


class GCN(NodeModel):
    """Two graph convolutions over one graph.

    Args:
        adjacency: Â as a CSR tensor (n, n).
        n_features: columns of the feature matrix.
        n_classes: number of classes.
        config: the settings.
        generator: draws the initial weights, then the dropout masks.
    """

    def __init__(
        self, adjacency: Tensor, n_features: int, n_classes: int, config: GCNConfig, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.config, self.generator = config, generator
        self.adjacency = adjacency  # of the graph, not of the model: not a buffer, so not saved with the weights
        conv = pyg_layers().GCNConv
        self.project = FeatureLinear(n_features, config.hidden, config.dropout, generator)
        with drawing_from(generator):
            first = conv(config.hidden, config.hidden, normalize=False, bias=False)
            second = conv(config.hidden, n_classes, normalize=False, bias=False)
        self.first = with_product(on_projected(first), propagate)
        self.second = with_product(second, propagate)

    def forward(self, features: Features) -> Tensor:
        H = torch.relu(self.first(self.project(features), self.adjacency))  # (n, hidden)
        logits: Tensor = self.second(
            dropout(H, self.config.dropout if self.training else 0.0, self.generator), self.adjacency
        )
        return logits

    def regularised(self) -> list[nn.Parameter]:
        """W_0 alone, as in the paper."""
        return [self.project.weight]


class GCNMethod(OverAdjacency):
    """GCN as a method."""

    network = GCN
    replicates = True
