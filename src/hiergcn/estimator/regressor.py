"""A node regressor in scikit-learn's style: `fit`, `predict`, `predict_interval`, `score`, `save`, `load`."""

from typing import Any, Literal, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from hiergcn.errors import InputError
from hiergcn.estimator.node_estimator import NodeEstimator, NodeRows
from hiergcn.evaluate.calibration import PredictionIntervals
from hiergcn.graph import Graph


class NodeRegressor(RegressorMixin, NodeEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Predicts a number for each node of a graph from the few that are known.

        graph = Graph.from_csv("edges.csv", "nodes.csv", target="price")
        NodeRegressor().fit(graph).predict()

    Args:
        model: name of the method, as in `hiergcn fit --model`; by default it is chosen for the graph, see
            `result_.verdict` and `result_.leaderboard`.
        preset: name of a recipe; by default settings are adapted to the graph.
        seed: for every random draw.
        device: `auto`, `cpu` or `cuda`.
        time_limit: seconds of the choice of a method; by default it depends on the size of the graph.
        coverage: probability with which the interval of a node holds its number, for `predict_interval`. Some values
            then calibrate the intervals and do not train.
        verbose: print a line for each step of `fit`.
        settings: any setting of the method by its name: `levels=4`, `dropout=0.1`; see `hiergcn settings MODEL`.

    Fitted values are `embedding_`, `hierarchy_`, `settings_` and `result_`, as in `NodeClassifier`.
    """

    numbers = True

    @overload
    def predict(self, graph: Graph | None = None, *, as_frame: Literal[False] = False) -> NDArray[np.float64]: ...
    @overload
    def predict(self, graph: Graph | None = None, *, as_frame: Literal[True]) -> "pd.Series[float]": ...
    def predict(
        self, graph: Graph | None = None, *, as_frame: bool = False
    ) -> "NDArray[np.float64] | pd.Series[float]":
        """Return the number of each node, (n,), for the fitted graph, or for another one with the same features.

        With `as_frame` it is a Series by the ids of the nodes.
        """
        numbers: NDArray[np.float64] = self._outputs(graph)[:, 0]
        return self._by_id(numbers, graph, self._run.target.names[0]) if as_frame else numbers

    def predict_interval(self, graph: Graph | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lower and the upper end of the interval of each node, (n,) each, as `coverage` promises."""
        self._check_fitted()
        intervals = self._run.answers.promise
        if not isinstance(intervals, PredictionIntervals):
            raise InputError(f"Intervals need a coverage; fit {type(self).__name__}(coverage=0.9), for example.")
        return intervals.ends(self.predict(graph))

    def score(self, graph: Graph, nodes: ArrayLike | None = None) -> float:
        """Return R², by the values of the fitted graph, perhaps with more values, or of another one.

        By default every node is scored whose value is known and was not used in training.
        """
        chosen = self._scored(graph, nodes)
        return float(r2_score(graph.truth[chosen], self.predict(graph)[chosen]))

    def on(self, graph: Graph) -> "NumbersOnGraph":
        """Return the same regressor for nodes of this graph, for scikit-learn's model selection."""
        return NumbersOnGraph(self, graph)


class NumbersOnGraph(RegressorMixin, NodeRows):  # type: ignore[misc]  # scikit-learn has no types
    """A regressor whose rows are node numbers; see `NodeRows`.

    nodes = graph.labelled
    cross_val_score(NodeRegressor().on(graph), nodes, graph.targets[nodes], cv=5)
    """

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the numbers of nodes, (m,)."""
        found: NDArray[Any] = self._fitted().predict()[self._nodes(X)]
        return found

    def _known(self, nodes: NDArray[np.int64], given: NDArray[Any]) -> Graph:
        values = np.full(self.graph.n_nodes, np.nan)
        values[nodes] = given
        return self.graph.with_targets(values, self.graph.target_name)
