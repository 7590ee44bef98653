r"""A multi-layer perceptron: what the features tell without the graph.

.. math:: Z = \operatorname{ReLU}(X W_0 + b_0) W_1 + b_1

The floor that the tables of Kipf & Welling (ICLR 2017) and Veličković et al. (ICLR 2018) give, trained as their GCN is:
dropout on what each layer takes in, the L2 penalty on :math:`W_0` alone.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hiergcn.graph.task import Task
from hiergcn.model.baselines.base import PlainMethod
from hiergcn.model.baselines.two_layers import TwoLayerConfig
from hiergcn.model.method import Features, NodeModel, Prepared
from hiergcn.model.ops.feature_linear import FeatureLinear


@dataclass(frozen=True)
class MLPConfig(TwoLayerConfig):
    """The network's settings."""


class MLP(NodeModel):
    """Two layers; the node's own features alone.

    Args:
        n_features: columns of the feature matrix.
        n_classes: number of classes.
        config: the settings.
        generator: draws the initial weights, then the dropout masks.
    """

    def __init__(self, n_features: int, n_classes: int, config: MLPConfig, generator: torch.Generator) -> None:
        super().__init__()
        self.first = FeatureLinear(n_features, config.hidden, config.dropout, generator)
        self.first_bias = nn.Parameter(torch.zeros(config.hidden))
        self.second = FeatureLinear(config.hidden, n_classes, config.dropout, generator)
        self.second_bias = nn.Parameter(torch.zeros(n_classes))

    def forward(self, features: Features) -> Tensor:
        H = torch.relu(self.first(features) + self.first_bias)  # (n, hidden)
        logits: Tensor = self.second(H) + self.second_bias
        return logits

    def regularised(self) -> list[nn.Parameter]:
        """W_0 alone."""
        return [self.first.weight]


class MLPMethod(PlainMethod):
    """The perceptron as a method; it makes nothing of the graph."""

    replicates = True

    def structure(self, task: Task, device: torch.device) -> None: ...

    def build(self, prepared: Prepared, n_classes: int, generator: torch.Generator) -> MLP:
        return MLP(prepared.features.shape[1], n_classes, self.config, generator)
