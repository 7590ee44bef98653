"""The front door in Python: node classifiers and regressors in scikit-learn's style, and rows that are node numbers.

`fit` takes a whole graph, because a node is predicted with the help of its neighbours: there is no table whose rows
could be cut into folds. For scikit-learn's model selection use `estimator.on(graph)`.
"""

import inspect
import sys
import warnings
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.metrics import r2_score
from sklearn.utils.metadata_routing import UNUSED

from hiergcn.advise.doubtful import FEWEST_LABELS, doubtful_labels, judge_labels
from hiergcn.advise.suggest import suggest
from hiergcn.choose.adapt import PRESET as ADAPTED
from hiergcn.choose.portfolio import check_settings
from hiergcn.errors import HierGCNError, InputError
from hiergcn.evaluate.calibration import PredictionIntervals, PredictionSets
from hiergcn.explanation.node import Explanation
from hiergcn.graph import Graph, Split
from hiergcn.graph.alignment import encoded_like
from hiergcn.run.fit import check_graph, fit, resolve_split
from hiergcn.run.predict import explain, predictions_on
from hiergcn.run.run import Run
from hiergcn.run.source import Source
from hiergcn.settings.settings import AUTO, Settings, effective, is_automatic, method_for, method_of, settings_for
from hiergcn.train.events import FitEvent, OnFitEvent, SeedDone, SplitChosen, describe
from hiergcn.workers.machine import workers_for


class NotFittedError(HierGCNError, SklearnNotFittedError):  # type: ignore[misc]  # scikit-learn has no types
    """The estimator is not fitted yet."""


class EventPrinter:
    """Prints the milestones of a fit, for `verbose=True`."""

    choosing = False

    def __call__(self, event: FitEvent) -> None:
        self.choosing = self.choosing or isinstance(event, SplitChosen)
        line = None if self.choosing and isinstance(event, SeedDone) else describe(event)  # its candidate gets a line
        if line:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


class NodeEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Base of `NodeClassifier` and `NodeRegressor`, which explain the arguments."""

    __metadata_request__fit: ClassVar = {"graph": UNUSED, "split": UNUSED, "on_event": UNUSED}
    __metadata_request__predict: ClassVar = {"graph": UNUSED, "as_frame": UNUSED}
    __metadata_request__predict_proba: ClassVar = {"graph": UNUSED, "as_frame": UNUSED}
    __metadata_request__score: ClassVar = {"graph": UNUSED, "nodes": UNUSED}

    models: ClassVar[tuple[str, ...] | None] = None
    """Names of the methods that the class accepts; None for all."""
    numbers: ClassVar[bool]
    """Whether it predicts numbers instead of classes."""
    result_: Run

    def __init__(
        self,
        model: str | None = None,
        *,
        preset: str | None = None,
        seed: int = 0,
        device: str = "auto",
        time_limit: float | None = None,
        coverage: float | None = None,
        verbose: bool = False,
        **settings: Any,
    ) -> None:
        self.model, self.preset, self.seed, self.device = model, preset, seed, device
        self.time_limit, self.coverage, self.verbose = time_limit, coverage, verbose
        self._given = dict(settings)
        self._requested()  # refuses unknown names

    def fit(self, graph: Graph, split: Split | None = None, on_event: OnFitEvent | None = None) -> Self:
        """Train on the nodes whose label or number is known.

        Without a split, that of the graph is used; if it has none, a fifth (of each class) is kept to select the best
        epoch. `on_event` is called with each step, see `hiergcn.train.events`.
        """
        check_graph(graph)
        self._check_aim(graph.name, graph.target.kind)
        result = fit(
            graph,
            resolve_split(graph, split, test=0.0, seed=self.seed),
            seeds=[self.seed],
            model=self._model,
            preset=self.preset,
            changes=self._given,
            device=self.device,
            time_limit=self.time_limit,
            coverage=self.coverage,
            workers=workers_for(graph.n_nodes),
            on_event=on_event or (EventPrinter() if self.verbose else None),
        )
        return self._take(result)

    def explain(self, node: str, class_: str | None = None, top: int = 10, graph: Graph | None = None) -> Explanation:
        """Explain the prediction for the node with this id, or why it is not `class_`.

        `top` nodes and features are listed. The graph must be given after `load` if the run folder neither holds it nor
        says where it came from.
        """
        graph = graph or self._run.fitted_graph or Source.of_run(self._run).read().graph
        return explain(self._run, graph, str(node), class_=class_, top=top, device=self.device)

    def predictions(self, graph: Graph | None = None) -> pd.DataFrame:
        """Return the table of `predictions.csv`: a row per node, with the calibrated `confidence` of its class."""
        if graph is None:
            return self._run.predictions()
        return predictions_on(self._run, self._encoded(graph), self.device)

    def _outputs(self, graph: Graph | None) -> NDArray[Any]:
        """Return probabilities, (n, classes), or numbers, (n, 1), for the fitted graph or another one."""
        run = self._run
        return run.probabilities if graph is None else run.model.predict_proba(self._encoded(graph), self.device)

    def _by_id(self, values: NDArray[Any], graph: Graph | None, names: Any) -> Any:
        """Return values as a Series, or a DataFrame with these columns, by the ids of the nodes."""
        index = pd.Index(self._run.table["id"].to_numpy() if graph is None else graph.ids, name="id")
        return pd.Series(values, index, name=names) if values.ndim == 1 else pd.DataFrame(values, index, names)

    def _scored(self, graph: Graph, nodes: ArrayLike | None) -> NDArray[np.int64]:
        """Return the nodes to score: by default those whose label or number was not used in training."""
        known = graph.labelled
        unseen = np.setdiff1d(known, self._run.model.nodes_in(graph)[self._run.table["given"].to_numpy()])
        if nodes is None and unseen.size == 0:
            raise InputError(
                f"Every labelled node of {graph.name} was used in training; keep some labels back to score by."
            )
        chosen: NDArray[np.int64] = unseen if nodes is None else np.asarray(nodes)
        if chosen.size and not 0 <= chosen.min() <= chosen.max() < graph.n_nodes:
            raise InputError(
                f"Nodes {chosen.min()} to {chosen.max()} are to be scored; the last is {graph.n_nodes - 1:,}."
            )
        if (graph.strata[chosen] < 0).any():
            raise InputError("A score needs nodes whose labels are known; leave the others out.")
        self._check_aim(graph.name, graph.target.kind)
        return chosen

    def embed(self, graph: Graph) -> NDArray[Any]:
        """Return the input of the output layer for a graph, (n, hidden); several networks side by side."""
        embedding = self._run.model.embed(self._encoded(graph), self.device)
        if embedding is None:
            raise InputError(f"{self.settings_.method} has no hidden layers here, so it has no embedding.")
        return embedding

    @cached_property
    def embedding_(self) -> NDArray[Any] | None:
        return self._run.model.embed(self._fitted_graph(), self.device)

    def save(self, path: str | Path) -> None:
        """Write a run folder with its page and the graph; it must be new or empty.

        The commands `hiergcn predict`, `explain` and `report` take it like a folder of `hiergcn fit`.
        """
        self._run.save(path, python=repr(self))

    @classmethod
    def load(cls, path: str | Path, device: str = "auto") -> Self:
        """Return the estimator of a run folder, written by `save` or by `hiergcn fit --out`."""
        return cls.of_run(Run.load(path), device)

    @classmethod
    def of_run(cls, run: Run, device: str = "auto") -> Self:
        """Return the estimator of a loaded run."""
        cls._check_aim(str(run.path), run.target.kind)
        promise, settings = run.answers.promise, run.settings
        coverage = None if promise is None else promise.coverage
        arguments: dict[str, Any] = {"seed": run.scores["selected_seed"], "device": device, "coverage": coverage}
        if run.scores["model"] == AUTO:
            if cls.models is not None:
                other = cls.__mro__[1].__name__
                raise InputError(f"The method in {run.path} was chosen automatically; load it with {other}.")
            return cls(**arguments)._take(run)
        adapted = settings.preset == ADAPTED  # to a graph: all settings are named, else what differs from the preset
        preset = None if adapted else settings.preset
        unnamed = method_of(method_for(preset), preset) if preset or cls.models is not None else None
        loaded = cls(None if settings.method == unnamed else settings.method, preset=preset, **arguments)
        usual = {} if adapted else settings_for(settings.method, preset).values()
        matter = effective(settings.method, settings.values())
        loaded._given = {k: v for k, v in matter.items() if k not in _DEFAULTS and (not usual or v != usual[k])}
        return loaded._take(run)

    @property
    def settings(self) -> Settings:
        """The settings before a graph is seen; `settings_` are those that were used."""
        if is_automatic(self._model, self.preset):
            raise AttributeError("The method and its settings are chosen when a graph is fitted; see settings_ then.")
        return self._requested()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor, by name."""
        return {name: getattr(self, name) for name in _DEFAULTS} | self._given

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor, all of them or none: `set_params(levels=3, seed=1)`."""
        changed = copy(self)
        changed._given = self._given | {name: value for name, value in params.items() if name not in _DEFAULTS}
        for name in params.keys() & _DEFAULTS.keys():
            setattr(changed, name, params[name])
        changed._requested()
        for name, value in vars(changed).items():
            setattr(self, name, value)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "result_")

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown = {name: value for name, value in self.get_params().items() if _DEFAULTS.get(name, ...) != value}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"[:N_CHAR_MAX]

    @property
    def _model(self) -> str | None:
        """The name of the method; None if a preset or the graph decides."""
        return self.model or (None if self.models is None or self.preset else self.models[0])

    def _requested(self) -> Settings:
        """Return the settings; those of H-GCN+ if the method is chosen later."""
        if self.models is not None and self.model not in (None, *self.models):
            raise InputError(
                f"{type(self).__name__} has no model {self.model!r}; give {' or '.join(self.models)}, "
                "or use NodeClassifier."
            )
        if is_automatic(self._model, self.preset):
            check_settings(self._given)
            return settings_for(method_for(None))
        return settings_for(self._model or method_for(self.preset), self.preset).override(self._given)

    def _take(self, run: Run) -> Self:
        self.__dict__.pop("embedding_", None)  # of an earlier fit
        self.result_, self.settings_, self.hierarchy_ = run, run.settings, run.hierarchy
        return self

    @property
    def _run(self) -> Run:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("The estimator is not fitted yet; call fit first.")
        return self.result_

    @classmethod
    def _check_aim(cls, name: str, kind: str) -> None:
        """Refuse numbers in the place of classes, and the reverse."""
        if kind != ("numbers" if cls.numbers else "classes"):
            other = "NodeClassifier" if cls.numbers else "NodeRegressor"
            raise InputError(f"{name} has {kind} to predict; use {other} for them.")

    def _fitted_graph(self) -> Graph:
        if self._run.fitted_graph is None and self._run.graph_file is None:
            raise NotFittedError("The run folder does not hold the graph; give it: embed(graph), suggest(20, graph).")
        return self._run.graph

    def _encoded(self, graph: Graph) -> Graph:
        """Return a graph with the features of the fitted one, and warn of values that it did not have."""
        check_graph(graph)
        encoded = encoded_like(graph, self._run.model.columns, self._run.model.n_features)
        for note in encoded.notes[len(graph.notes) :]:
            warnings.warn(note, stacklevel=3)
        return encoded


_, *_ARGUMENTS, _ = inspect.signature(NodeEstimator.__init__).parameters.values()  # without self and **settings
_DEFAULTS = {argument.name: argument.default for argument in _ARGUMENTS}


class NodeRows(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator whose rows are node numbers; the graph stays whole in the background.

    It works with everything that selects rows and compares predictions: `cross_val_score`, `cross_val_predict`,
    `GridSearchCV`, `learning_curve`. `fit` sees the labels of the given nodes only, but the edges and features of all:
    learning is transductive, and scores are about nodes of this very graph. What transforms rows does not work
    (scalers, PCA, oversampling), because a node number is not a feature. Nor do bootstrap samples, in which a node
    occurs twice. The labels of the graph itself are not used.
    """

    def __init__(self, estimator: Any, graph: Graph) -> None:
        self.estimator = estimator
        self.graph = graph

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train on nodes X, (m,) or (m, 1), and their labels y; a fifth (of each class) selects the best epoch."""
        nodes, given = self._nodes(X), np.asarray(y)
        if given.shape != nodes.shape:
            raise InputError(f"There are {nodes.size:,} nodes and labels of shape {given.shape}; give one label each.")
        if np.unique(nodes).size < nodes.size:
            raise InputError("A node is given twice; give every node once.")
        if self.estimator.numbers:
            values = np.full(self.graph.n_nodes, np.nan)
            values[nodes] = given
            known = self.graph.with_targets(values, self.graph.target_name)
        else:
            self.classes_, number = np.unique(given, return_inverse=True)
            labels = np.full(self.graph.n_nodes, -1)
            labels[nodes] = number
            known = self.graph.with_labels(labels, [str(k) for k in range(self.classes_.size)])
        self.estimator_: Any = clone(self.estimator).fit(known)
        return self

    def _rows(self, method: str, X: ArrayLike) -> NDArray[Any]:
        """Return what a method of the fitted estimator says of nodes."""
        if not hasattr(self, "estimator_"):
            raise NotFittedError("The estimator is not fitted yet; call fit first.")
        rows: NDArray[Any] = getattr(self.estimator_, method)()[self._nodes(X)]
        return rows

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
    - `result_`: the whole run with its scores, history and notes.
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
        probabilities = self._outputs(graph)
        return self._by_id(probabilities, graph, list(self.classes_)) if as_frame else probabilities

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
        run, graph = self._run, self._fitted_graph()
        doubts = judge_labels(graph, run.split)
        if doubts is None:
            raise InputError(f"Labels can only be judged if there are {FEWEST_LABELS} or more.")
        return doubtful_labels(graph, run.split, doubts, run.predicted, run.hierarchy)

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
        return self._rows("predict_proba", X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return classes (m,) as they were given to `fit`."""
        best = self.predict_proba(X).argmax(axis=1)
        classes: NDArray[Any] = self.classes_[best]
        return classes


class NodeRegressor(RegressorMixin, NodeEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Predicts a number for each node of a graph from the few that are known.

        graph = Graph.from_csv("edges.csv", "nodes.csv", target="price")
        NodeRegressor().fit(graph).predict()

    Arguments are those of `NodeClassifier`, but `coverage` is the probability with which the interval of a node holds
    its number, for `predict_interval`. Fitted values are `embedding_`, `hierarchy_`, `settings_` and `result_`.
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
        return self._rows("predict", X)
