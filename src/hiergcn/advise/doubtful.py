"""Labels to doubt: labelled nodes whose class the labels of other nodes speak against.

The labelled nodes are cut into folds. Quick models learn from the labels of all folds but one and judge that one. Two
use features averaged over each node's surroundings: a logistic regression, and the similarity to the mean of each
class, which a few wrong labels hardly move. The third, label propagation, uses labels and edges alone. Their mean,
weighted by how well features and edges predict held-out labels, gives a probability of the given class that the label
itself had no part in. Labels are ranked by it, as confident learning does (Northcutt et al., JAIR 2021).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import softmax

from hiergcn.advise.suggest import comparable_features, leading_directions
from hiergcn.coarsening import Hierarchy
from hiergcn.errors import InputError
from hiergcn.evaluate.calibration import combination_weights
from hiergcn.explanation.votes import Votes
from hiergcn.graph import Graph, Split
from hiergcn.graph.graph import Features
from hiergcn.graph.split import stratified_folds
from hiergcn.model.ops.sparse import normalised_adjacency, symmetrically_normalised

FEWEST = 3
"""Labels of a class below which its labels are not judged: the other folds may hold none of them."""
MOST_NODES = 200_000
"""Nodes of a graph above which labels are judged only on request."""

_STEPS = 8  # of averaging
_ALPHA, _FLOOR = 0.9, 1e-9  # of label propagation
_SPREADS, _PRODUCTS = (10, 50), 5e9  # fewest and most of its steps; products that all of them may take
_COLUMNS = 256  # most columns; further ones are reduced to principal components
_MOST_VALUES = 100_000_000  # nodes times columns
_MOST_ROWS = 20_000  # labels that features are compared with
_FOLDS = 10
_PENALTY, _DESCENT_STEPS = 0.5, 60  # of the regression
_SHARPNESS = 5.0  # of the similarity to the class means
FEWEST_LABELS = 10
"""With fewer labels none is judged."""

_FEWEST_MEMBERS = 5  # of the hyper-node that is asked, beside the node itself
_SHOWN = 3  # classes in a text

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Doubts:
    """Class probabilities of each labelled node, judged by the labels of other nodes; most doubtful first."""

    nodes: NDArray[np.int64]
    """(m,) nodes whose label can be judged."""
    given: NDArray[np.int64]
    """(m,) their classes."""
    probabilities: Floats
    """(m, classes), from the labels of other folds alone."""

    @property
    def of_given(self) -> Floats:
        """The probability of the given class, (m,), ascending."""
        return self.probabilities[np.arange(len(self.given)), self.given]

    def in_place_of(self, predicted: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the given class of judged nodes, and the predicted one of all others, (n,)."""
        classes = predicted.astype(np.int64)
        classes[self.nodes] = self.given
        return classes

    @property
    def likely(self) -> NDArray[np.int64]:
        classes: NDArray[np.int64] = self.probabilities.argmax(axis=1)
        return classes


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
    nodes, likely = doubts.nodes[against], doubts.likely[against]
    names, part = np.array(graph.class_names, dtype=object), np.full(graph.n_nodes, "", dtype=object)
    classes = predicted.astype(
        np.int64
    )  # the given class of training and validation nodes, the predicted one of others
    for name, members in (("train", split.train), ("validation", split.validation)):
        part[members], classes[members] = name, graph.truth[members]
    A, groups = graph.adjacency, _hyper_node_members(hierarchy, nodes)
    neighbours = [A.indices[A.indptr[node] : A.indptr[node + 1]] for node in nodes]
    columns: dict[str, Any] = {
        "id": graph.ids[nodes],
        "label": names[doubts.given[against]],
        "probability": doubts.of_given[against],
        "likely": names[likely],
        "likely_probability": doubts.probabilities[against, likely],
        "neighbours": [_counted(classes[n[n != node]], names) for node, n in zip(nodes, neighbours, strict=True)],
        "hyper_node": [_counted(classes[n[n != node]], names) for node, n in zip(nodes, groups, strict=True)],
        "split": part[nodes],
        "dropped": part[nodes] == "",
    }
    if votes is not None:
        by_neighbours = np.asarray(votes.shares.sum(axis=1)).ravel() - votes.shares.diagonal()
        columns |= {"neighbour_votes": by_neighbours[nodes], "hyper_node_votes": votes.by_hyper_nodes[nodes]}
    return pd.DataFrame(columns)


