"""Two-hop matching (LaSalle et al., Improving graph partitioning for modern graphs and architectures, IA3 2015).

If degrees are skewed, a matching along edges leaves most neighbours of a hub alone. So nodes that heavy-edge matching
leaves alone are paired if they share neighbours: first twins, which share all, such as the leaves of one node; then
relatives, which share one. LaSalle et al. do so only if many nodes are left alone; here it is always done.
"""

import numpy as np
import scipy.sparse as sp

from hiergcn.coarsen.edge_matching import group_heavy_edge
from hiergcn.coarsen.equivalence import equivalence_classes, neighbour_hashes
from hiergcn.coarsen.matching import UNBOUNDED, visiting_order, weight_bound
from hiergcn.coarsen.strategy import CoarsenConfig, register_strategy
from hiergcn.compiled.csr import Bools, Int32s, Int64s, rows_of
from hiergcn.compiled.jit import kernel


@register_strategy("two-hop")
def group_two_hop(
    adjacency: sp.csr_array, node_weight: Int64s, config: CoarsenConfig, rng: np.random.Generator
) -> Int32s:
    """Match along heavy edges, then pair nodes with equal neighbours, then nodes that share a neighbour.

    Hubs are visited in ascending order of their neighbour count: sharing a neighbour that has few means more.
    """
    rows = rows_of(adjacency)
    limit = weight_bound(config.max_node_weight)
    head = group_heavy_edge(adjacency, node_weight, config, rng)
    free = np.bincount(head, minlength=rows.n)[head] == 1
    hashes = neighbour_hashes(rows, loops_are_neighbours=False)
    first = equivalence_classes(rows, hashes, loops_are_neighbours=False, merge_isolated=False)
    _pair_twins(first, node_weight, limit, free, head)
    hubs = visiting_order(rows, np.arange(rows.n), loops_are_neighbours=False)
    _pair_around(rows.indptr, rows.indices, hubs, node_weight, limit, free, head)
    return head


@kernel
def _pair_around(
    indptr: Int64s, indices: Int32s, hubs: Int64s, node_weight: Int64s, limit: int, free: Bools, head: Int32s
) -> None:
    """Pair the free neighbours of each hub in the order of their indices."""
    for hub in hubs:
        waiting = -1
        for p in range(indptr[hub], indptr[hub + 1]):
            k = indices[p]
            if not free[k] or k == hub:
                continue
            if waiting >= 0 and (limit == UNBOUNDED or node_weight[k] + node_weight[waiting] <= limit):
                head[k] = waiting
                free[k] = free[waiting] = False
                waiting = -1
            elif waiting < 0 or node_weight[k] < node_weight[waiting]:  # the lighter of two is easier to pair
                waiting = k


@kernel
def _pair_twins(first: Int32s, node_weight: Int64s, limit: int, free: Bools, head: Int32s) -> None:
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
