"""Suggest nodes to label next: a few that stand for all others and, after a fit, where predictions are uncertain.

Before a fit every node counts the same. After a fit a node counts by the probability that its prediction is wrong,
1 - confidence: parts of the graph that are known weigh nothing, and parts where the methods of the answer disagree
weigh much, since their mean is unsure there. The nodes are chosen in four steps:

1. Describe. A lazy random walk averages random signs, and features if there are any, over each node's surroundings, so
   that nodes with the same surroundings get similar rows. The signs tell places apart, the features what is there.
   Features that vary in r directions can tell a few times r clusters apart; if more are wanted, places count more. On a
   large graph the rows are those of hyper-nodes.
2. Split. From the coarsest level down, a hyper-node that holds too large a share of the weight is split into its parts;
   on a small graph, into single nodes.
3. Join. A weighted k-means of the groups' mean rows joins them into as many clusters as nodes are wanted.
4. Pick. The node of each cluster that is nearest to its mean stands for it.

The hierarchy keeps k-means small; k-means finds out which parts of the graph are alike.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from hiergcn.coarsening import Hierarchy, coarsen
from hiergcn.compiled.csr import Int64s
from hiergcn.errors import InputError
from hiergcn.graph import Graph
from hiergcn.graph.graph import Features
from hiergcn.graph.order import canonical_order
from hiergcn.graph.profile import scaling_for
from hiergcn.graph.structure import lazy_walk
from hiergcn.model.inputs import scaled

FEWEST, MOST = 10, 40
"""Suggestions on the page of a run."""

_LEAST_DOUBT = 1e-3  # of a prediction: no node is ruled out by a model that is sure of everything
DEPTH = 40
"""Levels to ask for: coarsening ends by itself before that."""
MOST_ROWS = 100_000
"""Nodes above which the hyper-nodes of a level stand for them."""
MOST_CLUSTERS = 1_000
"""Clusters above which step 3 is left out, because k-means would take minutes: the heaviest groups are the clusters."""

_STEPS, _FEWEST_STEPS = 16, 4  # of the walk; half as many on each coarser level, whose nodes reach farther
_SIGNS, _DIRECTIONS = 128, 256  # columns of signs and of features; a quarter and an eighth of them on a coarser level
_SAMPLED = 20_000  # rows of features by which their leading directions are found
_POWERS = 2  # of the search for them
_PER_DIRECTION = 6.0  # clusters that one direction of the features can tell apart
_MOST = 0.8  # share of the features in squared distances
_GROUPS, _FINER = 10_000, 8  # groups, and groups for each cluster, at least
_ROUNDS = 30  # of k-means
_AT_ONCE = 500_000  # rows of features that are projected at once
_CHUNK = 4_096  # rows that are compared with all centres at once

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]


class Sample(NamedTuple):
    """Nodes that stand for clusters of nodes, that of the heaviest cluster first."""

    nodes: Int64s
    """(k,)"""
    cluster: Int64s
    """(n,): the index in `nodes` of the one that stands for each node; -1 for nodes that none stands for."""


def suggest(
    graph: Graph,
    budget: int,
    *,
    confidence: NDArray[np.floating] | None = None,
    hierarchy: Hierarchy | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Return nodes that are worth a label, the most useful first: `id`, `reason` and an empty `label` to fill in.

    Args:
        graph: nodes that have a label are not suggested.
        budget: number of nodes.
        confidence: of each node's prediction, (n,), if a model was fitted.
        hierarchy: of the graph, as deep as coarsening goes; made if None.
        seed: of the random draws.
    """
    order = canonical_order(graph.ids)
    if order is not None:  # so that the order of rows has no effect
        sure = None if confidence is None else confidence[order]
        given = hierarchy and hierarchy.reordered(order)
        return suggest(graph.reordered(order), budget, confidence=sure, hierarchy=given, seed=seed)
    if not isinstance(budget, int | np.integer):
        raise InputError(f"The budget is {budget!r:.40}; give a whole number of nodes.")
    if budget < 1:
        raise InputError(f"The budget is {budget}; ask for at least 1 node.")
    known = np.zeros(graph.n_nodes, dtype=np.bool_)
    known[graph.labelled] = True
    left = graph.n_nodes - int(known.sum())
    if not left:
        raise InputError("Every node has a label already; there is nothing to suggest.")
    if budget > left:
        raise InputError(f"The budget is {budget:,}, but only {left:,} nodes have no label; ask for at most that many.")
    # features that are made from the edges say nothing new
    plan: dict[str, Any] = {"seed": seed, "features": comparable_features(graph) if graph.has_own_features else None}
    hierarchy = hierarchy or coarsen(graph.adjacency, DEPTH)
    if confidence is not None:
        doubt = np.maximum(1.0 - confidence.astype(np.float64), _LEAST_DOUBT)
        nodes, cluster = spread_sample(hierarchy, np.where(known, 0.0, doubt), budget, **plan)
    else:  # clusters that hold a label need no other
        nodes, cluster = spread_sample(hierarchy, np.ones(graph.n_nodes), budget + known.sum(), **plan)
        unknown = np.setdiff1d(np.arange(len(nodes)), cluster[known])
        number = np.full(len(nodes) + 1, -1, dtype=np.int64)  # the last one is for nodes without a cluster
        number[unknown] = np.arange(len(unknown))
        nodes, cluster = nodes[unknown][:budget], number[cluster]
    inside = (cluster >= 0) & ~known
    count = np.bincount(cluster[inside], minlength=len(nodes))[: len(nodes)]
    reasons = [f"stands for {n:,} nodes without a label" if n > 1 else "stands for itself alone" for n in count]
    if confidence is not None:
        total = np.bincount(cluster[inside], weights=confidence[inside], minlength=len(nodes))
        means = [f"{'mean ' if n > 1 else ''}confidence {part / n:.2f}" for n, part in zip(count, total, strict=True)]
        reasons = [f"{reason}, {part}" for reason, part in zip(reasons, means, strict=True)]
    return pd.DataFrame({"id": graph.ids[nodes], "reason": reasons, "label": ""})


