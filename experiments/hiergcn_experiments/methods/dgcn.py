"""DGCN, Zhuang & Ma, Dual Graph Convolutional Networks for Graph-Based Semi-Supervised Classification (WWW 2018).

Two networks share their weights W_1, W_2. One convolves with the normalised adjacency Â (local consistency), the other
with the normalised PPMI matrix P̂ of random walks (global consistency).

    Z^A = softmax(ReLU(Â ReLU(Â X W_1) W_2))        Z^P = softmax(ReLU(P̂ ReLU(P̂ X W_1) W_2))
    L = Σ_{i labelled} ‖Z^A_i - y_i‖² + w(t) Σ_i ‖Z^A_i - Z^P_i‖²
    w(t) = w_max exp(-5 (1 - t / 120)²) up to t = 120, then w_max = 15 · labelled / nodes

PPMI is the positive pointwise mutual information (Section 3.2). With c_ij the number of times that i and j are on the
same walk, r_i = Σ_j c_ij and N = Σ_i r_i,

    P_ij = max(0, log(N c_ij / (r_i r_j)) - log k),        then P̂ = D^-1/2 P D^-1/2 with D the row sums of P.

It stays sparse: a pair that never meets has no entry.

Predictions are Z^A. Reference: the authors' code (github.com/ZhuangCY/DGCN) drops hidden units without rescaling the
others, also at test time, which makes its predictions random; here dropout is the usual one. It evaluates the test set
at every epoch and prints the best value; here validation chooses the epoch.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from hiergcn.extend import (
    SCALING,
    AdjacencyMethod,
    Count,
    Features,
    InputConfig,
    Labelled,
    NodeModel,
    NonNegative,
    Positive,
    Rate,
    Scaling,
    SparseMatrix,
    Task,
    Whole,
    at_least,
    dropout,
    numpy_generator,
    propagate,
    setting,
    symmetrically_normalised,
)
from hiergcn_experiments.methods.walks import Walker

Matrices = tuple[sp.csr_array, SparseMatrix]  # A (n, n) and Â
_PAIRS_AT_ONCE = 1 << 23  # bounds the memory of counting, besides the counts


@dataclass(frozen=True)
class DGCNConfig(InputConfig):
    """The settings; the defaults are those of the authors' script."""

    hidden: Count = setting(32, "Width of the hidden layer.")
    dropout: Rate = setting(0.1, "Dropout rate on the hidden layer.")
    supervised: Literal["squared", "cross_entropy"] = setting(
        "squared", "Loss on labelled nodes: squared error of the softmax, or (the authors, on NELL) cross-entropy."
    )
    output_relu: bool = setting(True, "ReLU before the softmax, as in the authors' code.")
    consistency: NonNegative = setting(15.0, "Factor of w_max.")
    ramp: Whole = setting(120, "Epochs in which w(t) rises to w_max.")
    walks: Count = setting(100, "Random walks from each node for the PPMI matrix.")
    walk_length: Annotated[int, at_least(2)] = setting(
        2, "Nodes on each walk; 2 counts neighbours, and PPMI favours those that are rarely met."
    )
    shift: Positive = setting(1.0, "k of the PPMI matrix.")
    scaling: Scaling = setting("none", SCALING)


