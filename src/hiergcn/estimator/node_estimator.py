"""What node classifiers and regressors share: settings, `fit`, `embed`, `save`, `load`, and rows that are node numbers.

`fit` takes a whole graph, because a node is predicted with the help of its neighbours: there is no table whose rows
could be cut into folds. For scikit-learn's model selection use `estimator.on(graph)`.
"""

import inspect
import sys
import warnings
from abc import abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils.metadata_routing import UNUSED

from hiergcn.choose.adapt import PRESET as ADAPTED
from hiergcn.choose.portfolio import check_settings
from hiergcn.errors import HierGCNError, InputError
from hiergcn.explanation.node import Explanation
from hiergcn.graph import Graph, Split
from hiergcn.graph.alignment import encoded_like
from hiergcn.run.fit import check_graph, fit, own_split
from hiergcn.run.predict import explain
from hiergcn.run.run import Run
from hiergcn.run.source import Source
from hiergcn.settings.settings import AUTO, Settings, is_automatic, method_for, method_of, settings_for
from hiergcn.train.events import FitEvent, OnFitEvent, SeedDone, SplitChosen, describe
from hiergcn.workers.machine import workers_for


class NotFittedError(HierGCNError, SklearnNotFittedError):  # type: ignore[misc]  # scikit-learn has no types
    """The estimator is not fitted yet."""


class EventPrinter:
    """Prints the milestones of a fit, for `verbose=True`."""

    def __init__(self) -> None:
        self.choosing = False

    def __call__(self, event: FitEvent) -> None:
        self.choosing = self.choosing or isinstance(event, SplitChosen)
        if self.choosing and isinstance(event, SeedDone):
            return  # its candidate gets a line
        if line := describe(event):
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
            own_split(graph, split, test=0.0, seed=self.seed),
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
        return self.of_result(result)

    def of_result(self, result: Run) -> Self:
        """Take over a finished run, as if this estimator had been fitted."""
        self.result_ = result
        return self._take(result)

    def explain(self, node: str, class_: str | None = None, top: int = 10, graph: Graph | None = None) -> Explanation:
        """Explain the prediction for the node with this id, or why it is not `class_`.

        `top` nodes and features are listed. The graph must be given after `load` if the run folder neither holds it nor
        says where it came from.
        """
        self._check_fitted()
        if graph is None:
            graph = self._run.fitted_graph or Source.of_run(self._run).read().graph
        return explain(self._run, graph, str(node), class_=class_, top=top, device=self.device)

    def _outputs(self, graph: Graph | None) -> NDArray[Any]:
        """Return probabilities, (n, classes), or numbers, (n, 1), for the fitted graph or another one."""
        self._check_fitted()
        run = self._run
        return run.probabilities if graph is None else run.model.predict_proba(self._encoded(graph), self.device)

    def _by_id(self, values: NDArray[Any], graph: Graph | None, names: Any) -> Any:
        """Return values as a Series, or a DataFrame with these columns, by the ids of the nodes."""
        index = pd.Index(self._run.table["id"].to_numpy() if graph is None else graph.ids, name="id")
        return pd.Series(values, index, name=names) if values.ndim == 1 else pd.DataFrame(values, index, names)

    def _scored(self, graph: Graph, nodes: ArrayLike | None) -> NDArray[np.int64]:
        """Return the nodes to score: by default those whose label or number was not used in training."""
        self._check_fitted()
        check_graph(graph)
        if nodes is None:
            known, table = graph.labelled, self._run.table
            learned = table.loc[table["given"], "id"].to_numpy().astype(str)
            chosen: NDArray[np.int64] = known[~np.isin(graph.ids[known].astype(str), learned)]
            if chosen.size == 0:
                raise InputError(
                    f"Every labelled node of {graph.name} was used in training; keep some labels back to score by."
                )
        else:
            chosen = np.asarray(nodes)
        if (graph.strata[chosen] < 0).any():
            raise InputError("A score needs nodes whose labels are known; leave the others out.")
        self._check_aim(graph.name, graph.target.kind)
        return chosen

    def embed(self, graph: Graph) -> NDArray[Any]:
        """Return the input of the output layer for a graph, (n, hidden); several networks side by side."""
        self._check_fitted()
        embedding = self._run.model.embed(self._encoded(graph), self.device)
        if embedding is None:
            raise InputError(f"{self.settings_.method} has no hidden layers here, so it has no embedding.")
        return embedding

    @cached_property
    def embedding_(self) -> NDArray[Any] | None:
        self._check_fitted()
        return self._run.model.embed(self._fitted_graph(), self.device)

    def save(self, path: str | Path) -> None:
        """Write a run folder with its page and the graph; it must be new or empty.

        The commands `hiergcn predict`, `explain` and `report` take it like a folder of `hiergcn fit`.
        """
        if not hasattr(self, "result_"):
            raise NotFittedError("There is no run to save; call fit first.")
        self.result_.save(path, python=repr(self))

    @classmethod
    def load(cls, path: str | Path, device: str = "auto") -> Self:
        """Return the estimator of a run folder, written by `save` or by `hiergcn fit --out`."""
        return cls.of_run(Run.load(path), device)

    @classmethod
    def of_run(cls, run: Run, device: str = "auto") -> Self:
        """Return the estimator of a loaded run."""
        cls._check_aim(str(run.path), run.target.kind)
        automatic = run.scores["model"] == AUTO
        if automatic and cls.models is not None:
            other = cls.__mro__[1].__name__
            raise InputError(f"The method in {run.path} was chosen automatically; load it with {other}.")
        model, preset = (None, None) if automatic else _constructor_names(run.settings, cls.models is not None)
        promise = run.answers.promise
        coverage = None if promise is None else promise.coverage
        loaded = cls(model, preset=preset, seed=run.selected_seed, device=device, coverage=coverage)
        loaded._given = {} if automatic else _differing(run.settings)
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
        before = {name: getattr(self, name) for name in _DEFAULTS} | {"_given": self._given}
        self._given = self._given | {name: value for name, value in params.items() if name not in _DEFAULTS}
        for name in _DEFAULTS.keys() & params.keys():
            setattr(self, name, params[name])
        try:
            self._requested()
        except Exception:
            self.__dict__.update(before)
            raise
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "settings_")

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
        self._run, self.settings_, self.hierarchy_ = run, run.settings, run.hierarchy
        return self

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

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("The estimator is not fitted yet; call fit first.")


