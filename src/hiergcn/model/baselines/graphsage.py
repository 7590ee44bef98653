r"""GraphSAGE with mean aggregation, Hamilton et al., Inductive Representation Learning on Large Graphs (NIPS 2017).

.. math:: H^{(l+1)} = \operatorname{ReLU}(H^{(l)} W_l + P H^{(l)} V_l + b_l), \quad P = D^{-1} A

A node's own features have weights apart from those of its neighbours, so the network also learns from neighbours of
other classes. The last layer has no ReLU. Neighbours are not sampled: all are used.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from hiergcn.graph.task import Task
from hiergcn.model.baselines.base import FlatMethod
from hiergcn.model.method import Features, NodeModel
from hiergcn.model.ops.sparse import FeatureLinear, SparseMatrix, propagate
from hiergcn.settings.methods import GraphSAGEConfig


class NeighbourMean(NamedTuple):
    """P = D^-1 A and its transpose, (n, n)."""

    P: SparseMatrix
    transpose: SparseMatrix

    def __call__(self, H: Tensor) -> Tensor:
        """Return the mean over each node's neighbours; 0 for a node without any."""
        return propagate(self.P, H, self.transpose)


class GraphSAGE(NodeModel):
    """Layers with weights for a node and for the mean of its neighbours."""

    def __init__(
        self, mean: NeighbourMean, n_features: int, n_classes: int, config: GraphSAGEConfig, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.mean = mean  # of the graph, not of the model: not saved with the weights
        widths = [n_features, *[config.hidden] * (config.layers - 1), n_classes]
        pairs = list(pairwise(widths))
        self.own = nn.ModuleList([FeatureLinear(a, b, config.dropout, generator) for a, b in pairs])
        self.neighbours = nn.ModuleList([FeatureLinear(a, b, config.dropout, generator) for a, b in pairs])
        self.bias = nn.ParameterList([torch.zeros(b) for b in widths[1:]])

    def forward(self, features: Features) -> Tensor:
        H: Features = features
        for layer, (own, neighbours, bias) in enumerate(zip(self.own, self.neighbours, self.bias, strict=True)):
            out: Tensor = own(H) + self.mean(neighbours(H)) + bias  # (n, width)
            H = torch.relu(out) if layer + 1 < len(self.bias) else out
        assert isinstance(H, Tensor)
        return H


class GraphSAGEMethod(FlatMethod):
    network = GraphSAGE
    replicates = True

    def structure(self, task: Task, device: torch.device) -> NeighbourMean:
        degree = task.adjacency.sum(axis=1)
        inverse = np.divide(1.0, degree, out=np.zeros(len(degree)), where=degree > 0)
        P = sp.csr_array(sp.diags_array(inverse) @ task.adjacency)
        return NeighbourMean(SparseMatrix.from_scipy(P, device), SparseMatrix.from_scipy(sp.csr_array(P.T), device))
