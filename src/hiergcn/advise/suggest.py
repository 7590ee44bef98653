"""Suggest nodes to label next: spread over the graph and, after a fit, where predictions are uncertain.

Before a fit every node counts the same. After a fit a node counts by the probability that its prediction is wrong,
1 - confidence: parts of the graph that are known weigh nothing, and parts where the methods of the answer disagree
weigh much, since their mean is unsure there.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.advise.sampling import DEPTH, Sample, comparable_features, spread_sample
from hiergcn.coarsen import Hierarchy, coarsen
from hiergcn.errors import InputError
from hiergcn.graph import Graph
from hiergcn.graph.order import canonical_order

FEWEST, MOST = 10, 40
"""Suggestions on the page of a run."""

_LEAST_DOUBT = 1e-3  # of a prediction: no node is ruled out by a model that is sure of everything


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
    nodes, reasons = suggested_nodes(graph, budget, confidence=confidence, hierarchy=hierarchy, seed=seed)
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


def suggested_nodes(
    graph: Graph,
    budget: int,
    *,
    confidence: NDArray[np.floating] | None = None,
    hierarchy: Hierarchy | None = None,
    seed: int = 0,
) -> tuple[NDArray[np.int64], list[str]]:
    """Return the numbers of the nodes that `suggest` names, and the reasons."""
    order = canonical_order(graph.ids)
    if order is not None:  # so that the order of rows has no effect
        sure = None if confidence is None else confidence[order]
        given = hierarchy and hierarchy.reordered(order)
        nodes, reasons = suggested_nodes(graph.reordered(order), budget, confidence=sure, hierarchy=given, seed=seed)
        return order[nodes], reasons
    known = _checked(graph, budget)
    plan: dict[str, Any] = {"seed": seed}
    if graph.has_own_features:  # those made from the edges say nothing new
        plan["features"] = comparable_features(graph)
    hierarchy = hierarchy or coarsen(graph.adjacency, DEPTH)
    if confidence is not None:
        doubt = np.maximum(1.0 - confidence.astype(np.float64), _LEAST_DOUBT)
        sample = spread_sample(hierarchy, np.where(known, 0.0, doubt), budget, **plan)
        return sample.nodes, _reasons(sample, known, confidence)
    sample = spread_sample(hierarchy, np.ones(graph.n_nodes), budget + known.sum(), **plan)
    holds_label = np.zeros(len(sample.nodes) + 1, dtype=np.bool_)  # the last one is for nodes without a cluster
    holds_label[sample.cluster[known]] = True
    unknown = np.flatnonzero(~holds_label[:-1])
    number = np.full(len(holds_label), -1, dtype=np.int64)
    number[unknown] = np.arange(len(unknown))
    sample = Sample(sample.nodes[unknown][:budget], number[sample.cluster])
    return sample.nodes, _reasons(sample, known, confidence)


def _checked(graph: Graph, budget: int) -> NDArray[np.bool_]:
    """Return whether each node has a label; refuse a budget that cannot be met."""
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
    return known


def _reasons(sample: Sample, known: NDArray[np.bool_], confidence: NDArray[np.floating] | None) -> list[str]:
    inside = (sample.cluster >= 0) & ~known
    count = np.bincount(sample.cluster[inside], minlength=len(sample.nodes))[: len(sample.nodes)]
    reasons = [f"stands for {n:,} nodes without a label" if n > 1 else "stands for itself alone" for n in count]
    if confidence is None:
        return reasons
    total = np.bincount(sample.cluster[inside], weights=confidence[inside], minlength=len(sample.nodes))
    return [
        f"{reason}, {'mean ' if n > 1 else ''}confidence {sure / n:.2f}"
        for reason, n, sure in zip(reasons, count, total, strict=False)
    ]