def page_suggestions(
    graph: Graph, confidence: NDArray[np.floating], hierarchy: Hierarchy | None = None
) -> pd.DataFrame | None:
    """Return a few suggestions for the page of a run, two per class; None if every node has a label."""
    left = graph.n_nodes - len(graph.labelled)
    if not left:
        return None
    budget = min(max(2 * graph.n_classes, FEWEST), MOST, left)
    return suggest(graph, budget, confidence=confidence, hierarchy=hierarchy)


def spread_sample(
    hierarchy: Hierarchy, weight: Floats, budget: int, *, features: Features | None = None, seed: int = 0
) -> Sample:
    """Return `budget` nodes that are spread over the graph, or all nodes of positive weight if these are fewer.

    Args:
        hierarchy: of the graph, as deep as it goes, see `DEPTH`.
        weight: (n,) how much it matters that a node is stood for; a node of weight 0 is never picked.
        features: (n, f), scaled so that distances can be compared.
        seed: of signs, projections and the start of k-means.
    """
    rng = np.random.default_rng(seed)
    sizes = hierarchy.sizes().nodes
    level = next((number for number, size in enumerate(sizes) if size <= MOST_ROWS), hierarchy.depth)
    row = hierarchy.hyper_nodes(level)  # (n,): the row that describes a node
    row_weight: Floats = np.bincount(row, weights=weight, minlength=sizes[level]).astype(np.float64)
    described = _described(hierarchy, level, row, features, budget, rng)
    clusters = min(budget, int(np.count_nonzero(weight)))
    joins = clusters <= MOST_CLUSTERS
    limit = row_weight.sum() / (max(clusters * _FINER, _GROUPS) if joins else clusters)
    group = split_groups(hierarchy, level, row_weight, limit)
    total: Floats = np.bincount(group, weights=row_weight).astype(np.float64)
    heavy = np.flatnonzero(total > 0)
    cluster_of = np.full(len(total), -1, dtype=np.int64)  # of each group; -1 for those without weight
    if joins and len(heavy) > clusters:
        mean = _summed(described * row_weight[:, None], group, len(total))[heavy] / total[heavy, None]
        cluster_of[heavy] = k_means(mean.astype(np.float32), total[heavy], clusters, rng)
    else:
        heaviest = heavy[np.argsort(-total[heavy], kind="stable")][:clusters]
        cluster_of[heaviest] = np.arange(len(heaviest))
    picked, cluster_of_row = _picked(cluster_of[group], row_weight, described, budget)
    # a random node of each picked row; rows that are alike leave clusters empty: then the heaviest others as well
    order = rng.permutation(np.flatnonzero(weight > 0))
    member = np.empty(int(row.max(initial=-1)) + 1, dtype=np.int64)
    member[row[order]] = order
    nodes, cluster = member[picked], cluster_of_row[row]
    if len(nodes) < min(budget, len(order)):
        others = rng.permutation(np.setdiff1d(order, nodes))
        more = others[np.argsort(-weight[others], kind="stable")][: budget - len(nodes)]
        cluster[more] = len(nodes) + np.arange(len(more))
        nodes = np.concatenate([nodes, more])
    return Sample(nodes, cluster)


