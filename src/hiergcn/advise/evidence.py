"""Accuracy of features alone and edges alone, by cross-validation on the training labels.

Features are judged by a logistic regression, edges by label propagation. Both are quick: of a large graph, features see
a part of the labels and columns, and edges are left out if they would take long.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from hiergcn.advise.doubtful import judged_by_edges
from hiergcn.coarsening.diffusion import folds
from hiergcn.graph import Graph, Split
from hiergcn.graph.profile import WORDS, scaling_for

FOLDS = 5
"""Also the fewest training labels of a class that takes part."""
MOST_ROWS, MOST_COLUMNS = 500, 500  # of the logistic regression
MOST_STEPS = 100  # of its optimiser
MOST_PRODUCTS = 40_000_000  # entries of the adjacency times classes times folds; about two seconds


@dataclass(frozen=True)
class Evidence:
    """Accuracies on held-out training labels."""

    labels: int
    """Training labels that took part."""
    largest: float
    """Share of the largest class among them."""
    features: float | None
    """None if the nodes have no features of their own."""
    edges: float | None
    """None if there are none, or too many for a quick answer."""

    def sentence(self) -> str:
        """Describe the accuracy of features and edges in a sentence."""
        told = (("features", self.features), ("edges", self.edges))
        parts = [f"{name} alone give {100 * accuracy:.0f} %" for name, accuracy in told if accuracy is not None]
        given = f"Of {self.labels:,} training labels, held out in turn"
        return f"{given}, {' and '.join(parts)}; always naming the largest class gives {100 * self.largest:.0f} %."


def measure_evidence(graph: Graph, split: Split) -> Evidence | None:
    """Return the accuracy of features alone and of edges alone; None if neither can be judged.

    Only classes with at least `FOLDS` training labels take part; there must be two.
    """
    if graph.labels is None:
        return None
    count = np.bincount(graph.labels[split.train], minlength=graph.n_classes)
    if np.count_nonzero(count >= FOLDS) < 2:
        return None
    nodes = split.train[count[graph.labels[split.train]] >= FOLDS]
    features, edges, labels = _accuracy_of_features(graph, nodes), None, graph.labels[nodes]
    if 0 < graph.adjacency.nnz * graph.n_classes * FOLDS <= MOST_PRODUCTS:
        shares = judged_by_edges(graph.adjacency, nodes, labels, graph.n_classes, folds(labels, FOLDS))
        edges = float((shares.argmax(axis=1) == labels).mean())
    if features is None and edges is None:
        return None
    return Evidence(nodes.size, float(count.max() / nodes.size), features, edges)


def _accuracy_of_features(graph: Graph, nodes: NDArray[np.int64]) -> float | None:
    if not graph.has_own_features:
        return None
    assert graph.features is not None
    nodes = nodes[np.linspace(0, nodes.size - 1, min(MOST_ROWS, nodes.size)).astype(np.int64)]
    X, labels = graph.features[nodes], graph.truth[nodes]
    if X.shape[1] > MOST_COLUMNS:  # those that vary most
        squares = X.power(2) if isinstance(X, sp.csr_array) else np.square(X)
        variance = squares.mean(axis=0) - np.square(X.mean(axis=0))
        X = X[:, np.sort(np.argsort(-variance, kind="stable")[:MOST_COLUMNS])]
    scaling = scaling_for(graph)[0]
    standard: Any = StandardScaler(with_mean=not sp.issparse(X)) if scaling == "standard" else "passthrough"
    model = make_pipeline(
        Normalizer() if scaling == WORDS else standard,
        LogisticRegression(C=0.1 if scaling == "standard" else 10.0, max_iter=MOST_STEPS),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # near enough for an estimate
        warnings.simplefilter("ignore", UserWarning)  # a class may have lost labels to the limit on rows
        found = cross_val_predict(model, X, labels, cv=StratifiedKFold(FOLDS, shuffle=True, random_state=0))
    return float((found == labels).mean())
