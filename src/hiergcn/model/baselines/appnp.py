r"""APPNP, Klicpera (Gasteiger) et al., Predict then Propagate: Graph Neural Networks meet Personalized PageRank
(ICLR 2019).

.. math:: H = \operatorname{ReLU}(X W_0) W_1, \quad Z^{(0)} = H, \quad
    Z^{(k+1)} = (1 - \alpha) \hat A Z^{(k)} + \alpha H

As in the authors' code there is no bias, the L2 penalty is on :math:`W_0` alone, and training drops entries of Â,
drawn again in each of the K steps.

Reference: chooses the epoch by validation accuracy, then loss. Test labels play no part.
"""

import torch
from torch import Tensor, nn

from hiergcn.model.baselines.base import AdjacencyMethod
from hiergcn.model.method import Features, NodeModel
from hiergcn.model.ops.sparse import FeatureLinear, SparseMatrix
from hiergcn.settings.methods import APPNPConfig


class APPNP(NodeModel):
    """A perceptron whose logits are propagated by personalised PageRank."""

    def __init__(
        self, graph: SparseMatrix, n_features: int, n_classes: int, config: APPNPConfig, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.config, self.generator = config, generator
        self.adjacency = graph  # Â (n, n), whose entries can be dropped
        self.first = FeatureLinear(n_features, config.hidden, config.dropout, generator)
        self.second = FeatureLinear(config.hidden, n_classes, config.dropout, generator)

    def forward(self, features: Features) -> Tensor:
        alpha, rate = self.config.alpha, self.config.adjacency_dropout if self.training else 0.0
        H: Tensor = self.second(torch.relu(self.first(features)))  # (n, classes)
        Z = H
        for _ in range(self.config.steps):
            Z = (self.adjacency.dropped(rate, self.generator) @ Z) * (1.0 - alpha) + alpha * H
        return Z

    def regularised(self) -> list[nn.Parameter]:
        return [self.first.weight]  # W_0


class APPNPMethod(AdjacencyMethod):
    network = APPNP
    replicates = True
