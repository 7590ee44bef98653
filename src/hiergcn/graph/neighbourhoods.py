"""Neighbourhoods: nodes within some hops, breadth-first order, hops to labels of each class.

For the sizes, each sampled node is one bit of a mark. A step gives every node the bits of its neighbours, for all
samples at once.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hiergcn.compiled.csr import Float64s, Int64s, Rows, UInt64s, rows_of
from hiergcn.compiled.jit import kernel, run_over, thread_count

SAMPLE = 64  # nodes; each is one bit of a mark
CHUNK = 1 << 20  # edges or nodes at a time
MOST_ENDS = 1 << 15
"""Ends of edges that a search from one node goes through."""

Marks = UInt64s  # (n,): the sampled nodes that have reached a node


def neighbourhood_sizes(adjacency: sp.csr_array, steps: Sequence[int]) -> Int64s:
    """Return (steps, sampled nodes): the nodes within that many steps, itself included; `steps` ascend."""
    rows = rows_of(adjacency)
    marks, sample = sampled_marks(rows.n)
    sizes, taken, ended = [], 0, False
    for step in steps:
        while taken < step and not ended:
            spread = spread_marks(rows, marks)
            ended, marks, taken = np.array_equal(spread, marks), spread, taken + 1
        sizes.append(count_marks(marks)[:sample])
    return np.array(sizes)


def sampled_marks(n: int) -> tuple[Marks, int]:
    """Return one bit for each of some nodes, evenly spread, and how many there are."""
    sample = min(SAMPLE, n)
    marks = np.zeros(n, dtype=np.uint64)
    marks[np.linspace(0, n - 1, sample).astype(np.int64)] = np.uint64(1) << np.arange(sample, dtype=np.uint64)
    return marks, sample


def spread_marks(rows: Rows, marks: Marks) -> Marks:
    """Return the marks after one step along the edges."""
    spread = marks.copy()
    filled = np.flatnonzero(np.diff(rows.indptr))
    for some in np.array_split(filled, 1 + rows.indptr[-1] // CHUNK) if filled.size else ():
        first, last = rows.indptr[some[0]], rows.indptr[some[-1] + 1]
        spread[some] |= np.bitwise_or.reduceat(marks[rows.indices[first:last]], rows.indptr[some] - first)
    return spread


def count_marks(marks: Marks) -> Int64s:
    """Return how many nodes have each bit; (64,)."""
    counts = np.zeros(SAMPLE, dtype=np.int64)
    for first in range(0, len(marks), CHUNK):
        octets = marks[first : first + CHUNK].astype("<u8").view(np.uint8).reshape(-1, 8)
        counts += np.unpackbits(octets, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    return counts


def breadth_first(adjacency: sp.csr_array, starts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all nodes in breadth-first order, and the level of each node.

    `starts` holds every node once: the search begins at the first and goes on, when a component is finished, at the
    next that has not been visited. The level is the number of hops from the start of the component, plus n for every
    earlier component. So any path between two nodes has at least as many edges as their levels differ by.
    """
    n = adjacency.shape[0]
    order, level = np.empty(n, np.int64), np.full(n, -1, np.int64)
    _visit(adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int64), starts, order, level)
    return order, level


def within_hops(
    adjacency: sp.csr_array, radii: Sequence[int], values: NDArray[Any] | None = None
) -> tuple[Int64s, Float64s]:
    """Count the nodes within so many hops, `radii` ascending, of each node, and average their rows of values.

    Return counts (n, radii) and means (n, radii, columns). A node is within 0 hops of itself. Every node is searched
    from, so that the counts are exact. A search ends before the hop that would take it through more than `MOST_ENDS`
    ends of edges, so that hubs cannot make the time grow with the square of the nodes; larger radii then repeat what
    was found so far.
    """
    (indptr, indices, _), hops, most = rows_of(adjacency), np.array(radii, np.int64), MOST_ENDS
    n = len(indptr) - 1
    table = np.empty((n, 0)) if values is None else np.ascontiguousarray(values, np.float64)
    counts, means = np.empty((n, hops.size), np.int64), np.empty((n, hops.size, table.shape[1]))
    cuts = np.unique(np.linspace(0, n, 4 * thread_count() + 1).astype(np.int64)).tolist()
    arrays = indptr, indices, hops, table, most, counts, means
    run_over(list(pairwise(cuts)), lambda low, high: _within_hops(*arrays, low, high))
    return counts, means


def hops_to_classes(
    adjacency: sp.csr_array, nodes: NDArray[np.integer], labels: NDArray[Any], n_classes: int
) -> NDArray[np.float64]:
    """Return the hops from each node to the nearest labelled node of each class but itself, (n, classes).

    Infinite if there is none. A labelled node itself is left out: the nearest other one of its class is found over an
    edge (a, b) between the nodes that are nearest to it and those nearest to others, by d(a) + 1 + d(b). `labels` are
    the classes of `nodes`.
    """
    from scipy.sparse.csgraph import dijkstra  # imports linear algebra, which reading a graph does not need

    n = adjacency.shape[0]
    hops = np.full((n, n_classes), np.inf)
    here, there = np.repeat(np.arange(n), np.diff(adjacency.indptr)), adjacency.indices
    for k in range(n_classes):
        inside = nodes[labels == k]
        if not inside.size:
            continue
        d, _, source = dijkstra(adjacency, unweighted=True, indices=inside, min_only=True, return_predecessors=True)
        hops[:, k] = d
        across = (source[here] != source[there]) & np.isfinite(d[here])
        nearest = np.full(n, np.inf)
        np.minimum.at(nearest, source[here[across]], d[here[across]] + 1.0 + d[there[across]])
        hops[inside, k] = nearest[inside]
    return hops


@kernel
def _visit(indptr: Any, indices: Any, starts: Any, order: Any, level: Any) -> None:
    first, last, component = 0, 0, 0
    for start in starts:
        if level[start] >= 0:
            continue
        level[start] = component * starts.size
        component += 1
        order[last] = start
        last += 1
        while first < last:
            i = order[first]
            first += 1
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                if level[j] < 0:
                    level[j] = level[i] + 1
                    order[last] = j
                    last += 1


@kernel(plain=0)
def _within_hops(
    indptr: Any, indices: Any, radii: Any, values: Any, most: int, counts: Any, means: Any, start: int, stop: int
) -> None:
    """Fill counts[start:stop] and means[start:stop]."""
    one, columns = np.uint64(1), values.shape[1]
    seen = np.full(indptr.size - 1, -1, np.int32)  # the last source that reached the node
    queue = np.empty(indptr.size, np.uint32)
    total = np.empty(columns)
    for source in range(start, stop):
        seen[source], queue[0] = source, source
        first, last, hop, ends = np.uint64(0), one, 0, 0
        for c in range(columns):
            total[c] = values[source, c]
        for r in range(radii.size):
            while hop < radii[r]:
                shell = last
                for at in range(first, shell):
                    ends += indptr[queue[at] + one] - indptr[queue[at]]
                if ends > most or first == shell:  # too much work, or the whole component is found
                    hop = radii[-1]
                    break
                hop += 1
                for at in range(first, shell):
                    i = queue[at]
                    for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + one])):
                        j = np.uint32(indices[k])
                        queue[last] = j  # without a branch, which would be mispredicted: the next one overwrites it
                        last += np.uint64(seen[j] != source)
                        seen[j] = source
                first = shell
                for at in range(first, last):
                    for c in range(columns):
                        total[c] += values[queue[at], c]
            counts[source, r] = last
            for c in range(columns):
                means[source, r, c] = total[c] / last
