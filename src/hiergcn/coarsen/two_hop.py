"""Two-hop matching (LaSalle et al., Improving graph partitioning for modern graphs and architectures, IA3 2015).

Where degrees are skewed, the neighbours of a hub cannot all be matched along edges, and a matching leaves most nodes
alone. So nodes that heavy-edge matching left alone are paired when they share a neighbour: leaves first, then twins,
then relatives. The paper starts this when many nodes are left; here it is always done.
"""

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from hiergcn.coarsen.config import CoarsenConfig
from hiergcn.coarsen.csr import rows_of
from hiergcn.coarsen.equivalence import equivalence_classes, neighbour_hashes
from hiergcn.coarsen.heavy_edge import group_heavy_edge
from hiergcn.coarsen.matching import UNBOUNDED, visiting_order, weight_bound
from hiergcn.coarsen.strategy import register_strategy
from hiergcn.graph.compiled import kernel


@register_strategy("two-hop")
def group_two_hop(
    adjacency: sp.csr_array, node_weight: npt.NDArray[np.int64], config: CoarsenConfig, rng: np.random.Generator
) -> npt.NDArray[np.int32]:
    """Heavy-edge matching, then pairs of leaves of one node, of nodes with equal neighbours, of nodes that share one.

    Hubs are visited in ascending order of their neighbour count: to share a neighbour that has few says more.
    """
    rows = rows_of(adjacency)
    loops, limit = config.loops_are_neighbours, weight_bound(config.max_node_weight)
    head = group_heavy_edge(adjacency, node_weight, config, rng)
    free = np.bincount(head, minlength=rows.n)[head] == 1
    hubs = visiting_order(rows, np.arange(rows.n), loops)
    _pair_around(rows.indptr, rows.indices, hubs, 1, node_weight, limit, free, head)
    first = equivalence_classes(rows, neighbour_hashes(rows, loops), loops, merge_isolated=False)
    _pair_twins(first, node_weight, limit, free, head)
    _pair_around(rows.indptr, rows.indices, hubs, rows.n, node_weight, limit, free, head)
    return head


@kernel
def _pair_around(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    hubs: npt.NDArray[np.int64],
    most_entries: int,
    node_weight: npt.NDArray[np.int64],
    limit: int,
    free: npt.NDArray[np.bool_],
    head: npt.NDArray[np.int32],
) -> None:
    """Pair the free neighbours of each hub, in the order of their indices, that have at most so many neighbours."""
    for hub in hubs:
        waiting = -1
        for p in range(indptr[hub], indptr[hub + 1]):
            k = indices[p]
            if not free[k] or k == hub or _neighbours(indptr, indices, k) > most_entries:
                continue
            if waiting >= 0 and (limit == UNBOUNDED or node_weight[k] + node_weight[waiting] <= limit):
                head[k] = waiting
                free[k] = free[waiting] = False
                waiting = -1
            elif waiting < 0 or node_weight[k] < node_weight[waiting]:  # the lighter of two is easier to pair
                waiting = k


@kernel
def _neighbours(indptr: npt.NDArray[np.int64], indices: npt.NDArray[np.int32], k: int) -> int:
    """How many neighbours a node has; beyond one, its self-loop may be counted, too."""
    entries = indptr[k + 1] - indptr[k]
    if entries == 2 and (indices[indptr[k]] == k or indices[indptr[k] + 1] == k):
        return 1
    return int(entries)


@kernel
def _pair_twins(
    first: npt.NDArray[np.int32],
    node_weight: npt.NDArray[np.int64],
    limit: int,
    free: npt.NDArray[np.bool_],
    head: npt.NDArray[np.int32],
) -> None:
    """Pair the free nodes of each equivalence class in the order of their indices."""
    waiting = np.full(len(first), -1, np.int32)
    for k in range(len(first)):
        if not free[k]:
            continue
        other = waiting[first[k]]
        if other >= 0 and (limit == UNBOUNDED or node_weight[k] + node_weight[other] <= limit):
            head[k] = other
            free[k] = free[other] = False
            waiting[first[k]] = -1
        elif other < 0 or node_weight[k] < node_weight[other]:
            waiting[first[k]] = k
