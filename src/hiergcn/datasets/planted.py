"""Generated graphs with nested communities, for tests, benchmarks and demonstrations; up to ten million nodes."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph import Graph
from hiergcn.graph.adjacency import symmetric_adjacency

CHUNK = 1 << 20  # nodes or edges drawn at once; changing it would change the graph of every seed
SMALLEST = 4  # nodes of a block; a level with smaller ones is left out


def planted_graph(
    n: int = 1000,
    *,
    classes: int = 4,
    depth: int = 3,
    branching: int = 4,
    degree: float = 10,
    homophily: float = 0.9,
    decay: float = 0.5,
    features: int = 16,
    noise: float = 2.0,
    seed: int = 0,
) -> Graph:
    """Generate a graph of nested communities: `classes` blocks, each of `branching` blocks, and so on, `depth` levels.

    About n * degree / 2 edges are drawn. A share 1 - `homophily` of them joins any two nodes, the others join nodes of
    one block; each level has `decay` times as many of these as the level below it. So edges become rarer with distance
    in the tree of blocks. An edge drawn twice counts once, so dense blocks have slightly fewer. A block has at least
    4 nodes, so a small graph has fewer levels.

    The label of a node is its top block. Its features are the class's centre, drawn from N(0, I), plus `noise` times
    N(0, I). The same arguments give the same graph. Time and memory are linear in nodes and edges.
    """
    rng = np.random.default_rng(seed)
    adjacency, node_at, _ = _tree(rng, n, classes, depth, branching, degree, homophily, decay, features)
    labels = np.empty(n, np.int64)
    labels[node_at] = _block(np.arange(n), n, classes)
    centres = rng.standard_normal((classes, features), dtype=np.float32)
    X = np.empty((n, features), np.float32)
    for start in range(0, n if features else 0, CHUNK):
        rows = X[start : start + CHUNK]
        rng.standard_normal(out=rows, dtype=np.float32)
        rows *= noise
        rows += centres[labels[start : start + CHUNK]]
    return Graph(adjacency, X if features else None, labels, name=f"planted-{n}")


def planted_numbers(
    n: int = 1000, *, features: int = 8, noise: float = 0.3, degree: float = 10, homophily: float = 0.9, seed: int = 0
) -> Graph:
    """Generate a graph of nested communities with a number for each node.

    The edges are those of `planted_graph` with 4 classes and 3 levels. A number is the sum of three parts: an effect of
    every block that holds the node, a linear function of its features, which are drawn from N(0, I), and `noise` times
    N(0, 1). The first two have variance 1 over the graph. So neither edges nor features explain more than half.
    """
    rng = np.random.default_rng(seed)
    adjacency, node_at, blocks = _tree(rng, n, 4, 3, 4, degree, homophily, 0.5, features)
    X = rng.standard_normal((n, features))
    shared = np.zeros(n)
    for count in blocks[1:]:
        shared[node_at] += rng.standard_normal(count)[_block(np.arange(n), n, count)]
    parts = [shared, X @ rng.standard_normal(features)]
    standardised = [(part - part.mean()) / (part.std() or 1.0) for part in parts]
    values = sum(standardised, start=noise * rng.standard_normal(n))
    return Graph(adjacency, X, name=f"planted-numbers-{n}", targets=values)


def _tree(
    rng: np.random.Generator,
    n: int,
    classes: int,
    depth: int,
    branching: int,
    degree: float,
    homophily: float,
    decay: float,
    features: int,
) -> tuple[sp.csr_array, NDArray[Any], NDArray[np.int64]]:
    """Return the adjacency, the node at each place of the tree from left to right, and the blocks at each level."""
    if min(classes, depth, branching) < 1 or features < 0:
        raise InputError("A planted graph needs classes, depth and branching of at least 1 and features of at least 0.")
    if n < classes:
        raise InputError(f"{n} nodes cannot fill {classes} classes; ask for at least {classes} nodes.")
    if not 0 <= degree < n:
        raise InputError(f"Degree {degree} is impossible with {n} nodes; give 0 to {n - 1}.")
    if not (0 <= homophily <= 1 and 0 <= decay <= 1):
        raise InputError("Homophily and decay must be between 0 and 1.")
    index = np.int32 if n <= np.iinfo(np.int32).max else np.int64
    node_at = rng.permutation(np.arange(n, dtype=index))
    counts = [1, classes]  # blocks at each level, from the whole graph to the leaves
    while len(counts) <= depth and counts[-1] * branching * SMALLEST <= n:
        counts.append(counts[-1] * branching)
    blocks = np.array(counts, dtype=np.int64)
    inside = decay ** np.arange(blocks.size - 2, -1, -1, dtype=np.float64)
    shares = np.concatenate([[1 - homophily], homophily * inside / inside.sum()])  # of the edges, at each level
    m = round(n * degree / 2)
    source, target = np.empty(m, node_at.dtype), np.empty(m, node_at.dtype)
    for start in range(0, m, CHUNK):  # a place, then another in the block that holds it at a level drawn by `shares`
        size = min(CHUNK, m - start)
        here = rng.integers(n, size=size)
        count = blocks[rng.choice(blocks.size, size=size, p=shares)]
        block = _block(here, n, count)
        low, high = _first(block, n, count), _first(block + 1, n, count)
        there = low + (rng.random(size) * (high - low)).astype(np.int64)
        source[start : start + size] = node_at[here]
        target[start : start + size] = node_at[there]
    return symmetric_adjacency(source, target, None, n), node_at, blocks


def _first(block: NDArray[np.int64], n: int, count: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first place of a block if n places are cut into `count` blocks whose sizes differ by at most one."""
    return -(-block * n // count)


def _block(place: NDArray[np.int64], n: int, count: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Return the block that holds a place: the inverse of `_first`."""
    return place * count // n
