"""Structural similarity grouping (SSG): each node in turn takes its most similar free neighbour (Section 3.3, Eq. 2).

    s(v_j, v_k) = A_jk / sqrt(D(v_j) D(v_k))

`reference.similar_nodes` is the plain version. Heavy-edge matching is the same with another order and D = 1.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from hiergcn.compiled.csr import Float64s, Int32s, Int64s, Rows, frozen
from hiergcn.compiled.jit import even_ranges, kernel, run_over
from hiergcn.compiled.simd import AHEAD, CACHED, prefetch, prefetch_neighbours, prefetch_row

UNBOUNDED = np.iinfo(np.int64).max
"""Means that node weights have no bound."""
LAST = np.int32(np.iinfo(np.int32).max)
"""A rank after all others."""


def visiting_order(rows: Rows, nodes: Int32s, loops_are_neighbours: bool) -> Int32s:
    """Sort `nodes` by their number of neighbours, then by the total edge weight to them, then by index.

    The paper asks for the first ("a node with fewer neighbors has fewer probabilities to be grouped when it is taken
    out late"); the other two are our rule for ties.
    """
    count, weight = np.empty(rows.n, dtype=np.int32), np.empty(rows.n, dtype=np.float64)
    loops = loops_are_neighbours
    run_over(even_ranges(rows.indptr), lambda low, high: _neighbourhoods(rows, loops, low, high, count, weight))
    for keys in (weight, count):
        ranks: npt.NDArray[Any] = keys[nodes]
        if ranks.max(initial=0) <= np.iinfo(np.uint16).max and (ranks == np.floor(ranks)).all():
            ranks = ranks.astype(np.uint16)  # numpy has a radix sort for this type, in linear time
        nodes = nodes[np.argsort(ranks, kind="stable")]
    return nodes


def match_most_similar(
    rows: Rows, order: Int32s, scale: npt.NDArray[Any], node_weight: Int64s, limit: int | None, head: Int32s
) -> None:
    """Match the nodes of `order`, one after the other, with their most similar free neighbour, and write `head`.

    `scale` is D. Only nodes in `order` take part. Of equally similar neighbours the one earlier in `order` is taken.
    A pair whose node weights sum to more than `limit` is not matched. `head[j] = head[k] = min(j, k)` for a pair.

    One pass is enough: a visited node is matched or, if all its neighbours are taken, stays alone. So nothing is left
    for the second round of Algorithm 1's outer loop, and the matching is maximal.
    """
    rank = np.full(rows.n, -1, np.int32)  # place in `order`; -1 if the node is taken or takes no part
    rank[order] = np.arange(len(order), dtype=np.int32)
    _match(rows, order, rank, frozen(scale, np.float64), node_weight, limit or UNBOUNDED, head)


@kernel
def _neighbourhoods(rows: Rows, loops: bool, start: int, stop: int, count: Int32s, weight: Float64s) -> None:
    indptr, indices, data = rows
    for i in range(start, stop):
        total, neighbours = 0.0, 0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            if loops or indices[p] != i:
                total += np.float64(data[p])
                neighbours += 1
        count[i] = neighbours
        weight[i] = total


@kernel
def _match(
    rows: Rows, order: Int32s, rank: Int32s, scale: Float64s, node_weight: Int64s, limit: int, head: Int32s
) -> None:
    indptr, indices, data = rows
    last = len(order) - 1
    for t in range(len(order)):
        if len(rank) > CACHED:
            prefetch(rank, np.uint64(order[min(t + 8 * AHEAD, last)]))
            prefetch(indptr, np.uint64(order[min(t + 8 * AHEAD, last)]))
            ahead = np.uint64(order[min(t + 4 * AHEAD, last)])
            if rank[ahead] >= 0:
                prefetch_row(rows, ahead)
            ahead = np.uint64(order[min(t + 2 * AHEAD, last)])
            if rank[ahead] >= 0:
                prefetch_neighbours(rows, ahead, rank)
        j = np.uint64(order[t])
        if rank[j] < 0:
            continue
        best, best_rank, best_square, best_scale = -1, LAST, 0.0, 1.0
        for p in range(np.uint64(indptr[j]), np.uint64(indptr[j + np.uint64(1)])):
            k = np.uint32(indices[p])
            if rank[k] < 0 or k == j:
                continue
            # s(j, k) > s(j, best) without the root, whose rounding would make and break ties
            square = np.float64(data[p]) * np.float64(data[p])
            ours, theirs = square * best_scale, best_square * scale[k]
            if ours > theirs or (ours == theirs and rank[k] < best_rank):
                if limit < UNBOUNDED and node_weight[j] + node_weight[k] > limit:
                    continue
                best, best_rank, best_square, best_scale = int(k), rank[k], square, scale[k]
        rank[j] = -1
        head[j] = j
        if best >= 0:
            rank[best] = -1
            head[j] = head[best] = min(int(j), best)
