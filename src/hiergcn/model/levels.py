"""The levels of a hierarchy as tensors: what the network convolves on, pools to and refines from."""

from typing import Literal

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from hiergcn.coarsen import Hierarchy, Level
from hiergcn.model.ops.sparse import csr_product, csr_tensor, linear_map, normalised_adjacency, product_with, propagate

Pooling = Literal["sum", "mean", "l2"]

_PIECE = 512  # nodes whose gradients are summed together before the rest


class LevelTensors(nn.Module):
    """One level: its normalised adjacency Â, the row of V for each node's weight, and M to the next coarser level."""

    adjacency: Tensor  # Â, CSR (n_i, n_i)
    weight_row: Tensor  # (n_i,)
    group: Tensor  # (n_i,), empty at the coarsest level
    gather: Tensor  # Mᵀ, CSR (n_{i+1}, n_i)
    group_size: Tensor  # (n_{i+1}, 1)
    weight_sums: Tensor  # CSR: sums over some of the nodes of one weight
    weight_totals: Tensor  # CSR: sums of those, a row for each weight

    def __init__(self, level: Level, occurring_weights: np.ndarray, group: np.ndarray | None, n_coarser: int) -> None:
        super().__init__()
        rows = _nearest(occurring_weights, level.node_weight)
        group = np.empty(0, dtype=np.int64) if group is None else group.astype(np.int64)
        size = np.bincount(group, minlength=n_coarser)
        some, all_of_them = _sums_by_row(rows, len(occurring_weights))
        for name, tensor in (  # of the graph, not of the model: they move with it, but are not saved with its weights
            ("adjacency", csr_tensor(normalised_adjacency(level.adjacency))),
            ("weight_row", torch.from_numpy(rows)),
            ("group", torch.from_numpy(group)),
            ("gather", csr_tensor(_members(group, n_coarser))),
            ("weight_sums", csr_tensor(some)),
            ("weight_totals", csr_tensor(all_of_them)),
            ("group_size", torch.from_numpy(size).to(torch.float32).unsqueeze(1)),
        ):
            self.register_buffer(name, tensor, persistent=False)

    def propagate(self, dense: Tensor) -> Tensor:
        """Â H."""
        return propagate(self.adjacency, dense)

    def embed_weight(self, V: Tensor) -> Tensor:
        """S_i: the row of V for each node's weight; (n_i, p)."""
        return linear_map(V, lambda V: V.index_select(0, self.weight_row), self._sum_by_weight)

    def _sum_by_weight(self, grad: Tensor) -> Tensor:
        return csr_product(self.weight_totals, csr_product(self.weight_sums, grad))

    def pool(self, fine: Tensor, how: Pooling = "sum") -> Tensor:
        """H_{i+1} = MᵀG_i (Eq. 4). `mean` divides by the size of the group, `l2` by its root."""
        summed = linear_map(fine, product_with(self.gather), self._scatter)
        if how == "sum":
            return summed
        return summed / (self.group_size if how == "mean" else self.group_size.sqrt())

    def unpool(self, coarse: Tensor) -> Tensor:
        """M G: each node gets the row of its hyper-node."""
        return linear_map(coarse, self._scatter, product_with(self.gather))

    def _scatter(self, coarse: Tensor) -> Tensor:
        return coarse.index_select(0, self.group)


class HierarchyTensors(nn.Module):
    """All levels, at most `depth` + 1 of them, made once and shared by every network over the same graph.

    Args:
        hierarchy: the coarsened graph.
        depth: coarsening levels to use; all of them by default.
        coarsening: False makes every level the input graph and every M the identity (an ablation).
        weights: the node weights T that have a row in V, ascending; by default those that occur. A network that was
            trained on another graph brings its own, and a weight that it has not seen takes the nearest row.
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        depth: int | None = None,
        coarsening: bool = True,
        weights: np.ndarray | None = None,
    ) -> None:
        super().__init__()
        depth = hierarchy.depth if depth is None else depth
        sources = hierarchy.levels[: depth + 1] if coarsening else (hierarchy.levels[0],) * (depth + 1)
        if weights is None:
            weights = np.unique(np.concatenate([level.node_weight for level in sources]))
        self.weights = weights  # T
        self.levels: list[LevelTensors] = []
        for i, level in enumerate(sources):
            last = i + 1 == len(sources)
            n_coarser = 0 if last else sources[i + 1].adjacency.shape[0]
            group = None if last else level.group if coarsening else np.arange(n_coarser)
            self.levels.append(LevelTensors(level, weights, group, n_coarser))
        self._registered = nn.ModuleList(self.levels)  # a plain list does not move with `.to(device)`

    @property
    def depth(self) -> int:
        return len(self.levels) - 1


def _members(group: np.ndarray, n: int) -> sp.csr_array:
    """A 1 in the row of each group for each of its members; (n, members)."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n))])
    members = np.argsort(group, kind="stable")
    return sp.csr_array((np.ones(len(group)), members, starts), shape=(n, len(group)))


def _sums_by_row(rows: np.ndarray, n: int) -> tuple[sp.csr_array, sp.csr_array]:
    """The matrix that sums what has the same row, as two: most nodes may have one weight, too much for one sum."""
    whole = _members(rows, n)
    pieces = -(-np.diff(whole.indptr) // _PIECE)
    piece_of = np.repeat(np.arange(n), pieces)
    within = np.arange(len(piece_of)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    starts = np.append(whole.indptr[piece_of] + _PIECE * within, whole.nnz)
    some = sp.csr_array((whole.data, whole.indices, starts), shape=(len(piece_of), len(rows)))
    return some, _members(piece_of, n)


def _nearest(known: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """For each value the position of the nearest one in `known`, which is ascending; the lower one of two."""
    above = np.searchsorted(known, wanted).clip(max=len(known) - 1)
    below = (above - 1).clip(min=0)
    nearest: np.ndarray = np.where(np.abs(known[above] - wanted) < np.abs(known[below] - wanted), above, below)
    return nearest
