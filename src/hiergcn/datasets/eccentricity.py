"""Eccentricity within a number of hops, the label of street networks (Liang et al., 2025, arXiv 2503.09008)."""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hiergcn.compiled.csr import rows_of
from hiergcn.compiled.jit import kernel, run_over, thread_count

HOPS = 16


def eccentricity(lengths: sp.csr_array, hops: int = HOPS) -> NDArray[np.float64]:
    """Return each node's largest distance to a node at most `hops` edges away.

    Distances are shortest paths by length in the whole graph, so a path may have more than `hops` edges.

    Args:
        lengths: (n, n) symmetric and canonical; the length of every edge, above 0.
        hops: radius of the neighbourhood, in edges.
    """
    rows = rows_of(lengths)
    found = np.zeros(rows.n)

    def work(start: int, stop: int) -> None:
        _eccentricity(rows.indptr, rows.indices, rows.data, hops, found, start, stop)

    cuts = np.unique(np.linspace(0, rows.n, 4 * thread_count() + 1).astype(np.int64)).tolist()
    run_over(list(pairwise(cuts)), work)
    return found


def deciles(values: NDArray[Any], ties: NDArray[Any] | None = None) -> NDArray[np.int64]:
    """Return the tenth, 0 to 9, that each value falls into. Equal values go by `ties`, then by position."""
    position = np.arange(values.size)
    order = np.lexsort((position, position if ties is None else ties, values))
    labels = np.empty(values.size, np.int64)
    labels[order] = position * 10 // max(values.size, 1)
    return labels


@kernel(plain=0)
def _eccentricity(indptr: Any, indices: Any, lengths: Any, hops: int, found: Any, start: int, stop: int) -> None:
    """Fill found[start:stop]. A search by hops finds the neighbourhood; Dijkstra's runs until all of it is settled."""
    n = indptr.size - 1
    near = np.full(n, -1, np.int64)  # the last source whose neighbourhood held the node
    queue = np.empty(n, np.int32)
    distance = np.full(n, np.inf)
    touched = np.empty(n, np.int32)  # nodes whose distance must be reset
    heap_key = np.empty(indices.size + 2)
    heap_node = np.empty(indices.size + 2, np.int32)
    for source in range(start, stop):
        near[source], queue[0] = source, source
        first, last = 0, 1
        for _ in range(hops):
            shell = last
            while first < shell:
                i = queue[first]
                first += 1
                for k in range(indptr[i], indptr[i + 1]):
                    j = indices[k]
                    if near[j] != source:
                        near[j] = source
                        queue[last] = j
                        last += 1
        left = last
        distance[source], touched[0], heap_key[1], heap_node[1] = 0.0, source, 0.0, source
        n_touched, size = 1, 1
        while left > 0:
            key, i = heap_key[1], heap_node[1]
            moved_key, moved_node = heap_key[size], heap_node[size]
            size -= 1
            at = 1
            while 2 * at <= size:  # sift the last entry down from the root
                child = 2 * at
                if child < size and heap_key[child + 1] < heap_key[child]:
                    child += 1
                if moved_key <= heap_key[child]:
                    break
                heap_key[at], heap_node[at] = heap_key[child], heap_node[child]
                at = child
            heap_key[at], heap_node[at] = moved_key, moved_node
            if key > distance[i]:  # the node was settled by a shorter path
                continue
            if near[i] == source:
                found[source] = key
                left -= 1
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                through = key + lengths[k]
                if through < distance[j]:
                    if distance[j] == np.inf:
                        touched[n_touched] = j
                        n_touched += 1
                    distance[j] = through
                    size += 1
                    at = size
                    while at > 1 and through < heap_key[at // 2]:
                        heap_key[at], heap_node[at] = heap_key[at // 2], heap_node[at // 2]
                        at //= 2
                    heap_key[at], heap_node[at] = through, j
        for k in range(n_touched):
            distance[touched[k]] = np.inf
