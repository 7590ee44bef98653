"""Doubtful labels: find them, describe their surroundings, and leave the most doubtful out."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.advise.doubtful import Doubts, find_doubts
from hiergcn.advise.sampling import comparable_features
from hiergcn.coarsen import Hierarchy
from hiergcn.errors import InputError
from hiergcn.explain.votes import Votes
from hiergcn.graph import Graph, Split

FEWEST_LABELS = 10
"""With fewer labels none is judged."""
COLUMNS = ("id", "label", "probability", "likely", "likely_probability", "neighbours", "hyper_node", "split", "dropped")

_MANY = 4  # a label in so many, beyond which the judges are doubted
_FEWEST_MEMBERS = 5  # of the hyper-node that is asked, beside the node itself
_SHOWN = 3  # classes in a text


def judge_labels(graph: Graph, split: Split) -> Doubts | None:
    """Judge the training and validation labels, each by the others; None if there are too few."""
    nodes = np.union1d(split.train, split.validation)
    if graph.labels is None or len(nodes) < FEWEST_LABELS:
        return None
    return find_doubts(graph.adjacency, comparable_features(graph), nodes, graph.labels[nodes], graph.n_classes)


def without_doubtful(graph: Graph, split: Split, doubts: Doubts | None, count: int) -> Split:
    """Return the split without the `count` most doubtful labels; each class keeps one that trains."""
    if doubts is None or graph.labels is None:
        raise InputError(f"Labels can only be doubted if there are {FEWEST_LABELS} or more; leave out --drop-doubtful.")
    dropped: list[int] = []
    left = np.bincount(graph.labels[split.train])
    trains = np.isin(doubts.nodes, split.train)
    for node, class_, is_training in zip(doubts.nodes, doubts.given, trains, strict=True):
        if len(dropped) == count:
            break
        if not is_training or left[class_] > 1:
            left[class_] -= is_training
            dropped.append(int(node))
    if not len(np.setdiff1d(split.validation, dropped)):
        raise InputError(f"Without the {count} most doubtful labels nothing is left to validate; drop fewer.")
    kept = {part: np.setdiff1d(getattr(split, part), dropped) for part in ("train", "validation")}
    return replace(split, **kept)


def doubtful_labels(
    graph: Graph,
    split: Split,
    doubts: Doubts,
    predicted: NDArray[np.integer],
    hierarchy: Hierarchy | None,
    votes: Votes | None = None,
) -> pd.DataFrame:
    """Return the labels that other labels contradict, most doubtful first, as in `doubtful_labels.csv`.

    A judged node that is neither in train nor in validation was dropped. Votes are those for the given classes.
    """
    against = np.flatnonzero(doubts.likely != doubts.given)
    nodes, given, likely = doubts.nodes[against], doubts.given[against], doubts.likely[against]
    names = np.array(graph.class_names, dtype=object)
    part = np.full(graph.n_nodes, "", dtype=object)
    for name in ("train", "validation"):
        part[getattr(split, name)] = name
    assert graph.labels is not None
    said, used = predicted.astype(np.int64), np.concatenate([split.train, split.validation])
    said[used] = graph.labels[used]  # the given class of training and validation nodes, the predicted one of others
    A, groups = graph.adjacency, _hyper_node_members(hierarchy, nodes)
    around = [A.indices[A.indptr[node] : A.indptr[node + 1]] for node in nodes]
    values: list[Any] = [
        graph.ids[nodes],
        names[given],
        doubts.of_given[against],
        names[likely],
        doubts.probabilities[against, likely],
        [_counted(said, names, beside[beside != node]) for node, beside in zip(nodes, around, strict=True)],
        [_counted(said, names, members[members != node]) for node, members in zip(nodes, groups, strict=True)],
        part[nodes],
        part[nodes] == "",
    ]
    table = pd.DataFrame(dict(zip(COLUMNS, values, strict=True)))
    if votes is None:
        return table
    own = votes.shares.diagonal()
    around = np.asarray(votes.shares.sum(axis=1)).ravel() - own
    return table.assign(neighbour_votes=around[nodes], hyper_node_votes=votes.by_hyper_nodes[nodes])


def caution(doubtful: int, labels: int) -> str:
    """Return a sentence if so many labels look doubtful that the judges may be wrong rather than the labels."""
    if _MANY * doubtful <= labels:
        return ""
    return f" That is {doubtful:,} of {labels:,}: here labels hardly predict each other, so most of them may be right."


def _hyper_node_members(hierarchy: Hierarchy | None, nodes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the members of the smallest hyper-node of each node that has a few others; none without a hierarchy."""
    members: list[NDArray[np.int64]] = [np.empty(0, np.int64)] * len(nodes)
    for level in range(1, 1 + hierarchy.depth) if hierarchy is not None else ():
        assert hierarchy is not None
        waiting = [k for k in range(len(nodes)) if len(members[k]) <= _FEWEST_MEMBERS]
        group = hierarchy.hyper_nodes(level)
        order = np.argsort(group, kind="stable")
        start = np.searchsorted(group[order], np.arange(group.max(initial=-1) + 2))
        for k in waiting:
            hyper_node = group[nodes[k]]
            members[k] = order[start[hyper_node] : start[hyper_node + 1]]
    return members


def _counted(said: NDArray[np.int64], names: NDArray[Any], nodes: NDArray[np.integer]) -> str:
    """Return the classes of some nodes with their numbers, the most frequent first: `physics (4), biology (1)`."""
    classes, counts = np.unique(said[nodes], return_counts=True)
    order = np.argsort(-counts, kind="stable")
    parts = [f"{names[classes[k]]} ({counts[k]:,})" for k in order[:_SHOWN]]
    return ", ".join(parts) + (", .." if len(order) > _SHOWN else "")
