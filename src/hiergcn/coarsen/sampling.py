"""A sampling plan: a few nodes that stand for all others.

1. Describe. A lazy random walk averages random signs, and features if there are any, over each node's surroundings, so
   that nodes with the same surroundings get similar rows. On a large graph the rows are those of hyper-nodes.
2. Split. From the coarsest level down, a hyper-node that holds too large a share of the weight is split into its parts.
3. Join. A weighted k-means of the groups' mean rows joins them into as many clusters as nodes are wanted.
4. Pick. The node of each cluster that is nearest to its mean stands for it.

The hierarchy keeps k-means small and every component in the plan; k-means finds out which parts of the graph are alike.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hiergcn.coarsen.hierarchy import Hierarchy
from hiergcn.compiled.csr import Int64s
from hiergcn.graph.graph import Features
from hiergcn.graph.structure import lazy_walk

DEPTH = 40
"""Levels to ask for: coarsening ends by itself before that."""
MOST_ROWS = 100_000
"""Nodes above which the hyper-nodes of a level stand for them."""
MOST_CLUSTERS = 1_000
"""Clusters above which step 3 is left out, because k-means would take minutes: the heaviest groups are the clusters."""

_STEPS, _FEWEST_STEPS = 16, 4  # of the walk; half as many on each coarser level, whose nodes reach farther
_WIDTH = 128  # columns of signs, and of projected features; a quarter of them on a coarser level
_FINER = 8  # groups for each cluster, at least
_ROUNDS = 30  # of k-means
_AT_ONCE = 500_000  # rows of features that are projected at once
_CHUNK = 4_096  # rows that are compared with all centres at once

Scaling = Literal["l2", "standard", "none"]
Floats = NDArray[np.float64]
Rows = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Sample:
    """Nodes that stand for clusters of nodes, that of the heaviest cluster first."""

    nodes: Int64s
    """(k,)"""
    cluster: Int64s
    """(n,): the place in `nodes` of the one that stands for each node; -1 for nodes that none stands for."""


def spread_sample(
    hierarchy: Hierarchy,
    weight: Floats,
    budget: int,
    *,
    features: Features | None = None,
    scaling: Scaling = "l2",
    seed: int = 0,
) -> Sample:
    """Return `budget` nodes that are spread over the graph, or all nodes of positive weight if these are fewer.

    Args:
        hierarchy: of the graph, as deep as it goes, see `DEPTH`.
        weight: (n,) how much it matters that a node is stood for; a node of weight 0 is never picked.
        features: (n, f).
        scaling: of the features, before distances are compared: rows of length 1, or standardised columns.
        seed: of signs, projections and the start of k-means.
    """
    rng = np.random.default_rng(seed)
    sizes = hierarchy.sizes().nodes
    level = next((place for place, size in enumerate(sizes) if size <= MOST_ROWS), hierarchy.depth)
    row = hierarchy.hyper_nodes(level)  # (n,): the row that describes a node
    row_weight: Floats = np.bincount(row, weights=weight, minlength=sizes[level]).astype(np.float64)
    described = _described(hierarchy, level, row, features, scaling, rng)
    cluster = _clusters(hierarchy, level, row_weight, described, min(budget, int(np.count_nonzero(weight))), rng)
    return _in_nodes(_picked(cluster, row_weight, described, budget), row, weight, budget, rng)


def _described(
    hierarchy: Hierarchy,
    level: int,
    row: NDArray[np.int32],
    features: Features | None,
    scaling: Scaling,
    rng: np.random.Generator,
) -> Rows:
    """Return the rows that describe the nodes of a level, (n_l, columns)."""
    graph, width = hierarchy.levels[level], _WIDTH if level == 0 else _WIDTH // 4
    steps = max(_STEPS >> level, _FEWEST_STEPS)
    signs = rng.integers(0, 2, (graph.n_nodes, width)).astype(np.float32) * 2 - 1
    described = [lazy_walk(graph.adjacency, signs, steps)]
    if features is not None and features.shape[1]:
        total = _projected(features, scaling, row, graph.n_nodes, width, rng)
        mean = (total / graph.node_weight[:, None]).astype(np.float32)
        described.append(lazy_walk(graph.adjacency, mean, steps))
    return np.hstack(described)


def _projected(
    features: Features, scaling: Scaling, row: NDArray[np.int32], n_rows: int, width: int, rng: np.random.Generator
) -> Rows:
    """Return the sum of the scaled features of each row's nodes, projected at random to `width` columns."""
    n, f = features.shape
    projection = (rng.normal(size=(f, width)) / np.sqrt(width)).astype(features.dtype)
    shift = np.zeros(width, dtype=features.dtype)
    if scaling == "standard":  # (X - mean) / spread, without a copy of X
        mean = np.asarray(features.mean(axis=0)).ravel()
        if isinstance(features, sp.csr_array):
            square = np.asarray(features.power(2).sum(axis=0)).ravel()
        else:
            square = np.einsum("ij,ij->j", features, features)
        spread = np.sqrt(np.maximum(square / n - mean**2, 0.0))
        projection /= np.where(spread > 0, spread, 1.0)[:, None]
        shift = mean @ projection
    total = np.zeros((n_rows, width), dtype=np.float32)
    for start in range(0, n, _AT_ONCE):
        part = features[start : start + _AT_ONCE]
        values = np.asarray(part @ projection) - shift
        if scaling == "l2":
            length = sp.linalg.norm(part, axis=1) if sp.issparse(part) else np.linalg.norm(part, axis=1)
            values /= np.where(length > 0, length, 1.0)[:, None]
        total += _summed(values, row[start : start + _AT_ONCE], n_rows)
    return total


