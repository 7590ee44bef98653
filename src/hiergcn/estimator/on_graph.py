"""A classifier of the nodes of one graph, for scikit-learn's model selection."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from hiergcn.errors import InputError
from hiergcn.estimator.classifier import NodeClassifier, NotFittedError
from hiergcn.graph import Graph


class OnGraph(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier whose rows are node numbers; the graph stays whole in the background.

        nodes = graph.labelled
        cross_val_score(HGCNClassifier().on(graph), nodes, graph.labels[nodes], cv=5)
        GridSearchCV(HGCNClassifier().on(graph), {"estimator__levels": [2, 3, 4]}).fit(nodes, graph.labels[nodes])

    It works with everything that selects rows and compares predictions: `cross_val_score`, `cross_val_predict`,
    `GridSearchCV`, `learning_curve`, `CalibratedClassifierCV`. `fit` sees the labels of the given nodes only, but the
    edges and features of all: learning is transductive, and scores are about nodes of this very graph. What transforms
    rows does not work (scalers, PCA, oversampling), because a node number is not a feature. Nor do bootstrap samples,
    in which a node occurs twice.

    Args:
        estimator: the classifier; its settings are `estimator__levels` and so on.
        graph: its own labels are not used.
    """

    def __init__(self, estimator: NodeClassifier, graph: Graph) -> None:
        self.estimator = estimator
        self.graph = graph

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train on nodes X, (m,) or (m, 1), and their classes y; a fifth of each class selects the best epoch."""
        nodes, given = self._nodes(X), np.asarray(y)
        if given.shape != nodes.shape:
            raise InputError(f"There are {nodes.size:,} nodes and labels of shape {given.shape}; give one label each.")
        if np.unique(nodes).size < nodes.size:
            raise InputError("A node is given twice; give every node once.")
        self.classes_, number = np.unique(given, return_inverse=True)
        labels = np.full(self.graph.n_nodes, -1)
        labels[nodes] = number
        graph = self.graph.with_labels(labels, [str(k) for k in range(self.classes_.size)])
        self.estimator_: NodeClassifier = clone(self.estimator).fit(graph)
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[Any]:
        """Return probabilities (m, classes), in the order of `classes_`."""
        if not hasattr(self, "estimator_"):
            raise NotFittedError("This classifier is not fitted yet; call fit first.")
        return self.estimator_.predict_proba()[self._nodes(X)]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return classes (m,) as they were given to `fit`."""
        best = self.predict_proba(X).argmax(axis=1)
        chosen: NDArray[Any] = self.classes_[best]
        return chosen

    def _nodes(self, X: ArrayLike) -> NDArray[np.int64]:
        nodes = np.asarray(X)
        if nodes.ndim == 2 and nodes.shape[1] == 1:
            nodes = nodes[:, 0]
        if nodes.ndim != 1 or (nodes.size and not np.issubdtype(nodes.dtype, np.integer)):
            raise InputError(
                f"X is {nodes.dtype} with {nodes.ndim} axes; give the numbers of nodes, such as graph.labelled."
            )
        n = self.graph.n_nodes
        if nodes.size and not 0 <= nodes.min() <= nodes.max() < n:
            raise InputError(f"X has nodes {nodes.min()} to {nodes.max()}; node numbers are 0 to {n - 1:,}.")
        return nodes.astype(np.int64)
