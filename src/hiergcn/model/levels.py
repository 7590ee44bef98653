"""The levels of a hierarchy as tensors: convolution, pooling and unpooling on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from hiergcn.coarsen import Hierarchy, Level
from hiergcn.model.ops.dropout import Rows
from hiergcn.model.ops.sparse import (
    add_rows,
    csr_product,
    csr_tensor,
    linear_map,
    normalised_adjacency,
    product_with,
    scipy_matrix,
)
from hiergcn.model.ops.vmap import ReplicaRule, apply, nodes_first, under_vmap

Pooling = Literal["sum", "mean", "l2"]

_PART = 512  # nodes whose gradients are summed first, so that a weight shared by most nodes is not one long sum


class LevelTensors(nn.Module):
    """One level: its normalised adjacency Â, the row of V for each node's weight, and M to the next coarser level."""

    inputs = None  # a layer takes all rows of its input

    adjacency: Tensor  # Â, CSR (n_i, n_i)
    weight_row: Tensor  # (n_i,)
    group: Tensor  # (n_i,), empty at the coarsest level
    gather: Tensor  # Mᵀ, CSR (n_{i+1}, n_i)
    group_size: Tensor  # (n_{i+1}, 1)

    def __init__(self, level: Level, occurring_weights: np.ndarray, group: np.ndarray | None, n_coarser: int) -> None:
        super().__init__()
        rows = _nearest(occurring_weights, level.node_weight)
        group = np.empty(0, dtype=np.int64) if group is None else group.astype(np.int64)
        size = np.bincount(group, minlength=n_coarser)
        for name, tensor in (  # they belong to the graph, not to the model, so they are not saved with its weights
            ("adjacency", csr_tensor(normalised_adjacency(level.adjacency))),
            ("weight_row", torch.from_numpy(rows)),
            ("group", torch.from_numpy(group)),
            ("gather", csr_tensor(_members(group, n_coarser))),
            ("group_size", torch.from_numpy(size).to(torch.float32).unsqueeze(1)),
        ):
            self.register_buffer(name, tensor, persistent=False)

    @property
    def transposed(self) -> Tensor:
        """Âᵀ, which is Â."""
        return self.adjacency

    def pool(self, fine: Tensor, how: Pooling = "sum") -> Tensor:
        """Return MᵀG (Eq. 4). `mean` divides by the size of the group, `l2` by its square root."""
        return linear_map(
            fine,
            lambda G: self._divided(csr_product(self.gather, G), how),
            lambda G: self._scatter(self._divided(G, how)),
        )

    def pool_and_keep(self, fine: Tensor, how: Pooling = "sum", rows: Rows | None = None) -> tuple[Tensor, Tensor]:
        """Return `pool`, and the input or some rows of it, for a short-cut.

        The two gradients are added in one pass.
        """
        if not torch.is_grad_enabled():
            return self.pool(fine, how), fine if rows is None else fine.index_select(0, rows.index)
        operation: Any = _PoolAndKeepOfReplicas if under_vmap() else _PoolAndKeep
        pooled, kept = operation.apply(fine, self, how, rows)
        return pooled, kept

    def unpool(self, coarse: Tensor) -> Tensor:
        """Return M G: each node gets the row of its hyper-node."""
        return linear_map(coarse, self._scatter, product_with(self.gather))

    def unpool_onto(self, coarse: Tensor, shortcut: Tensor) -> Tensor:
        """Return M G + shortcut (Eq. 6)."""
        return _unpool_onto(self, coarse, shortcut)

    def _divided(self, coarse: Tensor, how: Pooling) -> Tensor:
        if how == "sum":
            return coarse
        return coarse / (self.group_size if how == "mean" else self.group_size.sqrt())

    def _scatter(self, coarse: Tensor) -> Tensor:
        return coarse.index_select(0, self.group)


class _PoolAndKeep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, fine: Tensor, level: LevelTensors, how: Pooling, rows: Rows | None) -> tuple[Tensor, Tensor]:
        ctx.level, ctx.how, ctx.rows = level, how, rows
        kept = fine.detach() if rows is None else fine.index_select(0, rows.index)
        return level._divided(csr_product(level.gather, fine), how), kept

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        pooled, kept = ctx.level._divided(grads[0], ctx.how), grads[1]
        if ctx.rows is None:
            return add_rows(pooled, ctx.level.group, kept), None, None, None
        return ctx.level._scatter(pooled).index_add_(0, ctx.rows.index, kept), None, None, None


class _PoolAndKeepOfReplicas(ReplicaRule):
    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int, None, None, None], fine: Tensor, level: LevelTensors, how: Pooling, rows: Any
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        pooled, kept = level.pool_and_keep(fine.movedim(in_dims[0], 1).flatten(1), how, rows)  # (n, replicas * d)
        return (pooled.unflatten(1, (info.batch_size, -1)), kept.unflatten(1, (info.batch_size, -1))), (1, 1)


def _unpool_onto(level: "LevelTensors | LevelRows", coarse: Tensor, shortcut: Tensor) -> Tensor:
    """Return M G + shortcut (Eq. 6)."""
    return apply(_UnpoolOntoOfReplicas if under_vmap() else _UnpoolOnto, coarse, shortcut, level)


class _UnpoolOnto(torch.autograd.Function):
    """M G + shortcut in one pass."""

    @staticmethod
    def forward(ctx: Any, coarse: Tensor, shortcut: Tensor, level: "LevelTensors | LevelRows") -> Tensor:
        ctx.gather = level.gather
        return add_rows(coarse, level.group, shortcut)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        return csr_product(ctx.gather, grads[0].contiguous()), grads[0], None


