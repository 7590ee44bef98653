"""Random and heavy-edge matching along edges: grouping strategies to compare the paper's with.

Random: Hendrickson & Leland, A multilevel algorithm for partitioning graphs, Supercomputing 1995.
Heavy-edge: Karypis & Kumar, A fast and high quality multilevel scheme for partitioning irregular graphs, 1998.
"""

import numpy as np
import scipy.sparse as sp

from hiergcn.coarsen.matching import UNBOUNDED, match_most_similar, weight_bound
from hiergcn.coarsen.strategy import CoarsenConfig, register_strategy
from hiergcn.compiled.csr import Int32s, Int64s, rows_of
from hiergcn.compiled.hashing import mix
from hiergcn.compiled.jit import kernel


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
    match_most_similar(rows, rng.permutation(rows.n), np.ones(rows.n), node_weight, config.max_node_weight, head)
    return head


@register_strategy("random")
def group_random(
    adjacency: sp.csr_array, node_weight: Int64s, config: CoarsenConfig, rng: np.random.Generator
) -> Int32s:
    """Visit nodes in random order; each takes one of its free neighbours, all equally likely."""
    rows = rows_of(adjacency)
    order = rng.permutation(rows.n)
    draw = rng.integers(2**63, dtype=np.uint64)
    head = np.full(rows.n, -1, dtype=np.int32)
    _match_random(rows.indptr, rows.indices, order, draw, node_weight, weight_bound(config.max_node_weight), head)
    return head


@kernel
def _match_random(
    indptr: Int64s, indices: Int32s, order: Int64s, draw: np.uint64, node_weight: Int64s, limit: int, head: Int32s
) -> None:
    """Choose by a hash of the draw and the pair, so that the order of the stored neighbours does not matter."""
    for j in order:
        if head[j] >= 0:
            continue
        best, best_draw = -1, np.uint64(0)
        row_draw = mix(draw ^ np.uint64(j))
        for p in range(indptr[j], indptr[j + 1]):
            k = indices[p]
            if k == j or head[k] >= 0 or (limit < UNBOUNDED and node_weight[j] + node_weight[k] > limit):
                continue
            drawn = mix(row_draw ^ np.uint64(k))
            if best < 0 or drawn > best_draw:
                best, best_draw = k, drawn
        head[j] = j
        if best >= 0:
            head[j] = head[best] = min(j, best)
