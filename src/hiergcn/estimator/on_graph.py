"""A classifier of the nodes of one graph, for scikit-learn's model selection."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from hiergcn.errors import InputError
from hiergcn.estimator.classifier import NodeClassifier, NotFittedError
from hiergcn.graph import Graph


class OnGraph(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What scikit-learn takes for a row is here the number of a node; the graph stays whole in the background.

        nodes = graph.labelled
        cross_val_score(HGCNClassifier().on(graph), nodes, graph.labels[nodes], cv=5)
        GridSearchCV(HGCNClassifier().on(graph), {"estimator__levels": [2, 3, 4]}).fit(nodes, graph.labels[nodes])

    Works with everything that only chooses rows and compares predictions: `cross_val_score`, `cross_val_predict`,
    `GridSearchCV`, `learning_curve`, `CalibratedClassifierCV`. `fit` sees the labels of the nodes it is given and no
    others, but the edges and features of all: learning is transductive, and the scores say how well nodes of this very
    graph are classified, not those of graphs to come. What changes rows does not work (scalers, PCA, oversampling:
    a node number is no feature), nor do bootstrap samples, in which a node occurs twice.

    Args:
        estimator: the classifier; its settings are `estimator__levels` and so on.
        graph: the graph; its own labels are not used.
    """

    def __init__(self, estimator: NodeClassifier, graph: Graph) -> None:
        self.estimator = estimator
        self.graph = graph

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from nodes X, (m,) or (m, 1), and their classes y; a fifth of each class selects the best epoch."""
        nodes, given = self._nodes(X), np.asarray(y)
        if given.shape != nodes.shape:
            raise InputError(f"there are {nodes.size:,} nodes and labels of shape {given.shape}: give one label each")
        if np.unique(nodes).size < nodes.size:
            raise InputError("a node is given twice: give every node once")
        self.classes_, number = np.unique(given, return_inverse=True)
        labels = np.full(self.graph.n_nodes, -1)
        labels[nodes] = number
        graph = self.graph.with_labels(labels, [str(k) for k in range(self.classes_.size)])
        self.estimator_: NodeClassifier = clone(self.estimator).fit(graph)
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[Any]:
        """(m, classes), in the order of `classes_`."""
        if not hasattr(self, "estimator_"):
            raise NotFittedError("This classifier has learned nothing yet; call fit first.")
        return self.estimator_.predict_proba()[self._nodes(X)]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """(m,): classes as they were given to `fit`."""
        best = self.predict_proba(X).argmax(axis=1)
        chosen: NDArray[Any] = self.classes_[best]
        return chosen

    def _nodes(self, X: ArrayLike) -> NDArray[np.int64]:
        nodes = np.asarray(X)
        if nodes.ndim == 2 and nodes.shape[1] == 1:
            nodes = nodes[:, 0]
        if nodes.ndim != 1 or (nodes.size and not np.issubdtype(nodes.dtype, np.integer)):
            raise InputError(
                f"give the numbers of nodes, such as graph.labelled: got {nodes.dtype} of {nodes.ndim} axes"
            )
        if nodes.size and not 0 <= nodes.min() <= nodes.max() < self.graph.n_nodes:
            raise InputError(f"nodes count from 0 to {self.graph.n_nodes - 1:,}: got {nodes.min()} to {nodes.max()}")
        return nodes.astype(np.int64)
