"""Structural features: made from the edges alone, for a graph whose nodes have none.

Three columns describe a node's neighbourhood: the logarithm of its degree, the mean of its neighbours' logarithms, and
the clustering coefficient. 64 more describe its position. Every node has 64 random signs, from a hash of its id, and a
lazy random walk averages them over the neighbourhood. This is a random projection of the walk's distribution, so nodes
whose walks meet get similar rows. Since the signs depend on ids, a node keeps its features if the file is reordered,
and nearly keeps them if the graph grows.

The usual choice, one column per node, cannot represent new nodes and makes the first layer as wide as the graph.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from hiergcn.compiled.jit import kernel
from hiergcn.graph.graph import Graph
from hiergcn.graph.tables.feature_columns import Structural

SIGNS = 64  # bits of a hash
STEPS = 32
"""Steps of the walk, half of which stay in place; with fewer, a node's own signs dominate its neighbours'."""
SURROUNDINGS = ("degree", "neighbours' degree", "clustering")
WIDTH = SIGNS + len(SURROUNDINGS)
SCALE = 1 / 16
"""Factor of the logarithms, which gives them the size of one of the 64 columns, whose squares sum to 1."""


def with_structural_features(graph: Graph) -> Graph:
    """Return the graph itself if it has features; else with structural ones, and a note that says so."""
    if graph.features is not None:
        return graph
    note = (
        f"the nodes have no features: {WIDTH} were made from the edges (degree, neighbours' degree, clustering and a "
        f"random projection of a walk)"
    )
    made = Structural("structure", WIDTH, missing=0, constant=False)
    return replace(graph, features=structural_features(graph), notes=(*graph.notes, note), columns=(made,))


def structural_features(graph: Graph) -> NDArray[np.float32]:
    """Return (n, 67) features that depend on the edges and ids alone; the same on every machine up to rounding."""
    hashed = pd.util.hash_array(graph.ids.astype(str).astype(object), categorize=False).astype("<u8")
    bits = np.unpackbits(hashed.view(np.uint8).reshape(-1, SIGNS // 8), axis=1)
    signs = 2 * bits.astype(np.float32) - 1  # (n, 64) of -1 and 1, the bits of a hash of each id as text
    return np.hstack([surroundings(graph.adjacency), lazy_walk(graph.adjacency, signs, STEPS)])


def surroundings(adjacency: sp.csr_array) -> NDArray[np.float32]:
    """Return the `SURROUNDINGS` of each node, (n, 3)."""
    degree = np.diff(adjacency.indptr)
    logarithm = np.log1p(degree)
    ones = sp.csr_array((np.ones(adjacency.nnz), adjacency.indices, adjacency.indptr), shape=adjacency.shape)
    around = (ones @ logarithm) / np.maximum(degree, 1)
    pairs = degree * (degree - 1.0) / 2
    clustering = _triangles(adjacency.indptr, adjacency.indices) / np.maximum(pairs, 1)
    return np.column_stack([SCALE * logarithm, SCALE * around, clustering / 4]).astype(np.float32)


def lazy_walk(
    adjacency: sp.csr_array, values: NDArray[np.float32], steps: int, *, on_the_way: bool = False
) -> NDArray[np.float32]:
    """Average rows of values over each node's surroundings and scale them to length 1, (n, columns).

    A walker stays or moves to a random neighbour, with probability 1/2 each, in each of the steps. The mean is over the
    nodes where the walks end, less the limit of every walk; or over all nodes on the way, as they are.
    """
    degree = np.asarray(adjacency.sum(axis=1), dtype=np.float64).ravel()
    walked = values
    if degree.any() and not on_the_way:  # the limit would be all that is left in a well-mixed graph
        walked = walked - (degree @ walked / degree.sum()).astype(np.float32)
    total = walked
    share = np.divide(0.5, degree, out=np.zeros_like(degree), where=degree > 0).astype(np.float32)
    stay = np.where(degree > 0, 0.5, 1.0).astype(np.float32)
    weights = adjacency.astype(np.float32)
    for _ in range(steps):
        walked = stay[:, None] * walked + share[:, None] * (weights @ walked)
        total = total + walked if on_the_way else walked
    length = np.linalg.norm(total, axis=1, keepdims=True)
    position: NDArray[np.float32] = total / np.maximum(length, np.finfo(np.float32).tiny)
    return position


@kernel(plain=0)
def _triangles(indptr: Any, indices: Any) -> Any:
    """Count the triangles of each node. Self-loops are ignored.

    Every edge is visited from its end of lower degree, so that a hub costs no more than its neighbours do.
    """
    n = indptr.size - 1
    count = np.zeros(n, np.float64)
    seen = np.full(n, -1, np.int64)
    for i in range(n):
        degree = indptr[i + 1] - indptr[i]
        for k in range(indptr[i], indptr[i + 1]):
            seen[indices[k]] = i
        seen[i] = -1
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            other = indptr[j + 1] - indptr[j]
            if j != i and (other < degree or (other == degree and j < i)):
                for m in range(indptr[j], indptr[j + 1]):
                    third = indices[m]
                    last = indptr[third + 1] - indptr[third]
                    # the third must be the lowest of the three by (degree, number), so that each triangle counts once
                    if seen[third] == i and third != j and (last < other or (last == other and third < j)):
                        count[i] += 1
                        count[j] += 1
                        count[third] += 1
    return count
