"""Labels to doubt: labelled nodes whose class the labels of other nodes speak against.

The labelled nodes are cut into folds. Quick models learn from the labels of all folds but one and judge that one. Two
use features averaged over each node's surroundings: a logistic regression, and the similarity to the mean of each
class, which a few wrong labels hardly move. The third, label propagation, uses labels and edges alone. Their mean,
weighted by how well features and edges predict held-out labels, gives a probability of the given class that the label
itself had no part in. Labels are ranked by it, as confident learning does (Northcutt et al., JAIR 2021).
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from hiergcn.coarsen.diffusion import folds
from hiergcn.evaluate.combination import combination_weights
from hiergcn.graph.graph import Features
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
_MOST_ROWS = 20_000  # labels that the regression learns from
_FOLDS = 10
_PENALTY, _MOST_STEPS = 0.5, 200  # of the regression
_SHARPNESS = 5.0  # of the similarity to the class means

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Doubts:
    """What the labels of other nodes say about each labelled node, the most doubtful label first."""

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
        """The most likely class, (m,)."""
        classes: NDArray[np.int64] = self.probabilities.argmax(axis=1)
        return classes


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
    fold = folds(labels, _FOLDS)
    judged = [judged_by_edges(adjacency, nodes, labels, n_classes, fold)]
    if features is not None:
        rows = averaged(adjacency, features)
        judged.append(_by_features(_unit_rows((rows - rows.mean(axis=0))[nodes]), labels, n_classes, fold))
    weights = combination_weights(judged, labels)
    mean = sum(weight * one for weight, one in zip(weights, judged, strict=True))
    frequent = np.flatnonzero(np.bincount(labels, minlength=n_classes)[labels] >= FEWEST)
    found = Doubts(nodes[frequent], labels[frequent], np.asarray(mean)[frequent])
    order = np.argsort(found.of_given, kind="stable")
    return Doubts(found.nodes[order], found.given[order], found.probabilities[order])


def averaged(adjacency: sp.csr_array, features: Features) -> NDArray[np.float32]:
    """Return the mean of the features after 0 to 8 steps over the edges, (n, columns), with rows of length 1."""
    columns = min(_COLUMNS, max(_MOST_VALUES // features.shape[0], 1))
    if features.shape[1] > columns:
        from sklearn.utils.extmath import randomized_svd  # takes a second to import

        U, s, _ = randomized_svd(features.astype(np.float32), columns, n_iter=2, random_state=0)
        values = U * s
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
    probabilities = np.zeros((len(labels), n_classes))
    rng = np.random.default_rng(0)
    for number in np.unique(fold):
        held_out, known = fold == number, rng.permutation(np.flatnonzero(fold != number))[:_MOST_ROWS]
        present, classes = np.unique(labels[known], return_inverse=True)
        W, b = _logistic_regression(X[known], classes, len(present))
        means = _unit_rows(np.eye(len(present), dtype=X.dtype)[classes].T @ X[known])
        logits = (X[held_out] @ W + b, _SHARPNESS * X[held_out] @ means.T)
        probabilities[np.ix_(held_out, present)] = np.mean([softmax(one, axis=1) for one in logits], axis=0)
    return probabilities


def _logistic_regression(X: NDArray[np.float32], classes: NDArray[np.int64], n_classes: int) -> tuple[Floats, Floats]:
    """Return W (f, classes) and b (classes,) of least cross-entropy, with an L2 penalty on W.

    Objective and optimiser are those of scikit-learn, whose import takes longer than all folds of a small graph.
    """
    from scipy.optimize import minimize  # takes a while to import

    truth = np.eye(n_classes, dtype=X.dtype)[classes]

    def loss(flat: Floats) -> tuple[float, Floats]:
        W, b = flat[:-n_classes].reshape(-1, n_classes), flat[-n_classes:]
        log_probability = log_softmax(X @ W.astype(X.dtype) + b, axis=1)
        error = np.exp(log_probability) - truth
        by_W = X.T @ error.astype(X.dtype) + _PENALTY * W
        value = _PENALTY / 2 * np.square(W).sum() - log_probability[np.arange(len(X)), classes].sum()
        return float(value), np.concatenate([by_W.ravel(), error.sum(axis=0)])

    start = np.zeros((X.shape[1] + 1) * n_classes)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _MOST_STEPS}).x
    return found[:-n_classes].reshape(-1, n_classes), found[-n_classes:]
