"""Votes: how much each neighbour and the hyper-nodes add to the score of a node's predicted class.

They are exact, deterministic and computed for all nodes at once. `node.attribute` goes down to the features, but for
one node at a time. A vote is centred: the mean over the classes is subtracted.

H-GCN. Before its ReLU the output layer is linear. The score of node i is Σ_j Â_ij v_j over i and its neighbours, with
votes v_j = H_j θ. H_j is a sum of what came through j's hyper-nodes and what came through the short-cut.

H-GCN+. The network is linear except for one ReLU, and it is known which hidden units of node i are active. With these
the score of i is a sum of the last propagation step, 1/(K+1) (Y_i + Σ_j Â_ij T_j) with Y = X W₁ and T = Σ_{k<K} Âᵏ Y,
of the coarser levels, and of biases, which belong to no node and are left out.

Ensembles. The mean of the members' votes, which adds up to the mean of their scores. The prediction is made from the
mean of their probabilities, which is not a sum over nodes.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from hiergcn.graph.adjacency import reordered_adjacency
from hiergcn.model.method import Features, NodeModel
from hiergcn.model.ops.sparse import SparseMatrix

if TYPE_CHECKING:
    from hiergcn.model.hgcn import HGCN
    from hiergcn.model.hgcn_plus import HGCNPlus

MOST_EDGES = 150_000
"""Most edges of a graph whose votes are kept; a page could not hold more."""


@dataclass(frozen=True, eq=False)
class Votes:
    """Contributions to the score of the predicted class of each node."""

    shares: sp.csr_array
    """(n, n): row i holds what each node adds to the score of i, itself on the diagonal."""
    by_hyper_nodes: NDArray[np.float32]
    """(n,): what hyper-nodes add to the score, or how much of the sum of a row came through them."""
    hyper_nodes_vote: bool = False
    """Whether hyper-nodes add to the sum of a row; else they are part of it, because their votes come through nodes."""

    def reordered(self, order: NDArray[np.int64]) -> "Votes":
        """Return the votes with the nodes in another order."""
        return Votes(reordered_adjacency(self.shares, order), self.by_hyper_nodes[order], self.hyper_nodes_vote)

    def save(self, path: Path) -> None:
        np.savez_compressed(
            path,
            indptr=self.shares.indptr,
            indices=self.shares.indices,
            shares=self.shares.data,
            by_hyper_nodes=self.by_hyper_nodes,
            beside=self.hyper_nodes_vote,
        )

    @classmethod
    def load(cls, path: Path) -> Self:
        with np.load(path, allow_pickle=False) as saved:
            n = len(saved["by_hyper_nodes"])
            shares = sp.csr_array((saved["shares"], saved["indices"], saved["indptr"]), shape=(n, n))
            return cls(shares, saved["by_hyper_nodes"], bool(saved["beside"]))


@torch.no_grad()
def votes(model: NodeModel, features: Features, predicted: NDArray[np.int64]) -> Votes | None:
    """Return the votes for the predicted class of each node; None for other networks than those described above."""
    known: Any = model.eval()
    if _is_a(model, "ensemble", "Ensemble"):
        each = list(filter(None, (votes(member, features, predicted) for member in known.each)))
        if not each:  # they all have votes, or none has
            return None
        shares = sum((part.shares for part in each[1:]), start=each[0].shares) / len(each)
        by_hyper_nodes = np.mean([part.by_hyper_nodes for part in each], axis=0)
        return Votes(sp.csr_array(shares), by_hyper_nodes, each[0].hyper_nodes_vote)
    if _is_a(model, "hgcn", "HGCN") and known.hierarchy.depth and known.output.w is None:
        return _of_hgcn(known, features, predicted)
    if _is_a(model, "hgcn_plus", "HGCNPlus") and not known.config.batch_norm:
        return _of_plus(known, features, predicted)
    return None


def _is_a(model: NodeModel, module: str, name: str) -> bool:
    """Return whether the model is of a class of `hiergcn.model`; a module that is not loaded has made no model."""
    home = sys.modules.get(f"hiergcn.model.{module}")
    return home is not None and isinstance(model, getattr(home, name))


def _of_hgcn(model: "HGCN", features: Features, predicted: NDArray[np.int64]) -> Votes:
    coarse, near = model.embedding_parts(features)
    by_hyper_nodes, by_short_cut = (_centred(part @ model.output.theta) for part in (coarse, near))
    adjacency, row, column = _entries(model.hierarchy.levels[0].adjacency)
    weight, wanted = adjacency.data, predicted[row]
    hyper = weight * by_hyper_nodes.cpu().numpy()[column, wanted]
    adjacency.data = hyper + weight * by_short_cut.cpu().numpy()[column, wanted]
    return Votes(adjacency, np.bincount(row, hyper, minlength=len(predicted)).astype(np.float32))


def _of_plus(model: "HGCNPlus", features: Features, predicted: NDArray[np.int64]) -> Votes:
    from hiergcn.model.ops.propagation import mean_of_powers

    P, config = model.graph.spread, model.config
    Y = (features @ model.first) * (1.0 if config.rescale else 1.0 - config.drop_node)  # (n, hidden)
    whole, finest = P(Y), P.levels[0]
    A, K, share = finest.adjacency, finest.order, finest.share / (finest.order + 1)
    gathered = K * mean_of_powers(A, K - 1, Y) if K else torch.zeros_like(Y)
    wanted = torch.from_numpy(predicted).to(Y.device)
    passed = _centred(model.second).T[wanted] * (whole + model.first_bias > 0)  # of active units; (n, hidden)
    hyper = ((whole - finest.share * mean_of_powers(A, K, Y)) * passed).sum(dim=1).cpu().numpy()
    T, weight, itself = (part.cpu().numpy() for part in (gathered, passed, share * (Y * passed).sum(dim=1)))
    adjacency, row, column = _entries(A)
    adjacency.data = share * adjacency.data * np.einsum("ek,ek->e", T[column], weight[row])
    return Votes(sp.csr_array(adjacency + sp.diags_array(itself)), hyper, hyper_nodes_vote=True)


def _entries(adjacency: SparseMatrix) -> tuple[sp.csr_array, NDArray[np.int64], NDArray[np.int64]]:
    """Return a copy of the matrix, and the row and column of each entry."""
    copied = adjacency.scipy.copy()
    row = np.repeat(np.arange(copied.shape[0]), np.diff(copied.indptr))
    return copied, row, copied.indices.astype(np.int64)


def _centred(scores: torch.Tensor) -> torch.Tensor:
    return scores - scores.mean(dim=1, keepdim=True)
