r"""GCN, Kipf & Welling, Semi-Supervised Classification with Graph Convolutional Networks (ICLR 2017).

.. math:: Z = \hat A \operatorname{ReLU}(\hat A X W_0) W_1, \quad \hat A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}

Further layers between the two are :math:`H' = \operatorname{ReLU}(\hat A H W)`. As in the authors' code there is no
bias by default, and each layer drops entries of its input; of sparse features, non-zeros. The L2 penalty is on all
weights but those of the last layer.

Reference: stops when the validation loss rises above its mean of ten epochs and keeps the last weights. Here
validation chooses the epoch, as for every method. Neither reads test labels.
"""

import torch
from torch import Tensor, nn

from hiergcn.model.baselines.base import AdjacencyMethod, drawing_from
from hiergcn.model.method import Features, NodeModel
from hiergcn.model.ops.dropout import dropout
from hiergcn.model.ops.sparse import FeatureLinear, SparseMatrix, propagate
from hiergcn.settings.methods import GCNConfig


class GCN(NodeModel):
    """Graph convolutions, two or more."""

    def __init__(
        self, adjacency: SparseMatrix, n_features: int, n_classes: int, config: GCNConfig, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.config, self.generator, self.draws = config, generator, config.dropout > 0.0
        self.adjacency = adjacency  # of the graph, not of the model: not a buffer, so not saved with the weights
        self.first = FeatureLinear(n_features, config.hidden, config.dropout, generator)
        with drawing_from(generator):
            for _ in range(2):  # PyG's layers drew these first: a seed keeps its initial weights
                torch.rand(config.hidden, config.hidden)
            self.second = nn.Linear(config.hidden, n_classes, bias=False)
            nn.init.xavier_uniform_(self.second.weight)
        self.between = nn.ModuleList(
            FeatureLinear(config.hidden, config.hidden, config.dropout, generator) for _ in range(config.layers - 2)
        )
        widths = [config.hidden] * (config.layers - 1) + [n_classes] if config.bias else []
        self.biases = nn.ParameterList(torch.zeros(width) for width in widths)

    def forward(self, features: Features) -> Tensor:
        H: Features = features
        for i, layer in enumerate((self.first, *self.between)):
            H = torch.relu(self._shifted(propagate(self.adjacency, layer(H)), i))  # (n, hidden)
        assert isinstance(H, Tensor)
        H = dropout(H, self.config.dropout if self.training else 0.0, self.generator)
        return self._shifted(propagate(self.adjacency, self.second(H)), -1)  # (n, classes)

    def _shifted(self, H: Tensor, i: int) -> Tensor:
        return H + self.biases[i] if self.config.bias else H

    def regularised(self) -> list[nn.Parameter]:
        return [parameter for name, parameter in self.named_parameters() if not name.startswith(("second", "biases"))]


class GCNMethod(AdjacencyMethod):
    network = GCN
    replicates = True
