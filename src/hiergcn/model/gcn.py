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

from hiergcn.coarsen import Hierarchy
from hiergcn.graph.task import Task
from hiergcn.model.checks import check_rates, check_scaling, check_whole
from hiergcn.model.dropout import dropout
from hiergcn.model.features import Scaling, feature_tensor
from hiergcn.model.method import Features, Method, NodeModel, Prepared, Weights
from hiergcn.model.projection import FeatureLinear
from hiergcn.model.pyg import on_projected, pyg_layers
from hiergcn.model.randomness import drawing_from
from hiergcn.model.sparse import csr_tensor, normalised_adjacency


@dataclass(frozen=True)
class GCNConfig:
    """The network's settings; the defaults are the paper's on citation networks."""

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
            self.first = on_projected(conv(config.hidden, config.hidden, normalize=False, bias=False))
            self.second = conv(config.hidden, n_classes, normalize=False, bias=False)

    def forward(self, features: Features) -> Tensor:
        H = torch.relu(self.first(self.project(features), self.adjacency))  # (n, hidden)
        logits: Tensor = self.second(
            dropout(H, self.config.dropout if self.training else 0.0, self.generator), self.adjacency
        )
        return logits

    def regularised(self) -> list[nn.Parameter]:
        """W_0 alone, as in the paper."""
        return [self.project.weight]


class GCNMethod(Method):
    """GCN as a method: Â is made once, each seed gets its own network."""

    def __init__(self, config: GCNConfig) -> None:
        self.config = config

    def prepare(
        self,
        task: Task,
        hierarchy: Hierarchy | None,  # noqa: ARG002
        device: torch.device,
        weights: Weights | None = None,  # noqa: ARG002
    ) -> Prepared:
        adjacency = csr_tensor(normalised_adjacency(task.adjacency)).to(device)
        return Prepared(feature_tensor(task, self.config.scaling, device), adjacency)

    def build(self, prepared: Prepared, n_classes: int, generator: torch.Generator) -> GCN:
        return GCN(prepared.structure, prepared.features.shape[1], n_classes, self.config, generator)
