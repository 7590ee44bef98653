r"""GCNII, Chen et al., Simple and Deep Graph Convolutional Networks (ICML 2020): a GCN for many layers.

.. math:: H^{(0)} = \operatorname{ReLU}(X W_0 + b_0), \quad
    H^{(l)} = \operatorname{ReLU}\bigl(P^{(l)} ((1 - \beta_l) I + \beta_l W_l)\bigr), \quad
    P^{(l)} = (1 - \alpha) \hat A H^{(l-1)} + \alpha H^{(0)}, \quad \beta_l = \ln(\theta / l + 1)

The output is linear in the last layer. Each layer keeps a share α of the first one, and later layers change less, so
that many of them do not make all nodes alike. As in the authors' code, dropout is on the input of each layer.

Reference: penalises the convolutions and the two linear layers with different weights; here one L2 penalty is on all.
"""

import math

import torch
from torch import Tensor, nn

from hiergcn.model.baselines.base import AdjacencyMethod
from hiergcn.model.method import Features, NodeModel
from hiergcn.model.ops.dropout import dropout
from hiergcn.model.ops.sparse import FeatureLinear, SparseMatrix, propagate
from hiergcn.settings.methods import GCNIIConfig


class GCNII(NodeModel):
    """Graph convolutions between two linear layers."""

    def __init__(
        self, adjacency: SparseMatrix, n_features: int, n_classes: int, config: GCNIIConfig, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.config, self.generator = config, generator
        self.adjacency = adjacency  # of the graph, not of the model: not saved with the weights
        d = config.hidden
        self.first = FeatureLinear(n_features, d, config.dropout, generator)
        self.first_bias = nn.Parameter(torch.zeros(d))
        self.convolutions = nn.ModuleList(FeatureLinear(d, d, 0.0, generator) for _ in range(config.layers))
        self.last = FeatureLinear(d, n_classes, config.dropout, generator)
        self.last_bias = nn.Parameter(torch.zeros(n_classes))

    def forward(self, features: Features) -> Tensor:
        alpha, rate = self.config.alpha, self.config.dropout if self.training else 0.0
        H = first = torch.relu(self.first(features) + self.first_bias)  # (n, hidden)
        for number, layer in enumerate(self.convolutions, start=1):
            beta = math.log(self.config.theta / number + 1.0)
            P = (1.0 - alpha) * propagate(self.adjacency, dropout(H, rate, self.generator)) + alpha * first
            H = torch.relu((1.0 - beta) * P + beta * layer(P))
        logits: Tensor = self.last(H) + self.last_bias
        return logits


class GCNIIMethod(AdjacencyMethod):
    network = GCNII
    replicates = True