def co_occurrence(adjacency: sp.csr_array, walks: int, length: int, rng: np.random.Generator) -> sp.csr_array:
    """Return c: symmetric counts of pairs on `walks` walks of `length` nodes from each node, with self-loops.

    Each unordered pair of places on a walk counts once for (i, j) and once for (j, i), once in all if i = j.
    """
    n = adjacency.shape[0]
    without_loops = adjacency - sp.diags_array(adjacency.diagonal())
    walker = Walker.on(sp.csr_array(without_loops + sp.eye_array(n)))
    places = np.triu_indices(length, 1)
    at_once = max(1, _PAIRS_AT_ONCE // (n * len(places[0])))
    met = sp.csr_array((n, n), dtype=np.int64)
    for done in range(0, walks, at_once):
        starts = np.tile(np.arange(n), min(at_once, walks - done))
        made = walker.walks(starts, length, int(rng.integers(2**63)))
        source, target = (made[:, place].ravel() for place in places)
        met = met + sp.coo_array((np.ones(len(source), dtype=np.int64), (source, target)), shape=(n, n)).tocsr()
    both = sp.csr_array(met + met.T - sp.diags_array(met.diagonal(), format="csr", dtype=np.int64))
    both.eliminate_zeros()
    return both


def ppmi(counts: sp.csr_array, shift: float = 1.0) -> sp.csr_array:
    """Return P of symmetric counts; `shift` is k."""
    totals = np.asarray(counts.sum(axis=1), dtype=np.float64)
    coo = counts.tocoo()
    values = np.log(totals.sum() * coo.data / (totals[coo.row] * totals[coo.col])) - np.log(shift)
    kept = values > 0
    return sp.csr_array((values[kept], (coo.row[kept], coo.col[kept])), shape=counts.shape)


def consistency_weight(t: int, ramp: int, w_max: float) -> float:
    """Return w(t), with t counted from 0."""
    return w_max * math.exp(-5.0 * (1.0 - t / ramp) ** 2) if t < ramp else w_max


class DGCN(NodeModel):
    """The two networks over one graph; `forward` gives the logits of Z^A."""

    P: SparseMatrix | None = None  # P̂, made when training begins; predictions do not need it

    def __init__(
        self, graph: Matrices, n_features: int, n_classes: int, config: DGCNConfig, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.graph, self.config, self.generator = graph[0], config, generator
        self.weighs_classes = config.supervised == "cross_entropy"
        self.adjacency = graph[1]  # Â; of the graph, not of the model: not saved with the weights
        self.W_1 = nn.Parameter(torch.empty(n_features, config.hidden, device=generator.device))
        self.W_2 = nn.Parameter(torch.empty(config.hidden, n_classes, device=generator.device))
        for weight in (self.W_1, self.W_2):
            nn.init.xavier_uniform_(weight, generator=generator)

    def forward(self, features: Features) -> Tensor:
        return self._view(self.adjacency, features @ self.W_1)

    def _view(self, matrix: SparseMatrix, XW: Tensor) -> Tensor:
        """Return the logits by one of the two matrices; XW is (n, hidden)."""
        H = torch.relu(propagate(matrix, XW))  # (n, hidden)
        H = dropout(H, self.config.dropout if self.training else 0.0, self.generator)
        logits = propagate(matrix, H @ self.W_2)  # (n, classes)
        return torch.relu(logits) if self.config.output_relu else logits

    def objective(self, features: Features, labelled: Labelled, epoch: int) -> Tensor:
        if self.P is None:
            config = self.config
            counts = co_occurrence(self.graph, config.walks, config.walk_length, numpy_generator(self.generator))
            P = symmetrically_normalised(ppmi(counts, config.shift))
            self.P = SparseMatrix.from_scipy(P, self.W_1.device)
        XW = features @ self.W_1
        logits = self._view(self.adjacency, XW)
        Z_A, Z_P = torch.softmax(logits, dim=1), torch.softmax(self._view(self.P, XW), dim=1)
        n_labelled = len(labelled.nodes)
        w_max = self.config.consistency * n_labelled / len(Z_A)
        w = consistency_weight(epoch - 1, self.config.ramp, w_max)
        if self.config.supervised == "cross_entropy":
            supervised = labelled.loss(logits, "sum")
        else:
            y = nn.functional.one_hot(labelled.classes, Z_A.shape[1])
            errors = (Z_A.index_select(0, labelled.nodes) - y).square().sum(dim=1)  # (labelled,)
            weights = labelled.class_weights
            supervised = errors.sum() if weights is None else errors @ weights[labelled.classes]
        loss = supervised + w * (Z_A - Z_P).square().sum()
        return loss if labelled.reduction == "sum" else loss / n_labelled


class DGCNMethod(AdjacencyMethod):
    """DGCN as a method: each seed draws its own walks, so it needs A beside Â."""

    network = DGCN

    def structure(self, task: Task, device: torch.device) -> Any:
        return task.adjacency, super().structure(task, device)
