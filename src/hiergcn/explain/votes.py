"""Whose votes made a prediction of H-GCN or H-GCN+, taken apart for every node at once; nothing is drawn.

H-GCN. Before its ReLU the output layer is linear: node i's score of a class is the sum over itself and its neighbours
j of Â_ij v_j, where the vote v_j = H_j θ is the class's less the mean over the classes. H_j itself is a sum, of what
came by way of j's hyper-nodes and of the short-cut from the graph around j. So the score of the predicted class can be
shared out exactly.

H-GCN+. The network is linear but for one ReLU; which hidden numbers of node i it lets pass is known. With those, i's
score is a sum over what the mean of powers brings on its last step, 1/(K+1) (Y_i + Σ_j Â_ij T_j) with Y = X W₁ and
T = Σ_{k<K} Âᵏ Y, over what comes from the coarser levels, and the biases: j votes with all that it has gathered, the
hyper-nodes vote beside the neighbours, and biases, which know no node, are left out.

Several networks (`ensemble`). The mean of their votes, which shares out the mean of their scores; what all of them
predict comes from a mean of probabilities, which is no sum over nodes.

`attribution` goes further down, to the features, but takes one node at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from hiergcn.model.baselines.grand import mixed_order
from hiergcn.model.ensemble import Ensemble
from hiergcn.model.hgcn import HGCN
from hiergcn.model.method import Features, NodeModel
from hiergcn.model.plus.network import HGCNPlus
from hiergcn.model.plus.propagation import HierarchicalPropagation

MOST_EDGES = 150_000
"""Above, votes are not kept: no page could hold them."""


@dataclass(frozen=True, eq=False)
class Votes:
    """What spoke for the predicted class of each node."""

    shares: sp.csr_array
    """(n, n): in row i what each node adds to the score of i's class, i itself on the diagonal."""
    by_hyper_nodes: NDArray[np.float32]
    """(n,): how much of the sum of a row came by way of hyper-nodes, or what they add to it."""
    beside: bool = False
    """Whether hyper-nodes vote beside the nodes of a row; else through them, and are part of its sum."""

    def save(self, path: Path) -> None:
        np.savez_compressed(
            path,
            indptr=self.shares.indptr,
            indices=self.shares.indices,
            shares=self.shares.data,
            by_hyper_nodes=self.by_hyper_nodes,
            beside=self.beside,
        )

    @classmethod
    def load(cls, path: Path) -> Self:
        with np.load(path, allow_pickle=False) as saved:
            n = len(saved["by_hyper_nodes"])
            shares = sp.csr_array((saved["shares"], saved["indices"], saved["indptr"]), shape=(n, n))
            return cls(shares, saved["by_hyper_nodes"], bool(saved["beside"]) if "beside" in saved else False)


@torch.no_grad()
def votes(model: NodeModel, features: Features, predicted: NDArray[np.int64]) -> Votes | None:
    """The votes for the predicted class of each node; None where the network is not one of those described above."""
    model.eval()
    if isinstance(model, Ensemble):
        return _mean([votes(member, features, predicted) for member in model.each])
    if isinstance(model, HGCN) and model.hierarchy.depth and model.output.w is None:
        return _of_hgcn(model, features, predicted)
    if isinstance(model, HGCNPlus) and not model.config.batch_norm:
        return _of_plus(model, features, predicted)
    return None


def _mean(each: Sequence[Votes | None]) -> Votes | None:
    """Of networks of one method, which can all be taken apart or none of them."""
    found = [one for one in each if one is not None]
    if not found:
        return None
    shares = sum((one.shares for one in found[1:]), start=found[0].shares) / len(found)
    by_hyper_nodes = np.mean([one.by_hyper_nodes for one in found], axis=0)
    return Votes(sp.csr_array(shares), by_hyper_nodes, found[0].beside)


def _of_hgcn(model: HGCN, features: Features, predicted: NDArray[np.int64]) -> Votes:
    coarse, near = model.embedding_parts(features)
    by_hyper_nodes, by_short_cut = (_centred(part @ model.output.theta) for part in (coarse, near))
    adjacency, row, column = _entries(model.hierarchy.levels[0].adjacency)
    weight, wanted = adjacency.data, predicted[row]
    hyper = weight * by_hyper_nodes.cpu().numpy()[column, wanted]
    adjacency.data = hyper + weight * by_short_cut.cpu().numpy()[column, wanted]
    return Votes(adjacency, np.bincount(row, hyper, minlength=len(predicted)).astype(np.float32))


def _of_plus(model: HGCNPlus, features: Features, predicted: NDArray[np.int64]) -> Votes:
    P, config = model.graph.spread, model.config
    assert isinstance(P, HierarchicalPropagation)
    Y = (features @ model.first) * (1.0 if config.rescale else 1.0 - config.drop_node)  # (n, hidden)
    whole, K, share = P(Y), P.orders[0], P.shares[0] / (P.orders[0] + 1)
    A = P.levels[0].adjacency
    gathered = K * mixed_order(A, K - 1, Y) if K else torch.zeros_like(Y)
    wanted = torch.from_numpy(predicted).to(Y.device)
    passed = _centred(model.second).T[wanted] * (whole + model.first_bias > 0)  # what a hidden number says; (n, hidden)
    hyper = ((whole - P.shares[0] * mixed_order(A, K, Y)) * passed).sum(dim=1).cpu().numpy()
    T, weight, own = (part.cpu().numpy() for part in (gathered, passed, share * (Y * passed).sum(dim=1)))
    adjacency, row, column = _entries(A)
    adjacency.data = share * adjacency.data * np.einsum("ek,ek->e", T[column], weight[row])
    return Votes(sp.csr_array(adjacency + sp.diags_array(own)), hyper, beside=True)


def _entries(adjacency: torch.Tensor) -> tuple[sp.csr_array, NDArray[np.int64], NDArray[np.int64]]:
    """The matrix, to be written to, and the row and column of each entry."""
    A = adjacency.cpu()
    indptr, column = A.crow_indices().numpy(), A.col_indices().numpy()
    n = len(indptr) - 1
    row = np.repeat(np.arange(n), np.diff(indptr))
    return sp.csr_array((A.values().numpy().copy(), column, indptr), shape=(n, n)), row, column


def _centred(scores: torch.Tensor) -> torch.Tensor:
    return scores - scores.mean(dim=1, keepdim=True)
