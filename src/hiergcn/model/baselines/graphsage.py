r"""GraphSAGE with mean aggregation, Hamilton et al., Inductive Representation Learning on Large Graphs (NIPS 2017).

.. math:: H^{(l+1)} = \operatorname{ReLU}(H^{(l)} W_l + P H^{(l)} V_l + b_l), \quad P = D^{-1} A

A node's own features have weights apart from those of its neighbours, so the network also learns from neighbours of
other classes. The last layer has no ReLU. Neighbours are not sampled: all are used.
"""

from itertools import pairwise

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from hiergcn.graph.task import Task
from hiergcn.model.baselines.base import FlatMethod
from hiergcn.model.method import Features, NodeModel
from hiergcn.model.ops.sparse import FeatureLinear, SparseMatrix, propagate
from hiergcn.settings.methods import GraphSAGEConfig

Means = tuple[SparseMatrix, SparseMatrix]
"""P = D^-1 A and its transpose, (n, n); the row of a node without neighbours is 0."""


class GraphSAGE(NodeModel):
    """Layers with weights for a node and for the mean of its neighbours."""

    def __init__(
        self, means: Means, n_features: int, n_classes: int, config: GraphSAGEConfig, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.P, self.transpose = means  # of the graph, not of the model: not saved with the weights
        widths = [n_features, *[config.hidden] * (config.layers - 1), n_classes]
        pairs = list(pairwise(widths))
        self.own = nn.ModuleList([FeatureLinear(a, b, config.dropout, generator) for a, b in pairs])
        self.neighbours = nn.ModuleList([FeatureLinear(a, b, config.dropout, generator) for a, b in pairs])
        self.bias = nn.ParameterList([torch.zeros(b) for b in widths[1:]])

    def forward(self, features: Features) -> Tensor:
        H: Features = features
        for layer, (own, neighbours, bias) in enumerate(zip(self.own, self.neighbours, self.bias, strict=True)):
            out: Tensor = own(H) + propagate(self.P, neighbours(H), self.transpose) + bias  # (n, width)
            H = torch.relu(out) if layer + 1 < len(self.bias) else out
        assert isinstance(H, Tensor)
        return H


class GraphSAGEMethod(FlatMethod):
    network = GraphSAGE
    replicates = True

    def structure(self, task: Task, device: torch.device) -> Means:
        degree = task.adjacency.sum(axis=1)
        inverse = np.divide(1.0, degree, out=np.zeros(len(degree)), where=degree > 0)
        P = sp.csr_array(sp.diags_array(inverse) @ task.adjacency)
        return SparseMatrix.from_scipy(P, device), SparseMatrix.from_scipy(sp.csr_array(P.T), device)
