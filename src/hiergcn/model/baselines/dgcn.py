"""DGCN, the dual graph convolutional network of Zhuang & Ma (WWW 2018).

Two networks share their weights W_1, W_2 and differ in what they convolve with: the normalised adjacency Â (local
consistency) and the normalised PPMI matrix P̂ of random walks (global consistency).

    Z^A = softmax(ReLU(Â ReLU(Â X W_1) W_2))        Z^P = softmax(ReLU(P̂ ReLU(P̂ X W_1) W_2))
    L = Σ_{i labelled} ‖Z^A_i - y_i‖² + w(t) Σ_i ‖Z^A_i - Z^P_i‖²
    w(t) = w_max exp(-5 (1 - t / 120)²) up to t = 120, then w_max = 15 · labelled / nodes

Predictions are Z^A. Reference: the authors' code (github.com/ZhuangCY/DGCN) drops hidden units without rescaling the
others and does so at test time too, which makes its predictions random; here dropout is the usual one. It evaluates the
test set at every epoch and prints the best value; here validation chooses the epoch.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import scipy.sparse as sp
import torch
from torch import Tensor, nn

from hiergcn.errors import InputError
from hiergcn.graph.task import Task
from hiergcn.model.baselines.base import AdjacencyMethod
from hiergcn.model.baselines.ppmi import co_occurrence, ppmi, symmetrically_normalised
from hiergcn.model.config_checks import check_positive, check_rates, check_scaling, check_whole
from hiergcn.model.features import Scaling
from hiergcn.model.generators import numpy_generator
from hiergcn.model.method import Features, Labelled, NodeModel, Prepared
from hiergcn.model.ops.dropout import dropout
from hiergcn.model.ops.sparse import csr_tensor, propagate


@dataclass(frozen=True)
class DGCNConfig:
    """The network's settings; the defaults are those of the authors' script."""

    hidden: int = 32
    """Width of the hidden layer."""
    dropout: float = 0.1
    """Rate of dropout on the hidden layer."""
    supervised: Literal["squared", "cross_entropy"] = "squared"
    """Loss on labelled nodes: squared error of the softmax, or (the authors, on NELL) cross-entropy."""
    output_relu: bool = True
    """ReLU before the softmax, as in the authors' code."""
    consistency: float = 15.0
    """Factor of w_max."""
    ramp: int = 120
    """Epochs over which w(t) rises to w_max."""
    walks: int = 100
    """Random walks from each node that the PPMI matrix counts."""
    walk_length: int = 2
    """Nodes on each walk; 2 counts neighbours, weighed by how seldom they are met."""
    shift: float = 1.0
    """k: log k is taken off the mutual information."""
    scaling: Scaling = "none"
    """Of the features: as they come."""

    def __post_init__(self) -> None:
        check_whole(self, hidden=1, ramp=0, walks=1, walk_length=2)
        check_rates(self, "dropout")
        check_scaling(self)
        if self.supervised not in ("squared", "cross_entropy"):
            raise InputError(f"supervised is {self.supervised!r}; give squared or cross_entropy.")
        if not 0 <= self.consistency < math.inf:
            raise InputError(f"consistency is {self.consistency!r}; give a number of at least 0.")
        check_positive(self, "shift")


def consistency_weight(t: int, ramp: int, w_max: float) -> float:
    """w(t), with t counted from 0."""
    return w_max * math.exp(-5.0 * (1.0 - t / ramp) ** 2) if t < ramp else w_max


class DGCN(NodeModel):
    """The two networks over one graph. `forward(features)` gives the logits of the view of the adjacency.

    Args:
        graph: adjacency (n, n), from which the view of random walks is drawn when training begins.
        adjacency: Â as a CSR tensor.
        n_features: columns of the feature matrix.
        n_classes: number of classes.
        config: the settings.
        generator: draws the weights, the walks and the dropout masks.
    """

    adjacency: Tensor
    P: Tensor | None

    def __init__(
        self,
        graph: sp.csr_array,
        adjacency: Tensor,
        n_features: int,
        n_classes: int,
        config: DGCNConfig,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.graph, self.config, self.generator = graph, config, generator
        self.weighs_classes = config.supervised == "cross_entropy"
        self.register_buffer("adjacency", adjacency, persistent=False)
        self.register_buffer("P", None, persistent=False)
        self.W_1 = nn.Parameter(torch.empty(n_features, config.hidden, device=generator.device))
        self.W_2 = nn.Parameter(torch.empty(config.hidden, n_classes, device=generator.device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for weight in (self.W_1, self.W_2):
            nn.init.xavier_uniform_(weight, generator=self.generator)

    def forward(self, features: Features) -> Tensor:
        return self._view(self.adjacency, features @ self.W_1)

    def _view(self, matrix: Tensor, XW: Tensor) -> Tensor:
        """Logits by one of the two matrices; XW is (n, hidden)."""
        H = torch.relu(propagate(matrix, XW))  # (n, hidden)
        H = dropout(H, self.config.dropout if self.training else 0.0, self.generator)
        logits = propagate(matrix, H @ self.W_2)  # (n, classes)
        return torch.relu(logits) if self.config.output_relu else logits

    def objective(self, features: Features, labelled: Labelled, epoch: int) -> Tensor:
        if self.P is None:
            self.P = self._walked().to(self.adjacency.device)
        XW = features @ self.W_1
        logits = self._view(self.adjacency, XW)
        Z_A, Z_P = torch.softmax(logits, dim=1), torch.softmax(self._view(self.P, XW), dim=1)
        n_labelled = len(labelled.nodes)
        w_max = self.config.consistency * n_labelled / len(Z_A)
        w = consistency_weight(epoch - 1, self.config.ramp, w_max)
        loss = self._supervised(logits, Z_A, labelled) + w * (Z_A - Z_P).square().sum()
        return loss if labelled.reduction == "sum" else loss / n_labelled

    def _supervised(self, logits: Tensor, Z: Tensor, labelled: Labelled) -> Tensor:
        if self.config.supervised == "cross_entropy":
            return labelled.cross_entropy(logits, "sum")
        y = nn.functional.one_hot(labelled.classes, Z.shape[1])
        errors = (Z.index_select(0, labelled.nodes) - y).square().sum(dim=1)  # (labelled,)
        return errors.sum() if labelled.class_weights is None else errors @ labelled.class_weights[labelled.classes]

    def _walked(self) -> Tensor:
        """P̂, of walks that this model draws for itself; predictions do without it."""
        config = self.config
        counts = co_occurrence(self.graph, config.walks, config.walk_length, numpy_generator(self.generator))
        return csr_tensor(symmetrically_normalised(ppmi(counts, config.shift)))


class DGCNMethod(AdjacencyMethod):
    """DGCN as a method: each seed walks for itself, so it needs the graph beside Â."""

    def structure(self, task: Task, device: torch.device) -> Any:
        return task.adjacency, super().structure(task, device)

    def build(self, prepared: Prepared, n_classes: int, generator: torch.Generator) -> DGCN:
        graph, adjacency = prepared.structure
        return DGCN(graph, adjacency, prepared.features.shape[1], n_classes, self.config, generator)