class _UnpoolOntoOfReplicas(ReplicaRule):
    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int, int, None], coarse: Tensor, shortcut: Tensor, level: "LevelTensors | LevelRows"
    ) -> tuple[Tensor, int]:
        wide = (part.movedim(axis, 1).flatten(1) for part, axis in zip((coarse, shortcut), in_dims[:2], strict=True))
        return _unpool_onto(level, *wide).unflatten(1, (info.batch_size, -1)), 1


@dataclass(frozen=True, eq=False)
class LevelRows:
    """What some nodes of a level depend on in a refining layer: their neighbours, and the hyper-nodes of those.

    Hyper-nodes are counted among those that are computed at the next coarser level.
    """

    adjacency: Tensor  # rows of Â for the nodes, columns for their neighbours, CSR (r, m)
    transposed: Tensor  # CSR (m, r)
    inputs: Rows  # the neighbours, with the nodes themselves
    group: Tensor  # hyper-node of each neighbour, (m,)
    gather: Tensor  # its Mᵀ, CSR (hyper-nodes, m)

    def unpool_onto(self, coarse: Tensor, shortcut: Tensor) -> Tensor:
        """Return M G + shortcut (Eq. 6) of the neighbours."""
        return _unpool_onto(self, coarse, shortcut)


Field = Sequence[LevelTensors | LevelRows]
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

    weight_row: Tensor  # (N,)
    weight_parts: Tensor  # CSR (parts, N): sums over up to 512 nodes of one weight
    weight_sums: Tensor  # CSR (|T|, parts): sums of those for each weight

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
        for i, level in enumerate(sources):
            last = i + 1 == len(sources)
            n_coarser = 0 if last else sources[i + 1].adjacency.shape[0]
            group = None if last else level.group if coarsening else np.arange(n_coarser)
            self.levels.append(LevelTensors(level, weights, group, n_coarser))
        self._registered = nn.ModuleList(self.levels)  # a plain list does not move with `.to(device)`
        rows = torch.cat([level.weight_row for level in self.levels])
        parts, sums = _sums_by_row(rows.numpy(), len(weights))
        for name, tensor in (
            ("weight_row", rows),
            ("weight_parts", csr_tensor(parts)),
            ("weight_sums", csr_tensor(sums)),
        ):
            self.register_buffer(name, tensor, persistent=False)

    @property
    def depth(self) -> int:
        return len(self.levels) - 1

    def receptive_field(self, nodes: Tensor, depth: int) -> "Field":
        """Return the levels on the way up to these nodes of the input graph: of levels below `depth` only some rows.

        As soon as more than half of a level is needed, it and all coarser ones are whole.
        """
        field: list[LevelTensors | LevelRows] = []
        rows = nodes.numpy(force=True)
        for i, level in enumerate(self.levels[:depth]):
            coarser = len(self.levels[i + 1].weight_row)
            if 2 * len(rows) > len(level.group):
                break
            A = scipy_matrix(level.adjacency)[rows]
            inputs, place = np.unique(A.indices, return_inverse=True)
            A = sp.csr_array((A.data, place, A.indptr), shape=(len(rows), len(inputs)))
            group = level.group.numpy(force=True)[inputs]
            rows = np.unique(group)
            if i + 1 < depth and 2 * len(rows) <= coarser:
                group, coarser = np.searchsorted(rows, group), len(rows)
            there, back = csr_tensor(A).to(nodes.device), csr_tensor(sp.csr_array(A.T)).to(nodes.device)
            some = Rows(torch.from_numpy(inputs.astype(np.int64)).to(nodes.device), len(level.group))
            gather = csr_tensor(_members(group, coarser)).to(nodes.device)
            field.append(LevelRows(there, back, some, torch.from_numpy(group).to(nodes.device), gather))
        return [*field, *self.levels[len(field) :]]

    def weight_embeddings(self, V: Tensor) -> list[Tensor]:
        """Return S of each level, the row of V for each node's weight; (n_i, p)."""
        S = linear_map(nodes_first(V), lambda V: V.index_select(0, self.weight_row), self._sum_by_weight)  # (N, p)
        return list(S.split([len(level.weight_row) for level in self.levels]))

    def _sum_by_weight(self, grad: Tensor) -> Tensor:
        return csr_product(self.weight_sums, csr_product(self.weight_parts, grad))


def _members(group: np.ndarray, n: int) -> sp.csr_array:
    """Return the matrix (n, members) with a 1 in the row of each group for each of its members."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n))])
    members = np.argsort(group, kind="stable")
    return sp.csr_array((np.ones(len(group)), members, starts), shape=(n, len(group)))


def _sums_by_row(rows: np.ndarray, n: int) -> tuple[sp.csr_array, sp.csr_array]:
    """Return two matrices whose product sums the nodes of each row: short partial sums, then the sums of those."""
    whole = _members(rows, n)
    parts = -(-np.diff(whole.indptr) // _PART)
    row_of_part = np.repeat(np.arange(n), parts)
    within = np.arange(len(row_of_part)) - np.repeat(np.cumsum(parts) - parts, parts)
    starts = np.append(whole.indptr[row_of_part] + _PART * within, whole.nnz)
    partial = sp.csr_array((whole.data, whole.indices, starts), shape=(len(row_of_part), len(rows)))
    return partial, _members(row_of_part, n)


def _nearest(known: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return for each value the position of the nearest one in `known`, which is ascending; the lower one of two."""
    above = np.searchsorted(known, wanted).clip(max=len(known) - 1)
    below = (above - 1).clip(min=0)
    nearest: np.ndarray = np.where(np.abs(known[above] - wanted) < np.abs(known[below] - wanted), above, below)
    return nearest
