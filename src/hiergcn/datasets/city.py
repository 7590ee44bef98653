"""Generated street networks of any size, whose labels depend on nodes up to 16 hops away."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree

from hiergcn.datasets.dataset_info import CITY_DEGREE as DEGREE
from hiergcn.datasets.eccentricity import HOPS, deciles, eccentricity
from hiergcn.errors import InputError
from hiergcn.graph import Graph
from hiergcn.graph.adjacency import symmetric_adjacency

SMALLEST = 10  # nodes; labels are deciles
SPACING = 100.0  # metres between neighbouring points, roughly
PER_DISTRICT = 1000  # points per cluster, on average
CLUSTERED = 0.6  # share of the points that lie in clusters; the others lie anywhere
ORDINARY = 0.95  # share of the edges that may be streets; the others are slivers along the edge of the map
NOISE = 4  # columns


def city_graph(n: int = 50_000, *, degree: float = DEGREE, hops: int = HOPS, seed: int = 0) -> Graph:
    """Generate a connected street network.

    Points lie in clusters, and edges are those of their Delaunay triangulation. The shortest spanning tree is kept, and
    so many of the other edges, drawn at random but for the longest, that the mean degree is `degree`.

    The label of a node is the decile of its largest distance, by length of streets, to any node within `hops` edges.
    Its features are its degree, the logarithms of the mean, longest and shortest length of its edges, and four columns
    of noise. Edges weigh 1. The same arguments give the same graph.
    """
    if not 2 <= degree <= 5:
        raise InputError(f"Degree {degree} is impossible for streets; give 2 to 5.")
    if hops < 1:
        raise InputError("The number of hops must be at least 1.")
    points = city_points(n, seed=seed)
    source, target, length = _streets(points, degree, np.random.default_rng((seed, 1)))
    lengths = symmetric_adjacency(source, target, length, n)
    noise = np.random.default_rng((seed, 2)).standard_normal((n, NOISE))
    features = np.hstack([length_columns(source, target, length, n), noise]).astype(np.float32)
    adjacency = symmetric_adjacency(source, target, None, n)
    return Graph(adjacency, features, deciles(eccentricity(lengths, hops)), name=f"city-{n}")


def city_points(n: int, *, seed: int = 0) -> NDArray[np.float64]:
    """Return (n, 2) positions in metres of the nodes of `city_graph` with the same seed."""
    if n < SMALLEST:
        raise InputError(f"A city of {n} nodes is too small; give at least {SMALLEST}.")
    rng = np.random.default_rng((seed, 0))
    side, districts = SPACING * np.sqrt(n), -(-n // PER_DISTRICT)
    points: NDArray[np.float64] = rng.random((n, 2)) * side
    centres = rng.random((districts, 2)) * side
    clustered = round(n * CLUSTERED)
    spread = side / np.sqrt(districts) / 4
    points[:clustered] = centres[rng.integers(districts, size=clustered)] + spread * rng.standard_normal((clustered, 2))
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