def _clusters(
    hierarchy: Hierarchy, level: int, weight: Floats, described: Rows, budget: int, rng: np.random.Generator
) -> Int64s:
    """Return the cluster of each row, (n_l,); -1 for groups without weight."""
    joins = budget <= MOST_CLUSTERS
    limit = weight.sum() / (budget * (_FINER if joins else 1))
    group = split_groups(hierarchy, level, weight, limit)
    total: Floats = np.bincount(group, weights=weight).astype(np.float64)
    cluster = np.full(len(total), -1, dtype=np.int64)
    heavy = np.flatnonzero(total > 0)
    if joins and len(heavy) > budget:
        mean = _summed(described * weight[:, None], group, len(total))[heavy] / total[heavy, None]
        cluster[heavy] = k_means(mean.astype(np.float32), total[heavy], budget, rng)
    else:
        heaviest = heavy[np.argsort(-total[heavy], kind="stable")][:budget]
        cluster[heaviest] = np.arange(len(heaviest))
    return cluster[group]


def k_means(rows: Rows, weight: Floats, k: int, rng: np.random.Generator) -> Int64s:
    """Return the cluster of each weighted row, (n,), none of the k empty, by Lloyd's iteration from k-means++.

    As in scikit-learn, whose import takes longer than this on a small graph, each next centre is the best of a few
    that are drawn by squared distance, and an empty cluster takes the row that is farthest from its centre.
    """
    squares = np.einsum("ij,ij->i", rows, rows)
    trials = 2 + int(np.log(k))
    distance, chosen = np.ones(len(rows)), list[int]()
    for _ in range(k):
        chance = np.cumsum(weight * distance)
        drawn = np.searchsorted(chance, rng.random(trials) * chance[-1]).clip(max=len(rows) - 1)
        there = np.maximum(squares[:, None] + squares[drawn] - 2 * (rows @ rows[drawn].T), 0.0)
        there = np.minimum(there, distance[:, None]) if chosen else there
        best = int((weight @ there).argmin())
        chosen.append(int(drawn[best]))
        distance = there[:, best].astype(np.float64)
    centres, cluster = rows[chosen], np.full(len(rows), -1)
    for _ in range(_ROUNDS):
        before = cluster
        cluster, distance = _nearest(rows, squares, centres)
        for empty in np.setdiff1d(np.arange(k), cluster):
            alone = np.bincount(cluster, minlength=k)[cluster] == 1
            farthest = int(np.where(alone, -1.0, weight * distance).argmax())
            cluster[farthest], distance[farthest] = empty, 0.0
        if np.array_equal(cluster, before):
            break
        mass = np.bincount(cluster, weights=weight, minlength=k)
        centres = (_summed(rows * weight[:, None], cluster, k) / mass[:, None]).astype(np.float32)
    return cluster


