"""The hierarchy as a tree for the explorer.

Members of a hyper-node have consecutive numbers. If the model's coarsest level is too large for an overview, coarser
levels are added for display.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from hiergcn.coarsen import CoarsenConfig, Hierarchy, coarsen

OVERVIEW = 400
"""Maximal number of hyper-nodes at the coarsest level shown."""
MAX_SIZE_RATIO = 0.95
"""An added level must be smaller than this share of the previous one."""
MAX_ADDED_LEVELS = 16


@dataclass(frozen=True, eq=False)
class Tree:
    """Levels, finest first. The members of hyper-node k of level l + 1 are `first[l][k]` to `first[l][k + 1]`."""

    adjacency: tuple[sp.csr_array, ...]  # (n_l, n_l), no diagonal
    weight: tuple[npt.NDArray[np.int64], ...]  # (n_l,)
    parent: tuple[npt.NDArray[np.int32], ...]  # (n_l,), ascending; not for the coarsest level
    order: npt.NDArray[np.int64]
    """(n_0,): the number of each node of level 0 in the run's files."""
    model_levels: int
    """Number of levels that the model uses; levels from here on are for display only."""

    @property
    def depth(self) -> int:
        return len(self.weight) - 1

    def first(self, level: int) -> npt.NDArray[np.int64]:
        """Return the first member, in `level`, of each hyper-node of the next level; (n_{l+1} + 1,)."""
        members = np.bincount(self.parent[level], minlength=len(self.weight[level + 1]))
        return np.concatenate(([0], np.cumsum(members)))

    @classmethod
    def of(cls, hierarchy: Hierarchy, model_levels: int | None = None) -> Self:
        """Renumber the nodes of a hierarchy, and add coarser levels if needed; `model_levels` are all of it if None."""
        adjacency = [level.adjacency for level in hierarchy.levels]
        weight = [level.node_weight for level in hierarchy.levels]
        group = [level.grouping() for level in hierarchy.levels[:-1]]
        for matrix, joined in _added_levels(adjacency[-1]):
            adjacency.append(matrix)
            weight.append(np.bincount(joined, weights=weight[-1]).astype(np.int64))
            group.append(joined)
        order = np.arange(len(weight[-1]))
        orders, parents = [order], []
        for joined, heavy in zip(reversed(group), reversed(weight[:-1]), strict=True):
            place = np.argsort(order)[joined]  # the new number of each node's hyper-node
            order = np.lexsort((-heavy, place))  # the heaviest member comes first
            orders.append(order)
            parents.append(place[order].astype(np.int32))
        orders.reverse()
        return cls(
            tuple(_renumbered(matrix, order) for matrix, order in zip(adjacency, orders, strict=True)),
            tuple(heavy[order] for heavy, order in zip(weight, orders, strict=True)),
            tuple(reversed(parents)),
            orders[0],
            len(hierarchy.levels) if model_levels is None else model_levels,
        )


def _added_levels(adjacency: sp.csr_array) -> list[tuple[sp.csr_array, npt.NDArray[np.int32]]]:
    """Coarsen until the graph is small enough or hardly shrinks. Return each graph with the grouping that leads to it.

    Two-hop grouping also halves star-like graphs, in which matching along edges finds few pairs.
    """
    if adjacency.shape[0] <= OVERVIEW:
        return []
    levels = coarsen(adjacency, MAX_ADDED_LEVELS, CoarsenConfig(strategy="two-hop", isolated="merge")).levels
    added = []
    for finer, coarser in pairwise(levels):
        if finer.n_nodes <= OVERVIEW or coarser.n_nodes > MAX_SIZE_RATIO * finer.n_nodes:
            break
        added.append((coarser.adjacency, finer.grouping()))
    return added


def _renumbered(adjacency: sp.csr_array, order: npt.NDArray[np.int64]) -> sp.csr_array:
    """Return rows and columns in the new order, without the diagonal."""
    n = len(order)
    matrix = adjacency[order]  # a copy, so its arrays may be changed
    rows = np.repeat(np.arange(n, dtype=np.int32), np.diff(matrix.indptr))
    columns = np.argsort(order).astype(np.int32)[matrix.indices]
    keep = rows != columns
    starts = np.concatenate(([0], np.cumsum(np.bincount(rows[keep], minlength=n))))
    return sp.csr_array((matrix.data[keep], columns[keep], starts), shape=(n, n))
