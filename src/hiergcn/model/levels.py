"""The levels of a hierarchy as tensors: convolution, pooling and unpooling on them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from hiergcn.coarsening import Hierarchy
from hiergcn.model.ops.dropout import RowSubset
from hiergcn.model.ops.replicas import nodes_first
from hiergcn.model.ops.sparse import SparseMatrix, linear_map, normalised_adjacency
from hiergcn.settings.methods import Pooling

_PART = 512  # nodes whose gradients are summed first, so that a weight shared by most nodes is not one long sum


@dataclass(frozen=True, eq=False)
class LevelTensors:
    """One level, or some of its rows: the normalised adjacency Â, and M to the next coarser level.

    Of some rows it is what their nodes depend on in a refining layer: their neighbours, and the hyper-nodes of those,
    which are counted among the hyper-nodes that are computed at the next coarser level.
    """

    adjacency: SparseMatrix  # Â, (n_i, n_i); of some rows (r, m): a column for each neighbour
    transposed: SparseMatrix  # Âᵀ, which is Â if all rows are there
    group: Tensor  # hyper-node of each node or neighbour, (n_i,); empty at the coarsest level
    gather: SparseMatrix  # Mᵀ, (n_{i+1}, n_i)
    group_size: Tensor  # (n_{i+1}, 1)
    weight_row: Tensor  # row of V for each node's weight, (n_i,); empty if only some rows are there
    inputs: RowSubset | None = None  # the neighbours, with the nodes themselves; None if all rows are there

    def moved(self, move: Callable[[Tensor], Tensor]) -> "LevelTensors":
        """Return the level of tensors that `move` returns, such as those on another device. It has all rows."""
        adjacency, gather = self.adjacency.moved(move), self.gather.moved(move)
        size, rows = move(self.group_size), move(self.weight_row)
        return LevelTensors(adjacency, adjacency, move(self.group), gather, size, rows)

    def pool(self, fine: Tensor, how: Pooling = "sum") -> Tensor:
        """Return MᵀG (Eq. 4). `mean` divides by the size of the group, `l2` by its square root."""
        return linear_map(
            fine, lambda G: self._divided(self.gather.product(G), how), lambda G: self._scatter(self._divided(G, how))
        )

    def pool_and_keep(self, fine: Tensor, how: Pooling, rows: RowSubset | None) -> tuple[Tensor, Tensor]:
        """Return `pool`, and G or some rows of it for a short-cut, whose gradient is added to that of `pool`."""
        if rows is None:
            return self.pool(fine, how), fine
        sizes = [self.gather.shape[0], len(rows.index)]

        def there(G: Tensor) -> Tensor:
            return torch.cat([self._divided(self.gather.product(G), how), G.index_select(0, rows.index)])

        def back(grad: Tensor) -> Tensor:
            pooled, kept = grad.split(sizes)
            return self._scatter(self._divided(pooled, how)).index_add_(0, rows.index, kept)

        pooled, kept = linear_map(fine, there, back).split(sizes)
        return pooled, kept

    def unpool(self, coarse: Tensor) -> Tensor:
        """Return M G: each node gets the row of its hyper-node."""
        return linear_map(coarse, self._scatter, self.gather.product)

    def unpool_onto(self, coarse: Tensor, shortcut: Tensor) -> Tensor:
        """Return M G + shortcut (Eq. 6)."""
        return self.unpool(coarse).add_(shortcut)

    def _divided(self, coarse: Tensor, how: Pooling) -> Tensor:
        if how == "sum":
            return coarse
        return coarse / (self.group_size if how == "mean" else self.group_size.sqrt())

    def _scatter(self, coarse: Tensor) -> Tensor:
        return coarse.index_select(0, self.group)


Field = Sequence[LevelTensors]
"""The levels of a hierarchy, with only some rows of the finest ones; see `HierarchyTensors.receptive_field`."""


class HierarchyTensors(nn.Module):
    """All levels, at most `depth` + 1 of them, made once and shared by every network over the same graph.

    N is the number of nodes of all levels together.

    Args:
        hierarchy: the coarsened graph.
        depth: coarsening levels to use; all by default.
        coarsening: False makes every level the input graph and every M the identity (an ablation).
        weights: the node weights T that have a row in V, ascending; by default those that occur. A network that was
            trained on another graph brings its own, and an unseen weight takes the nearest row.
    """

    def __init__(
        self, hierarchy: Hierarchy, depth: int | None = None, coarsening: bool = True, weights: np.ndarray | None = None
    ) -> None:
        super().__init__()
        depth = hierarchy.depth if depth is None else depth
        sources = hierarchy.levels[: depth + 1] if coarsening else (hierarchy.levels[0],) * (depth + 1)
        if weights is None:
            weights = np.unique(np.concatenate([level.node_weight for level in sources]))
        self.weights = weights  # T
        self.levels: list[LevelTensors] = []
        for level, coarser in zip(sources, (*sources[1:], None), strict=True):
            n_coarser = 0 if coarser is None else coarser.adjacency.shape[0]
            hyper_node = np.arange(n_coarser) if coarser is None or not coarsening else level.group
            group = np.asarray(hyper_node, dtype=np.int64)
            adjacency = SparseMatrix.from_scipy(normalised_adjacency(level.adjacency))
            size = torch.from_numpy(np.bincount(group, minlength=n_coarser)).to(torch.float32).unsqueeze(1)
            gather = SparseMatrix.from_scipy(_members(group, n_coarser))
            above = np.searchsorted(weights, level.node_weight).clip(max=len(weights) - 1)
            below = (above - 1).clip(min=0)  # the nearest weight with a row in V; the lower one of two
            nearer = np.abs(weights[above] - level.node_weight) < np.abs(weights[below] - level.node_weight)
            rows = torch.from_numpy(np.where(nearer, above, below))
            self.levels.append(LevelTensors(adjacency, adjacency, torch.from_numpy(group), gather, size, rows))
        self.weight_row = torch.cat([level.weight_row for level in self.levels])  # (N,)
        whole = _members(self.weight_row.numpy(), len(weights))  # (|T|, N), in two steps: short sums, and those of them
        parts = -(-np.diff(whole.indptr) // _PART)
        row_of_part = np.repeat(np.arange(len(weights)), parts)
        within = np.arange(len(row_of_part)) - np.repeat(np.cumsum(parts) - parts, parts)
        starts = np.append(whole.indptr[row_of_part] + _PART * within, whole.nnz)
        partial = sp.csr_array((whole.data, whole.indices, starts), shape=(len(row_of_part), whole.shape[1]))
        self.weight_parts = SparseMatrix.from_scipy(partial)  # (parts, N): sums over up to 512 nodes of one weight
        self.weight_sums = SparseMatrix.from_scipy(_members(row_of_part, len(weights)))  # (|T|, parts)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move the graph with the module. It belongs to no model, so it is not saved with the weights."""
        self.levels = [level.moved(fn) for level in self.levels]
        self.weight_row, self.weight_parts = fn(self.weight_row), self.weight_parts.moved(fn)
        self.weight_sums = self.weight_sums.moved(fn)
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return self

    @property
    def depth(self) -> int:
        return len(self.levels) - 1

    def receptive_field(self, nodes: Tensor, depth: int) -> "Field":
        """Return the levels on the way up to these nodes of the input graph: of levels below `depth` only some rows.

        As soon as more than half of a level is needed, it and all coarser ones are whole.
        """
        field: list[LevelTensors] = []
        rows = nodes.numpy(force=True)
        for i, level in enumerate(self.levels[:depth]):
            coarser = len(self.levels[i + 1].weight_row)
            if 2 * len(rows) > len(level.group):
                break
            A = level.adjacency.scipy[rows]
            inputs, column = np.unique(A.indices, return_inverse=True)
            A = sp.csr_array((A.data, column, A.indptr), shape=(len(rows), len(inputs)))
            group = level.group.numpy(force=True)[inputs]
            rows = np.unique(group)
            if i + 1 < depth and 2 * len(rows) <= coarser:
                group, coarser = np.searchsorted(rows, group), len(rows)
            there, back, gather = (
                SparseMatrix.from_scipy(matrix, nodes.device)
                for matrix in (A, sp.csr_array(A.T), _members(group, coarser))
            )
            subset = RowSubset(torch.from_numpy(inputs.astype(np.int64)).to(nodes.device), len(level.group))
            hyper_nodes = torch.from_numpy(group).to(nodes.device)
            field.append(LevelTensors(there, back, hyper_nodes, gather, level.group_size, level.weight_row[:0], subset))
        return [*field, *self.levels[len(field) :]]

    def weight_embeddings(self, V: Tensor) -> list[Tensor]:
        """Return S of each level, the row of V for each node's weight; (n_i, p)."""
        S = linear_map(  # (N, p)
            nodes_first(V),
            lambda V: V.index_select(0, self.weight_row),
            lambda grad: self.weight_sums.product(self.weight_parts.product(grad)),
        )
        return list(S.split([len(level.weight_row) for level in self.levels]))


def _members(group: np.ndarray, n: int) -> sp.csr_array:
    """Return the matrix (n, members) with a 1 in the row of each group for each of its members."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n))])
    members = np.argsort(group, kind="stable")
    return sp.csr_array((np.ones(len(group)), members, starts), shape=(n, len(group)))