def _described(
    hierarchy: Hierarchy,
    level: int,
    row: NDArray[np.int32],
    features: Features | None,
    budget: int,
    rng: np.random.Generator,
) -> Rows:
    """Return the rows that describe the nodes of a level, (n_l, columns)."""
    graph, coarse = hierarchy.levels[level], level > 0
    steps = max(_STEPS >> level, _FEWEST_STEPS)
    signs = rng.integers(0, 2, (graph.n_nodes, _SIGNS // 4 if coarse else _SIGNS)).astype(np.float32) * 2 - 1
    places = lazy_walk(graph.adjacency, signs, steps)
    if features is None or not features.shape[1]:
        return places
    n, width = features.shape[0], _DIRECTIONS // 8 if coarse else _DIRECTIONS
    directions: Any = None  # those in which the features vary most, if they have many columns
    if features.shape[1] > width:
        directions = leading_directions(features[np.sort(rng.permutation(n)[:_SAMPLED])], width)
    total = np.zeros((graph.n_nodes, min(features.shape[1], width)), dtype=np.float32)
    for start in range(0, n, _AT_ONCE):
        part = features[start : start + _AT_ONCE]
        values = part if directions is None else part @ directions
        total += _summed(values, row[start : start + _AT_ONCE], graph.n_nodes)
    mean = (total / graph.node_weight[:, None]).astype(np.float32)
    content = lazy_walk(graph.adjacency, mean, steps, on_the_way=True)
    told_apart = _PER_DIRECTION * effective_rank(content)
    share = _MOST * told_apart**2 / (told_apart**2 + budget**2)
    return np.hstack([np.sqrt(1 - share) * places, np.sqrt(share) * content]).astype(np.float32)


def comparable_features(graph: Graph) -> Features | None:
    """Return the features, scaled as suits them, so that distances between rows can be compared."""
    X, scaling = graph.features, scaling_for(graph)[0]
    if X is None or scaling != "standard":
        return None if X is None else scaled(X, scaling)  # type: ignore[arg-type]
    if isinstance(X, sp.csr_array):  # divided alone: subtracting the mean would fill it
        variance = X.power(2).mean(axis=0) - np.square(X.mean(axis=0))
        return sp.csr_array(X @ sp.diags_array(1.0 / _deviation(variance)))
    standardised: Features = (X - X.mean(axis=0)) / _deviation(X.var(axis=0))
    return standardised


def _deviation(variance: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the standard deviation of each column; 1 for a constant one."""
    return np.where(variance > 0, np.sqrt(np.maximum(variance, 0.0)), 1.0)


def effective_rank(rows: Rows) -> float:
    """Return in how many directions the rows vary, (Σλ)² / Σλ² for the eigenvalues λ of their covariance."""
    centred = rows - rows.mean(axis=0)
    covariance = centred.T.astype(np.float64) @ centred
    square = float(np.square(covariance).sum())
    return float(np.trace(covariance)) ** 2 / square if square > 0 else 0.0


def leading_directions(X: Features, k: int) -> Rows:
    """Return about the k leading right singular vectors of X, or a basis of their span, (f, k).

    By randomised subspace iteration (Halko et al., SIAM Review 2011).
    """
    V = np.random.default_rng(0).standard_normal((X.shape[1], k), dtype=np.float32)
    for _ in range(_POWERS):
        V = np.linalg.qr(X.T @ (X @ V))[0]
    return V


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
        before, cluster = cluster, np.empty(len(rows), dtype=np.int64)
        for start in range(0, len(rows), _CHUNK):
            part = slice(start, start + _CHUNK)
            there = np.einsum("ij,ij->i", centres, centres) - 2 * (rows[part] @ centres.T)
            cluster[part], distance[part] = there.argmin(axis=1), np.maximum(there.min(axis=1) + squares[part], 0.0)
        for empty in np.setdiff1d(np.arange(k), cluster):
            alone = np.bincount(cluster, minlength=k)[cluster] == 1
            farthest = int(np.where(alone, -1.0, weight * distance).argmax())
            cluster[farthest], distance[farthest] = empty, 0.0
        if np.array_equal(cluster, before):
            break
        mass = np.bincount(cluster, weights=weight, minlength=k)
        centres = (_summed(rows * weight[:, None], cluster, k) / mass[:, None]).astype(np.float32)
    return cluster


def split_groups(hierarchy: Hierarchy, level: int, weight: Floats, limit: float) -> Int64s:
    """Return the group of each node of a level, (n_l,): hyper-nodes, as coarse as hold no more weight than `limit`."""
    levels: list[NDArray[np.integer]] = [np.arange(len(weight))]
    for finer in hierarchy.levels[level:-1]:
        levels.append(finer.grouping()[levels[-1]])
    group, count = np.full(len(weight), -1, dtype=np.int64), 0
    for coarser, hyper_node in reversed(list(enumerate(levels))):
        fits = group < 0
        if coarser:
            fits &= np.bincount(hyper_node, weights=weight)[hyper_node] <= limit
        members, number = np.unique(hyper_node[fits], return_inverse=True)
        group[fits] = count + number
        count += len(members)
    return group


def _picked(cluster: Int64s, weight: Floats, described: Rows, budget: int) -> tuple[Int64s, Int64s]:
    """Return the row of each cluster that has weight and is nearest to the cluster's mean, heaviest cluster first.

    The second array holds the index in the first one of each row, or -1.
    """
    inside = np.flatnonzero((cluster >= 0) & (weight > 0))
    cluster_of = cluster[inside]
    count = int(cluster.max(initial=-1)) + 1
    total = np.bincount(cluster_of, weights=weight[inside], minlength=count)
    mean = _summed(described[inside] * weight[inside, None], cluster_of, count) / np.maximum(total, 1e-300)[:, None]
    distance = np.square(described[inside] - mean[cluster_of]).sum(axis=1)
    order = np.lexsort((distance, cluster_of))
    first = order[np.unique(cluster_of[order], return_index=True)[1]]  # of each cluster that has a row
    present = cluster_of[first]
    ranked = np.argsort(-total[present], kind="stable")[:budget]
    index = np.full(count + 1, -1, dtype=np.int64)  # the last one is for rows without a cluster
    index[present[ranked]] = np.arange(len(ranked))
    return inside[first[ranked]], index[cluster]


def _summed(values: Any, group: NDArray[np.integer], n_groups: int) -> Rows:
    """Return the sum of the rows of each group, (n_groups, columns)."""
    n = len(group)
    member = sp.csr_array((np.ones(n, dtype=np.float32), (group, np.arange(n))), shape=(n_groups, n))
    total: Any = member @ values.astype(np.float32, copy=False)
    dense: Rows = total.toarray() if sp.issparse(values) else total
    return dense
