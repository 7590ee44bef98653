"""Structural similarity grouping (SSG): each node in turn takes its most similar free neighbour (Section 3.3, Eq. 2).

    s(v_j, v_k) = A_jk / sqrt(D(v_j) D(v_k))

`reference.similar_nodes` is the plain version. Heavy-edge matching is the same with another order and D = 1.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hiergcn.compiled.csr import Float64s, Floats, Int32s, Int64s, Rows, UInt64s, read_only
from hiergcn.compiled.jit import SMALL, even_ranges, kernel, run_over, thread_count
from hiergcn.compiled.simd import AHEAD, CACHED, prefetch, prefetch_neighbours, prefetch_row

UNBOUNDED = np.iinfo(np.int64).max
"""Means that node weights have no bound."""
UNKNOWN = -2
"""Means that the most similar neighbour of a node has not been searched for."""
LAST = np.int32(np.iinfo(np.int32).max)
"""A rank after all others."""
BATCHES = 100
"""Parts of the order whose most similar neighbours are found at a time, before they are matched."""


class Nodes(NamedTuple):
    """What matching knows of each node."""

    rank: Int32s  # place in the visiting order; -1 if the node is taken or takes no part
    scale: Floats  # D, float32 if that is exact
    weight: Int64s
    limit: int  # of the weight of a pair


def visiting_order(rows: Rows, nodes: Int32s, loops_are_neighbours: bool) -> Int32s:
    """Sort `nodes` by their number of neighbours, then by the total edge weight to them, then by index.

    The paper asks for the first ("a node with fewer neighbors has fewer probabilities to be grouped when it is taken
    out late"); the other two are our rule for ties.
    """
    count = np.empty(rows.n, dtype=np.int32)
    weight = np.empty(rows.n, dtype=np.float64)

    def work(start: int, stop: int) -> None:
        _neighbourhoods(rows, loops_are_neighbours, start, stop, count, weight)

    run_over(even_ranges(rows.indptr), work)
    for keys in (weight, count):
        ranks = keys[nodes]
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

    Most time is spent on finding the most similar neighbours. On large graphs, threads find those of the next nodes
    beforehand. If one is still free when its node is visited, it is still the most similar, as nodes only become
    taken; else it is found again.
    """
    if scale.min() == scale.max():  # one number is enough, and half the memory
        rank, scale = np.full(rows.n, -1, np.int32), np.broadcast_to(np.float64(scale[0]), rows.n)
    else:  # a node's rank and scale are read together, so they are next to each other
        kind = np.float32 if np.array_equal(scale.astype(np.float32), scale) else np.float64
        table = np.empty(rows.n, dtype=np.dtype([("rank", np.int32), ("scale", kind)], align=True))
        table["rank"], table["scale"] = -1, scale
        rank, scale = table["rank"], read_only(table["scale"])
    rank[order] = np.arange(len(order), dtype=np.int32)
    nodes = Nodes(rank, scale, node_weight, limit or UNBOUNDED)
    found = np.full(len(order), UNKNOWN, dtype=np.int32)
    longest = int(np.diff(rows.indptr).max(initial=0))
    if len(order) + len(rows.indices) < SMALL:
        _match(rows, order, nodes, found, longest, 0, len(order), head)
        return
    for low, high in pairwise(np.linspace(0, len(order), BATCHES + 1).astype(int).tolist()):
        cuts = np.linspace(low, high, thread_count() + 1).astype(int).tolist()
        run_over(list(pairwise(cuts)), lambda start, stop: _find(rows, order, nodes, found, longest, start, stop))
        _match(rows, order, nodes, found, longest, low, high, head)


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
def _find(rows: Rows, order: Int32s, nodes: Nodes, found: Int32s, longest: int, start: int, stop: int) -> None:
    """Write the most similar free neighbours of those of order[start:stop] that are free."""
    rank, candidates = nodes.rank, np.empty(longest, np.uint64)
    free, count = np.empty(stop - start, np.int32), np.uint64(0)  # their places in the order
    for t in range(start, stop):
        prefetch(rank, np.uint64(order[min(t + 6 * AHEAD, stop - 1)]))
        free[count] = t
        count += np.uint64(rank[np.uint64(order[t])] >= 0)
    last = int(count) - 1
    for at in range(count):
        prefetch(rows.indptr, np.uint64(order[free[min(at + 3 * AHEAD, last)]]))
        prefetch_row(rows, np.uint64(order[free[min(at + 2 * AHEAD, last)]]))
        prefetch_neighbours(rows, np.uint64(order[free[min(at + AHEAD, last)]]), rank)
        t = free[at]
        found[t] = _most_similar(rows, nodes, np.uint64(order[t]), candidates)


@kernel
def _match(
    rows: Rows, order: Int32s, nodes: Nodes, found: Int32s, longest: int, start: int, stop: int, head: Int32s
) -> None:
    """Match order[start:stop], one after the other."""
    rank, last, candidates = nodes.rank, stop - 1, np.empty(longest, np.uint64)
    for t in range(start, stop):
        if len(rank) > CACHED:
            ahead = min(t + 4 * AHEAD, last)
            for place in (np.uint64(order[ahead]), np.uint64(max(found[ahead], 0))):
                prefetch(rank, place)
                prefetch(head, place)
        j = np.uint64(order[t])
        if rank[j] < 0:
            continue
        best = found[t]
        if best == UNKNOWN or (best >= 0 and rank[best] < 0):
            best = _most_similar(rows, nodes, j, candidates)
        rank[j] = -1
        head[j] = j
        if best >= 0:
            rank[best] = -1
            head[j] = head[best] = min(int(j), best)


@kernel(plain=None)
def _most_similar(rows: Rows, nodes: Nodes, j: Any, candidates: UInt64s) -> int:
    """Return the most similar free neighbour of j; -1 if none is free.

    First the free neighbours are listed, without a branch: whether a neighbour is free is hard to predict.
    """
    indptr, indices, data = rows
    rank, scale, node_weight, limit = nodes
    count = np.uint64(0)
    for p in range(np.uint64(indptr[j]), np.uint64(indptr[j + np.uint64(1)])):
        k = np.uint32(indices[p])
        candidates[count] = p
        count += np.uint64((rank[k] >= 0) & (k != j))
    best, best_rank, best_square, best_scale = -1, LAST, 0.0, 1.0
    for at in range(count):
        p = candidates[at]
        k = np.uint32(indices[p])
        # s(j, k) > s(j, best) without the root, whose rounding would make and break ties
        square = np.float64(data[p]) * np.float64(data[p])
        ours, theirs = square * best_scale, best_square * np.float64(scale[k])
        if (ours > theirs) | ((ours == theirs) & (rank[k] < best_rank)):
            if limit < UNBOUNDED and node_weight[j] + node_weight[k] > limit:
                continue
            best, best_rank, best_square, best_scale = int(k), rank[k], square, np.float64(scale[k])
    return best
