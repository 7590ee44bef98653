r"""A multi-layer perceptron: what the features tell without the graph.

.. math:: Z = \operatorname{ReLU}(X W_0 + b_0) W_1 + b_1

The floor that the tables of Kipf & Welling (ICLR 2017) and Veličković et al. (ICLR 2018) give, trained as their GCN is:
dropout on what each layer takes in, the L2 penalty on :math:`W_0` alone.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hiergcn.coarsen import Hierarchy
from hiergcn.graph.task import Task
from hiergcn.model.checks import check_rates, check_scaling, check_whole
from hiergcn.model.features import Scaling, feature_tensor
from hiergcn.model.method import Features, Method, NodeModel, Prepared, Weights
from hiergcn.model.projection import FeatureLinear


@dataclass(frozen=True)
class MLPConfig:
    """The network's settings; the defaults are those of Kipf & Welling's GCN."""

    hidden: int = 16
    """Width of the hidden layer."""
    dropout: float = 0.5
    """Rate of dropout on what each layer takes in."""
    scaling: Scaling = "row"
    """Of the features: rows that sum to 1."""

    def __post_init__(self) -> None:
        check_whole(self, hidden=1)
        check_rates(self, "dropout")
        check_scaling(self)


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


class MLPMethod(Method):
    """The perceptron as a method; it makes nothing of the graph."""

    replicates = True

    def __init__(self, config: MLPConfig) -> None:
        self.config = config

    def prepare(
        self,
        task: Task,
        hierarchy: Hierarchy | None,  # noqa: ARG002
        device: torch.device,
        weights: Weights | None = None,  # noqa: ARG002
    ) -> Prepared:
        return Prepared(feature_tensor(task, self.config.scaling, device), None)

    def build(self, prepared: Prepared, n_classes: int, generator: torch.Generator) -> MLP:
        return MLP(prepared.features.shape[1], n_classes, self.config, generator)
