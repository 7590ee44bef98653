r"""APPNP, Klicpera (Gasteiger) et al., Predict then Propagate: Graph Neural Networks meet Personalized PageRank
(ICLR 2019).

.. math:: H = \operatorname{ReLU}(X W_0) W_1, \quad Z^{(0)} = H, \quad
    Z^{(k+1)} = (1 - \alpha) \hat A Z^{(k)} + \alpha H

on PyG's `APPNP`. As in the authors' code there is no bias, and the L2 penalty falls on :math:`W_0` alone.

While training, entries of Â are dropped anew in each of the K steps. PyG's own dropout there takes from what the step
before has left, so that at a rate of 0.5 one edge in a thousand remains after ten; a hook on its layer drops from all.

Reference: chooses the epoch by validation accuracy, then loss. Test labels play no part.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hiergcn.graph.task import Task
from hiergcn.model.baselines.base import PlainMethod
from hiergcn.model.baselines.pyg import pyg_layers, with_product
from hiergcn.model.config_checks import check_rates, check_scaling, check_share, check_whole
from hiergcn.model.features import Scaling
from hiergcn.model.method import Features, NodeModel
from hiergcn.model.ops.feature_linear import FeatureLinear
from hiergcn.model.ops.sparse import SparseFeatures, normalised_adjacency


@dataclass(frozen=True)
class APPNPConfig:
    """The network's settings; the defaults are the paper's."""

    hidden: int = 64
    """Width of the hidden layer."""
    dropout: float = 0.5
    """Rate of dropout on what each of the two products takes in."""
    adjacency_dropout: float = 0.5
    """Rate of dropout on the entries of Â, anew in each step."""
    steps: int = 10
    """Steps K of the propagation."""
    alpha: float = 0.1
    """Chance to return to the node itself in each step."""
    scaling: Scaling = "row"
    """Of the features: rows that sum to 1."""

    def __post_init__(self) -> None:
        check_whole(self, hidden=1, steps=0)
        check_rates(self, "dropout", "adjacency_dropout")
        check_scaling(self)
        check_share(self, "alpha")


class APPNP(NodeModel):
    """A perceptron whose logits are spread by personalised PageRank.

    Args:
        adjacency: Â as a sparse matrix (n, n) whose entries can be dropped.
        n_features: columns of the feature matrix.
        n_classes: number of classes.
        config: the settings.
        generator: draws the initial weights, then the dropout masks.
    """

    def __init__(
        self,
        adjacency: SparseFeatures,
        n_features: int,
        n_classes: int,
        config: APPNPConfig,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.config, self.generator = config, generator
        self.adjacency = adjacency
        self.first = FeatureLinear(n_features, config.hidden, config.dropout, generator)
        self.second = FeatureLinear(config.hidden, n_classes, config.dropout, generator)
        spread = pyg_layers().APPNP(config.steps, config.alpha, normalize=False)
        self.spread = with_product(spread, self._product_with_dropout)

    def forward(self, features: Features) -> Tensor:
        H = self.second(torch.relu(self.first(features)))  # (n, classes)
        logits: Tensor = self.spread(H, self.adjacency.to_csr())
        return logits

    def _product_with_dropout(self, adj_t: Tensor, x: Tensor) -> Tensor:
        """A step: what dropout leaves of Â, drawn anew, times what has been spread so far."""
        rate = self.config.adjacency_dropout if self.training else 0.0
        return self.adjacency.dropped(rate, self.generator) @ x

    def regularised(self) -> list[nn.Parameter]:
        """W_0 alone, as in the authors' code."""
        return [self.first.weight]


class APPNPMethod(PlainMethod):
    """APPNP as a method."""

    network = APPNP
    replicates = True

    def structure(self, task: Task, device: torch.device) -> SparseFeatures:
        return SparseFeatures.from_scipy(normalised_adjacency(task.adjacency), device)
