"""Generated street networks of any size, whose labels depend on nodes up to 16 hops away.

A label is the decile of the eccentricity within a number of hops (Liang et al., 2025, arXiv 2503.09008).
"""

from heapq import heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree

from hiergcn import Graph, InputError
from hiergcn.compiled import kernel, rows_of, run_over, thread_count
from hiergcn.graph import symmetric_adjacency
from hiergcn_experiments.graphs import CITY_OPTIONS

DEGREE, IN_CLUSTERS = CITY_OPTIONS[""]
HOPS = 16
SMALLEST = 10  # nodes; labels are deciles
SPACING = 100.0  # metres between neighbouring points, roughly
PER_DISTRICT = 1000  # points per cluster, on average
ORDINARY = 0.95  # share of the edges that may be streets; the others are slivers along the edge of the map
NOISE = 4  # columns


def city_graph(
    n: int = 50_000, *, degree: float = DEGREE, clustered: float = IN_CLUSTERS, hops: int = HOPS, seed: int = 0
) -> Graph:
    """Generate a connected street network.

    A share `clustered` of the points lies in clusters, the others anywhere, and edges are those of their Delaunay
    triangulation. The shortest spanning tree is kept, and so many of the other edges, drawn at random but for the
    longest, that the mean degree is `degree`.

    The label of a node is the decile of its largest distance, by length of streets, to any node within `hops` edges.
    Its features are its degree, the logarithms of the mean, longest and shortest length of its edges, and four columns
    of noise. Edges weigh 1. The same arguments give the same graph.
    """
    if not 2 <= degree <= 5:
        raise InputError(f"Degree {degree} is impossible for streets; give 2 to 5.")
    if hops < 1:
        raise InputError("The number of hops must be at least 1.")
    points = city_points(n, clustered=clustered, seed=seed)
    source, target, length = _streets(points, degree, np.random.default_rng((seed, 1)))
    lengths = symmetric_adjacency(source, target, length, n)
    noise = np.random.default_rng((seed, 2)).standard_normal((n, NOISE))
    features = np.hstack([length_columns(source, target, length, n), noise]).astype(np.float32)
    adjacency = symmetric_adjacency(source, target, None, n)
    return Graph(adjacency, features, deciles(eccentricity(lengths, hops)), name=f"city-{n}")


def city_points(n: int, *, clustered: float = IN_CLUSTERS, seed: int = 0) -> NDArray[np.float64]:
    """Return (n, 2) positions in metres of the nodes of `city_graph` with the same arguments."""
    if n < SMALLEST:
        raise InputError(f"A city of {n} nodes is too small; give at least {SMALLEST}.")
    if not 0 <= clustered <= 1:
        raise InputError(f"A share of {clustered} of the points in clusters is impossible; give 0 to 1.")
    rng = np.random.default_rng((seed, 0))
    side, districts = SPACING * np.sqrt(n), -(-n // PER_DISTRICT)
    points: NDArray[np.float64] = rng.random((n, 2)) * side
    centres = rng.random((districts, 2)) * side
    inside = round(n * clustered)
    spread = side / np.sqrt(districts) / 4
    points[:inside] = centres[rng.integers(districts, size=inside)] + spread * rng.standard_normal((inside, 2))
    return rng.permutation(points)


def length_columns(
    source: NDArray[np.integer], target: NDArray[np.integer], length: NDArray[np.floating], n: int
) -> NDArray[np.float64]:
    """Return (n, 4): degree, and the logarithms of mean, longest and shortest length of a node's edges.

    Every node has an edge.
    """
    node, metres = np.concatenate([source, target]), np.tile(length, 2).astype(np.float64)
    degree = np.bincount(node, minlength=n)
    longest, shortest = np.zeros(n), np.full(n, np.inf)
    np.maximum.at(longest, node, metres)
    np.minimum.at(shortest, node, metres)
    mean = np.bincount(node, metres, n) / degree
    return np.column_stack([degree, *np.log1p([mean, longest, shortest])])


def _streets(
    points: NDArray[np.float64], degree: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the two ends and the length of each edge, in ascending order of the ends."""
    n = len(points)
    from scipy.spatial import Delaunay  # takes a while to import, and few need it

    corners = np.sort(Delaunay(points).simplices.astype(np.int64), axis=1)
    sides = np.concatenate([corners[:, [0, 1]], corners[:, [0, 2]], corners[:, [1, 2]]])
    low, high = np.divmod(np.unique(sides[:, 0] * n + sides[:, 1]), n)
    length = np.maximum(np.linalg.norm(points[low] - points[high], axis=1), 1e-3)
    tree = minimum_spanning_tree(sp.csr_array((length, (low, high)), shape=(n, n))).tocoo()
    kept = np.isin(low * n + high, tree.row.astype(np.int64) * n + tree.col)
    others = np.flatnonzero(~kept & (length <= np.quantile(length, ORDINARY)))
    more = min(max(round(n * degree / 2) - (n - 1), 0), others.size)
    kept[rng.choice(others, more, replace=False)] = True
    return low[kept], high[kept], length[kept]


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
        distance[source], touched[0], n_touched = 0.0, source, 1
        heap = [(0.0, np.int64(source))]
        while left > 0:
            key, i = heappop(heap)
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
                    heappush(heap, (through, np.int64(j)))
        for k in range(n_touched):
            distance[touched[k]] = np.inf