def _nearest(rows: Rows, squares: Rows, centres: Rows) -> tuple[Int64s, Floats]:
    """Return the nearest centre of each row, and its squared distance."""
    cluster, distance = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
    for start in range(0, len(rows), _CHUNK):
        part = slice(start, start + _CHUNK)
        there = np.einsum("ij,ij->i", centres, centres) - 2 * (rows[part] @ centres.T)
        cluster[part] = there.argmin(axis=1)
        distance[part] = np.maximum(there.min(axis=1) + squares[part], 0.0)
    return cluster, distance


def split_groups(hierarchy: Hierarchy, level: int, weight: Floats, limit: float) -> Int64s:
    """Return the group of each node of a level, (n_l,): hyper-nodes, as coarse as hold no more weight than `limit`."""
    levels: list[NDArray[np.integer]] = [np.arange(len(weight))]
    for finer in hierarchy.levels[level:-1]:
        levels.append(finer.grouping()[levels[-1]])
    group, count = np.full(len(weight), -1, dtype=np.int64), 0
    for place, hyper_node in reversed(list(enumerate(levels))):
        fits = group < 0
        if place:
            fits &= np.bincount(hyper_node, weights=weight)[hyper_node] <= limit
        found, number = np.unique(hyper_node[fits], return_inverse=True)
        group[fits] = count + number
        count += len(found)
    return group


def _picked(cluster: Int64s, weight: Floats, described: Rows, budget: int) -> Sample:
    """Return the row of each cluster that has weight and is nearest to the cluster's mean, heaviest cluster first."""
    inside = np.flatnonzero((cluster >= 0) & (weight > 0))
    own = cluster[inside]
    count = int(cluster.max(initial=-1)) + 1
    total = np.bincount(own, weights=weight[inside], minlength=count)
    mean = _summed(described[inside] * weight[inside, None], own, count) / np.maximum(total, 1e-300)[:, None]
    distance = np.square(described[inside] - mean[own]).sum(axis=1)
    order = np.lexsort((distance, own))
    first = order[np.unique(own[order], return_index=True)[1]]  # of each cluster that has a row
    present = own[first]
    ranked = np.argsort(-total[present], kind="stable")[:budget]
    place = np.full(count + 1, -1, dtype=np.int64)  # the last one is for rows without a cluster
    place[present[ranked]] = np.arange(len(ranked))
    return Sample(inside[first[ranked]], place[cluster])


def _in_nodes(found: Sample, row: NDArray[np.int32], weight: Floats, budget: int, rng: np.random.Generator) -> Sample:
    """Return a random node of each picked row, and the heaviest other nodes, each for itself, if rows are too few.

    Rows that are alike leave clusters empty.
    """
    order = rng.permutation(np.flatnonzero(weight > 0))
    one_of = np.empty(int(row.max(initial=-1)) + 1, dtype=np.int64)
    one_of[row[order]] = order
    chosen, cluster = one_of[found.nodes], found.cluster[row]
    if len(chosen) < min(budget, len(order)):
        others = rng.permutation(np.setdiff1d(order, chosen))
        more = others[np.argsort(-weight[others], kind="stable")][: budget - len(chosen)]
        cluster[more] = len(chosen) + np.arange(len(more))
        chosen = np.concatenate([chosen, more])
    return Sample(chosen, cluster)


def _summed(values: NDArray[np.floating], group: NDArray[np.integer], n_groups: int) -> Rows:
    """Return the sum of the rows of each group, (n_groups, columns)."""
    n = len(group)
    member = sp.csr_array((np.ones(n, dtype=np.float32), (group, np.arange(n))), shape=(n_groups, n))
    return np.asarray(member @ values.astype(np.float32, copy=False))
