"""A node classifier in scikit-learn's style: `fit`, `predict`, `predict_proba`, `score`, `save`, `load`."""

from typing import Any, Literal, Self, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from hiergcn.advise.doubtful import FEWEST_LABELS, doubtful_labels, judge_labels
from hiergcn.advise.suggest import suggest
from hiergcn.errors import InputError
from hiergcn.estimator.node_estimator import NodeEstimator, NodeRows, NotFittedError
from hiergcn.evaluate.calibration import PredictionSets
from hiergcn.graph import Graph
from hiergcn.run.run import Run


class NodeClassifier(NodeEstimator):
    """Classifies the nodes of a graph from the few labels that are known.

    Args:
        model: name of the method, as in `hiergcn fit --model`; by default it is chosen for the graph, see
            `result_.verdict` and `result_.leaderboard`; with a preset, H-GCN.
        preset: name of a recipe, such as `paper`; by default settings are adapted to the graph.
        seed: for every random draw.
        device: `auto`, `cpu` or `cuda`.
        time_limit: seconds of the choice of a method; by default it depends on the size of the graph.
        coverage: probability with which a node's prediction set holds its class, for `predict_set`. Some labels then
            calibrate the sets and do not train.
        verbose: print a line for each step of `fit`.
        settings: any setting of the method by its name: `levels=4`, `dropout=0.5`, `class_weight="balanced"`.
            `hiergcn settings MODEL`, in a shell, lists and explains those of a method.

    Fitted values end in an underscore:

    - `classes_`: names of the classes, in the order of the columns of `predict_proba`.
    - `embedding_`: (n, hidden), the input of the output layer, several networks side by side; None for a method
      without hidden layers.
    - `hierarchy_`: the levels of the coarsened graph; None for a method that does not coarsen.
    - `settings_`: every setting that was used.
    - `result_`: the whole run with its scores, history and notes; missing after `load`.
    """

    numbers = False

    @overload
    def predict_proba(self, graph: Graph | None = None, *, as_frame: Literal[False] = False) -> NDArray[Any]: ...
    @overload
    def predict_proba(self, graph: Graph | None = None, *, as_frame: Literal[True]) -> pd.DataFrame: ...
    def predict_proba(self, graph: Graph | None = None, *, as_frame: bool = False) -> NDArray[Any] | pd.DataFrame:
        """Return probabilities (n, classes) for the fitted graph, or for another one with the same features.

        Features are matched by the names of their columns, with the categories and means of the fitted graph. With
        `as_frame` they are a DataFrame by the ids of the nodes.
        """
        found = self._outputs(graph)
        return self._by_id(found, graph, list(self.classes_)) if as_frame else found

    @overload
    def predict(self, graph: Graph | None = None, *, as_frame: Literal[False] = False) -> NDArray[Any]: ...
    @overload
    def predict(self, graph: Graph | None = None, *, as_frame: Literal[True]) -> "pd.Series[Any]": ...
    def predict(self, graph: Graph | None = None, *, as_frame: bool = False) -> "NDArray[Any] | pd.Series[Any]":
        """Return the name of each node's class, (n,); with `as_frame`, as a Series by the ids of the nodes."""
        best = self.predict_proba(graph).argmax(axis=1)
        names: NDArray[Any] = self.classes_[best]
        return self._by_id(names, graph, "predicted") if as_frame else names

    def predict_set(self, graph: Graph | None = None) -> NDArray[np.bool_]:
        """Return whether each class is in the prediction set of each node, (n, classes), as `coverage` promises."""
        self._check_fitted()
        sets = self._run.answers.promise
        if not isinstance(sets, PredictionSets):
            raise InputError(f"Prediction sets need a coverage; fit {type(self).__name__}(coverage=0.9), for example.")
        return sets.members(self._run.answers.confidence(self.predict_proba(graph)))

    def score(self, graph: Graph, nodes: ArrayLike | None = None) -> float:
        """Return the accuracy, by the labels of the fitted graph, perhaps with more labels, or of another one.

        By default every labelled node that was not used in training is scored; nodes are recognised by their ids.
        """
        chosen = self._scored(graph, nodes)
        truth = np.array(graph.class_names, dtype=object)[graph.truth[chosen]]
        return float((self.predict(graph)[chosen] == truth).mean())

    def suggest(self, budget: int, graph: Graph | None = None, seed: int = 0) -> pd.DataFrame:
        """Return nodes of the fitted graph to label next, by `id`, with a `reason` and an empty `label`.

        The graph must be given after `load` if the run folder does not hold it.
        """
        self._check_fitted()
        graph = self._fitted_graph() if graph is None else graph
        confidence = self._run.confidence.max(axis=1)
        if graph.n_nodes != len(confidence):
            raise InputError(f"{graph.name} has other nodes than the fitted graph; give that one, or fit again.")
        return suggest(graph, budget, confidence=confidence, seed=seed)

    def doubtful_labels(self) -> pd.DataFrame:
        """Return the labels that other labels contradict, the most doubtful first; nothing is changed.

        `probability` is that of the given class by the labels of other nodes, `likely` the class that they predict, and
        `neighbours` and `hyper_node` count the classes around the node.
        """
        if not hasattr(self, "result_"):
            raise NotFittedError("This classifier has no labels to judge; call fit first.")
        fit = self.result_
        doubts = judge_labels(fit.graph, fit.split)
        if doubts is None:
            raise InputError(f"Labels can only be judged if there are {FEWEST_LABELS} or more.")
        return doubtful_labels(fit.graph, fit.split, doubts, fit.predicted, fit.hierarchy)

    def on(self, graph: Graph) -> "OnGraph":
        """Return the same classifier for nodes of this graph, for scikit-learn's model selection."""
        return OnGraph(self, graph)

    def _take(self, run: Run) -> Self:
        self.classes_: NDArray[Any] = np.array(run.target.names, dtype=object)
        return super()._take(run)


class HGCNClassifier(NodeClassifier):
    """H-GCN+ with settings adapted to the graph; H-GCN with `model="hgcn"`, as in the paper with `preset="paper"`.

    See `NodeClassifier` for its methods and `HGCNPlusConfig`, `HGCNConfig`, `TrainConfig` and `CoarsenConfig` for
    settings.
    """

    models = ("hgcn-plus", "hgcn")


class OnGraph(ClassifierMixin, NodeRows):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier whose rows are node numbers; see `NodeRows`.

        nodes = graph.labelled
        cross_val_score(HGCNClassifier().on(graph), nodes, graph.labels[nodes], cv=5)
        GridSearchCV(HGCNClassifier().on(graph), {"estimator__levels": [2, 3, 4]}).fit(nodes, graph.labels[nodes])

    `CalibratedClassifierCV` works with it, too.
    """

    def predict_proba(self, X: ArrayLike) -> NDArray[Any]:
        """Return probabilities (m, classes), in the order of `classes_`."""
        found: NDArray[Any] = self._fitted().predict_proba()[self._nodes(X)]
        return found

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return classes (m,) as they were given to `fit`."""
        best = self.predict_proba(X).argmax(axis=1)
        chosen: NDArray[Any] = self.classes_[best]
        return chosen

    def _known(self, nodes: NDArray[np.int64], given: NDArray[Any]) -> Graph:
        self.classes_, number = np.unique(given, return_inverse=True)
        labels = np.full(self.graph.n_nodes, -1)
        labels[nodes] = number
        names = [str(k) for k in range(self.classes_.size)]
        return self.graph.with_labels(labels, names)