def _hyper_node_members(hierarchy: Hierarchy | None, nodes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the members of the smallest hyper-node of each node that has a few others; none without a hierarchy."""
    members: list[NDArray[np.int64]] = [np.empty(0, np.int64)] * len(nodes)
    if hierarchy is None:
        return members
    for group in map(hierarchy.hyper_nodes, range(1, 1 + hierarchy.depth)):
        order = np.argsort(group, kind="stable")
        start = np.searchsorted(group[order], np.arange(group.max(initial=-1) + 2))
        for k, hyper_node in enumerate(group[nodes]):
            if len(members[k]) <= _FEWEST_MEMBERS:
                members[k] = order[start[hyper_node] : start[hyper_node + 1]]
    return members


def _counted(classes: NDArray[np.int64], names: NDArray[Any]) -> str:
    """Return the classes of some nodes with their numbers, the most frequent first: `physics (4), biology (1)`."""
    counts = np.bincount(classes)
    order = [k for k in np.argsort(-counts, kind="stable") if counts[k]]
    return ", ".join(f"{names[k]} ({counts[k]:,})" for k in order[:_SHOWN]) + (", .." if len(order) > _SHOWN else "")


def find_doubts(
    adjacency: sp.csr_array,
    features: Features | None,
    nodes: NDArray[np.int64],
    labels: NDArray[np.int64],
    n_classes: int,
) -> Doubts:
    """Judge the labels of some nodes by those of the others.

    Args:
        features: (n, f), scaled; None uses labels and edges alone.
        nodes: with a label, (m,).
        labels: their classes, (m,).
    """
    fold = stratified_folds(labels, _FOLDS)
    judged = [judged_by_edges(adjacency, nodes, labels, n_classes, fold)]
    if features is not None:
        rows = averaged(adjacency, features)
        judged.append(_by_features(_unit_rows((rows - rows.mean(axis=0))[nodes]), labels, n_classes, fold))
    weights = combination_weights(judged, labels)
    mean = np.asarray(sum(weight * part for weight, part in zip(weights, judged, strict=True)))
    frequent = np.flatnonzero(np.bincount(labels, minlength=n_classes)[labels] >= FEWEST)
    order = frequent[np.argsort(mean[frequent, labels[frequent]], kind="stable")]
    return Doubts(nodes[order], labels[order], mean[order])


def averaged(adjacency: sp.csr_array, features: Features) -> NDArray[np.float32]:
    """Return the mean of the features after 0 to 8 steps over the edges, (n, columns), with rows of length 1."""
    columns = min(_COLUMNS, max(_MOST_VALUES // features.shape[0], 1))
    if features.shape[1] > columns:
        values = features @ leading_directions(features.astype(np.float32), columns)
    else:
        values = features.toarray() if isinstance(features, sp.csr_array) else features
    A, total = normalised_adjacency(adjacency).astype(np.float32), values.astype(np.float32)
    stepped = total
    for _ in range(_STEPS):
        stepped = A @ stepped
        total = total + stepped
    return _unit_rows(total)


def _unit_rows(X: NDArray[np.float32]) -> NDArray[np.float32]:
    length = np.linalg.norm(X, axis=1, keepdims=True)
    length[length == 0] = 1.0
    rows: NDArray[np.float32] = X / length
    return rows


def judged_by_edges(
    adjacency: sp.csr_array,
    nodes: NDArray[np.int64],
    labels: NDArray[np.int64],
    n_classes: int,
    fold: NDArray[np.int64],
) -> Floats:
    """Return the class shares that label propagation gives to each fold, (m, classes)."""
    n, A = adjacency.shape[0], symmetrically_normalised(adjacency).astype(np.float32)
    side_by_side = max(1, _MOST_VALUES // (n * n_classes))
    steps = int(np.clip(_PRODUCTS / max(A.nnz * n_classes * (fold.max() + 1), 1), *_SPREADS))
    shares = np.full((len(labels), n_classes), _FLOOR)
    for first in range(0, int(fold.max()) + 1, side_by_side):
        held_out = np.arange(first, min(first + side_by_side, int(fold.max()) + 1))
        known = np.zeros((len(labels), len(held_out), n_classes), dtype=np.float32)
        known[np.arange(len(labels)), :, labels] = fold[:, None] != held_out  # a fold does not see its own labels
        given = (1.0 - _ALPHA) / _ALPHA * known.reshape(len(labels), -1)
        spread: NDArray[np.float32] = np.zeros((n, len(held_out) * n_classes), dtype=np.float32)
        for _ in range(steps):
            spread[nodes] += given
            spread = (A @ spread) * np.float32(_ALPHA)
        inside = np.flatnonzero(np.isin(fold, held_out))
        shares[inside] += spread.reshape(n, -1, n_classes)[nodes[inside], fold[inside] - first]
    summed: Floats = shares / shares.sum(axis=1, keepdims=True)
    return summed


def _by_features(X: NDArray[np.float32], labels: NDArray[np.int64], n_classes: int, fold: NDArray[np.int64]) -> Floats:
    """Return the mean of what a logistic regression and the class means say about each fold, (m, classes)."""
    if len(X) < X.shape[1]:
        X = np.linalg.qr(X.T)[1].T  # (m, m), with the same products between rows, on which all depends
    learning = np.sort(np.random.default_rng(0).permutation(len(X))[:_MOST_ROWS])
    known = fold[learning, None] != np.arange(fold.max() + 1)  # (rows, folds)
    truth = np.eye(n_classes, dtype=X.dtype)[labels[learning]]  # (rows, classes)
    W, b = _logistic_regressions(X[learning], truth, known)
    sums = np.einsum("rf,rk,rc->fkc", X[learning], known, truth, optimize=True)
    means = np.divide(sums, length := np.linalg.norm(sums, axis=0), out=sums, where=length > 0)
    logits = np.stack([_of_own_fold(X, W, fold) + b[fold], _SHARPNESS * _of_own_fold(X, means, fold)])
    logits[:, ~(known.T @ truth > 0)[fold]] = -np.inf  # classes without a label in the other folds
    judged: Floats = softmax(logits.astype(np.float64), axis=2).mean(axis=0)
    return judged


def _of_own_fold(X: NDArray[np.float32], W: NDArray[np.float32], fold: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the product of each row with the weights of its fold; (m, f) (f, folds, classes) -> (m, classes)."""
    product = np.empty((len(X), W.shape[2]), dtype=X.dtype)
    for number in np.unique(fold):
        product[fold == number] = X[fold == number] @ W[:, number]
    return product


def _logistic_regressions(
    X: NDArray[np.float32], truth: NDArray[np.float32], known: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return W (f, folds, classes) and b (folds, classes) of least cross-entropy, with an L2 penalty on W.

    All folds are fitted side by side by Nesterov's accelerated gradient. Half of XᵀX with the penalty bounds the
    Hessian of each (Böhning, 1992), so its inverse gives every direction a step that is neither too short nor too long.

    Args:
        X: (m, f).
        truth: (m, classes), one-hot.
        known: (m, folds), the rows that each fold learns from.
    """
    X = np.column_stack([X, np.ones(len(X), dtype=X.dtype)])
    penalty = np.full((X.shape[1], 1), _PENALTY, dtype=X.dtype)
    penalty[-1] = 0.0  # of b
    inverse = np.linalg.inv(X.T @ X / 2 + np.diag(penalty.ravel()))
    shape = (len(X), known.shape[1], truth.shape[1])
    W = ahead = np.zeros((X.shape[1], shape[1] * shape[2]), dtype=X.dtype)
    unseen = ~(known.T @ truth > 0)
    momentum = np.ones(shape[1])
    for _ in range(_DESCENT_STEPS):
        logits = (X @ ahead).reshape(shape)
        logits[:, unseen] = -np.inf
        error = (softmax(logits, axis=2) - truth[:, None]) * known[:, :, None]
        step = inverse @ (X.T @ error.reshape(len(X), -1) + penalty * ahead)
        change = ahead - step - W
        uphill = (step * change).reshape(-1, *shape[1:]).sum(axis=(0, 2)) > 0
        momentum[uphill] = 1.0
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        W = W + change
        ahead = W + np.repeat((momentum - 1.0) / following, shape[2]).astype(X.dtype) * change
        momentum = following
    by_fold = W.reshape(-1, *shape[1:])
    return by_fold[:-1], by_fold[-1]
