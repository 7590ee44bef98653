"""Whose votes made a prediction of H-GCN: its output layer taken apart, for every node at once.

Before its ReLU the output layer is linear: node i's score of a class is the sum over itself and its neighbours j of
Â_ij v_j, where the vote v_j = H_j θ is the class's less the mean over the classes. H_j itself is a sum, of what came by
way of j's hyper-nodes and of the short-cut from the graph around j. So the score of the predicted class can be shared
out exactly, and nothing is drawn. `attribution` goes further down, to the features, but takes one node at a time.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from hiergcn.model.hgcn import HGCN
from hiergcn.model.method import Features, NodeModel

MOST_EDGES = 150_000
"""Above, votes are not kept: no page could hold them."""


@dataclass(frozen=True, eq=False)
class Votes:
    """What spoke for the predicted class of each node."""

    shares: sp.csr_array
    """(n, n): in row i what each node adds to the score of i's class, i itself on the diagonal."""
    by_hyper_nodes: NDArray[np.float32]
    """(n,): how much of the sum of a row came by way of hyper-nodes."""

    def save(self, path: Path) -> None:
        np.savez_compressed(
            path,
            indptr=self.shares.indptr,
            indices=self.shares.indices,
            shares=self.shares.data,
            by_hyper_nodes=self.by_hyper_nodes,
        )

    @classmethod
    def load(cls, path: Path) -> Self:
        with np.load(path, allow_pickle=False) as saved:
            n = len(saved["by_hyper_nodes"])
            shares = sp.csr_array((saved["shares"], saved["indices"], saved["indptr"]), shape=(n, n))
            return cls(shares, saved["by_hyper_nodes"])


@torch.no_grad()
def votes(model: NodeModel, features: Features, predicted: NDArray[np.int64]) -> Votes | None:
    """The votes for the predicted class of each node; None where the output layer is not the one described above."""
    if not isinstance(model, HGCN) or not model.hierarchy.depth or model.output.w is not None:
        return None
    model.eval()
    coarse, near = model.embedding_parts(features)
    by_hyper_nodes, by_short_cut = (_centred(part @ model.output.theta) for part in (coarse, near))
    adjacency = model.hierarchy.levels[0].adjacency.cpu()
    indptr, column = adjacency.crow_indices().numpy(), adjacency.col_indices().numpy()
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    weight, wanted = adjacency.values().numpy(), predicted[row]
    hyper = weight * by_hyper_nodes.cpu().numpy()[column, wanted]
    share = hyper + weight * by_short_cut.cpu().numpy()[column, wanted]
    return Votes(
        sp.csr_array((share, column, indptr), shape=(len(predicted), len(predicted))),
        np.bincount(row, hyper, minlength=len(predicted)).astype(np.float32),
    )


def _centred(scores: torch.Tensor) -> torch.Tensor:
    return scores - scores.mean(dim=1, keepdim=True)