_, *_ARGUMENTS, _ = inspect.signature(NodeEstimator.__init__).parameters.values()  # without self and **settings
_DEFAULTS = {argument.name: argument.default for argument in _ARGUMENTS}


class NodeRows(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator whose rows are node numbers; the graph stays whole in the background.

    It works with everything that selects rows and compares predictions: `cross_val_score`, `cross_val_predict`,
    `GridSearchCV`, `learning_curve`. `fit` sees the labels of the given nodes only, but the edges and features of all:
    learning is transductive, and scores are about nodes of this very graph. What transforms rows does not work
    (scalers, PCA, oversampling), because a node number is not a feature. Nor do bootstrap samples, in which a node
    occurs twice.

    Args:
        estimator: its settings are `estimator__levels` and so on.
        graph: its own labels are not used.
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
        self.estimator_: Any = clone(self.estimator).fit(self._known(nodes, given))
        return self

    @abstractmethod
    def _known(self, nodes: NDArray[np.int64], given: NDArray[Any]) -> Graph:
        """Return the graph with these labels alone."""

    def _fitted(self) -> Any:
        if not hasattr(self, "estimator_"):
            raise NotFittedError("The estimator is not fitted yet; call fit first.")
        return self.estimator_

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


def _constructor_names(settings: Settings, has_default: bool) -> tuple[str | None, str | None]:
    """Return the model and the preset to name for these settings, None for what comes without a name."""
    preset = None if settings.preset == ADAPTED else settings.preset
    unnamed = method_of(method_for(preset), preset) if preset or has_default else None
    return None if settings.method == unnamed else settings.method, preset


def _differing(settings: Settings) -> dict[str, Any]:
    """Return what differs from the preset; everything if the settings were adapted to a graph."""
    usual = {} if settings.preset == ADAPTED else settings_for(settings.method, settings.preset).values()
    given = {name: value for name, value in settings.effective(settings.values()).items() if name not in _DEFAULTS}
    return {name: value for name, value in given.items() if not usual or value != usual[name]}
