r"""A multi-layer perceptron, which uses the features and not the graph.

.. math:: Z = \operatorname{ReLU}(X W_0 + b_0) W_1 + b_1

The lower bound in the tables of Kipf & Welling (ICLR 2017) and Veličković et al. (ICLR 2018), trained as their GCN:
dropout on the input of each layer, the L2 penalty on :math:`W_0` alone.
"""

import torch
from torch import Tensor, nn

from hiergcn.graph.task import Task
from hiergcn.model.baselines.base import FlatMethod
from hiergcn.model.method import Features, NodeModel
from hiergcn.model.ops.sparse import FeatureLinear
from hiergcn.settings.methods import MLPConfig


class MLP(NodeModel):
    """Two layers over each node's own features; `graph` is None."""

    def __init__(
        self, graph: None, n_features: int, n_classes: int, config: MLPConfig, generator: torch.Generator
    ) -> None:
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
        return [self.first.weight]  # W_0


class MLPMethod(FlatMethod):
    network = MLP
    replicates = True

    def structure(self, task: Task, device: torch.device) -> None:
        """Return None: the perceptron does not use the graph."""
