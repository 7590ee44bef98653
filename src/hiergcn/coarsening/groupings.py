"""The grouping strategies: the paper's (Section 3.3, Algorithm 1), and four others.

Random: Hendrickson & Leland, A multilevel algorithm for partitioning graphs, Supercomputing 1995.
Heavy-edge: Karypis & Kumar, A fast and high quality multilevel scheme for partitioning irregular graphs, 1998.
Two-hop: LaSalle et al., Improving graph partitioning for modern graphs and architectures, IA3 2015.
"""

import numpy as np
import scipy.sparse as sp

from hiergcn.coarsening.contraction import group_members
from hiergcn.coarsening.equivalence import equivalence_classes, equivalence_groups, hashed, neighbour_hashes
from hiergcn.coarsening.matching import UNBOUNDED, match_most_similar, visiting_order
from hiergcn.compiled.csr import Bools, Int32s, Int64s, Rows, frozen, rows_of
from hiergcn.compiled.jit import kernel
from hiergcn.settings.fields import CoarsenConfig, register_strategy


@register_strategy("hgcn")
def group_hgcn(adjacency: sp.csr_array, node_weight: Int64s, config: CoarsenConfig, _: np.random.Generator) -> Int32s:
    """Group equivalent nodes (SEG), then match the others by similarity, those with few neighbours first (SSG)."""
    rows = rows_of(adjacency)
    head = equivalence_groups(rows, config)
    order = visiting_order(rows, np.flatnonzero(_alone(head)).astype(np.int32), config.loops_are_neighbours)
    scale = node_weight if config.similarity == "node_weight" else adjacency.sum(axis=1)
    match_most_similar(rows, order, scale, node_weight, config.max_node_weight, head)
    return head


@register_strategy("heavy-edge")
def group_heavy_edge(
    adjacency: sp.csr_array, node_weight: Int64s, config: CoarsenConfig, rng: np.random.Generator
) -> Int32s:
    """Visit nodes in random order; each takes the free neighbour at its heaviest edge.

    This is similarity matching with D = 1. Of equally heavy edges it takes the one to the node that comes first in the
    random order.
    """
    rows = rows_of(adjacency)
    head = np.empty(rows.n, dtype=np.int32)
    order = rng.permutation(rows.n).astype(np.int32)
    match_most_similar(rows, order, np.ones(rows.n), node_weight, config.max_node_weight, head)
    return head


@register_strategy("random")
def group_random(
    adjacency: sp.csr_array, node_weight: Int64s, config: CoarsenConfig, rng: np.random.Generator
) -> Int32s:
    """Visit nodes in random order; each takes one of its free neighbours, all equally likely.

    Choose by a hash of the draw and the pair, so that the order of the stored neighbours does not matter.
    """
    rows = rows_of(adjacency)
    order = rng.permutation(rows.n).astype(np.int32)
    of_node = hashed(np.arange(rows.n, dtype=np.uint64) ^ rng.integers(2**63, dtype=np.uint64))
    of_pair = hashed(np.repeat(of_node, np.diff(rows.indptr)) ^ rows.indices.astype(np.uint64))
    head = np.empty(rows.n, dtype=np.int32)
    drawn = Rows(rows.indptr, rows.indices, frozen(of_pair, np.float64))
    match_most_similar(drawn, order, np.ones(rows.n), node_weight, config.max_node_weight, head)
    return head


@register_strategy("two-hop")
def group_two_hop(
    adjacency: sp.csr_array, node_weight: Int64s, config: CoarsenConfig, rng: np.random.Generator
) -> Int32s:
    """Match along heavy edges, then pair nodes with equal neighbours (twins), then nodes that share a neighbour.

    If degrees are skewed, a matching along edges leaves most neighbours of a hub alone; these are paired here. LaSalle
    et al. do so only if many nodes are left alone. Hubs are visited in ascending order of their neighbour count:
    sharing a neighbour that has few means more.
    """
    rows = rows_of(adjacency)
    limit = config.max_node_weight or UNBOUNDED
    head = group_heavy_edge(adjacency, node_weight, config, rng)
    free = _alone(head)
    hashes = neighbour_hashes(rows, loops_are_neighbours=False)
    first = equivalence_classes(rows, hashes, loops_are_neighbours=False, merge_isolated=False)
    twins, start = group_members(frozen(first, np.int32), rows.n)
    nodes = np.arange(rows.n, dtype=np.int32)
    _pair_listed(frozen(start, np.int64), frozen(twins, np.int32), nodes, True, node_weight, limit, free, head)
    hubs = visiting_order(rows, nodes, loops_are_neighbours=False)
    _pair_listed(rows.indptr, rows.indices, hubs, False, node_weight, limit, free, head)
    return head


@register_strategy("handshake")
def group_handshake(
    adjacency: sp.csr_array, node_weight: Int64s, config: CoarsenConfig, _: np.random.Generator
) -> Int32s:
    """Pair nodes that choose each other, round by round."""
    from hiergcn.coarsening.handshake import handshake_groups

    return handshake_groups(adjacency, node_weight, config)


def _alone(head: Int32s) -> Bools:
    """Return whether each node is the only one of its group; `head` is the smallest member."""
    alone: Bools = head == np.arange(len(head), dtype=np.int32)
    alone[head[~alone]] = False
    return alone


@kernel
def _pair_listed(
    indptr: Int64s, indices: Int32s, order: Int32s, loops: bool, weight: Int64s, limit: int, free: Bools, head: Int32s
) -> None:
    """Pair the free nodes of each list indices[indptr[i]:indptr[i + 1]] in turn; i itself only if `loops`."""
    for i in order:
        waiting = -1
        for p in range(indptr[i], indptr[i + 1]):
            k = indices[p]
            if not free[k] or (k == i and not loops):
                continue
            if waiting >= 0 and weight[k] + weight[waiting] <= limit:
                head[k] = waiting
                free[k] = free[waiting] = False
                waiting = -1
            elif waiting < 0 or weight[k] < weight[waiting]:  # the lighter of two is easier to pair
                waiting = k
