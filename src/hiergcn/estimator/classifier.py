"""`fit`, `predict`, `predict_proba`, `score`, `save`, `load`: a classifier of nodes in scikit-learn's manner.

What `fit` takes is a whole graph, for a node is classified with the help of its neighbours: there is no table of rows
that could be cut into folds. `classifier.on(graph)` gives scikit-learn's model selection what it needs: see `OnGraph`.
"""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError as SklearnNotFittedError

from hiergcn.coarsen import Hierarchy
from hiergcn.errors import HierGCNError, InputError
from hiergcn.graph import Graph, Split
from hiergcn.model.method import Weights
from hiergcn.run.adapt import PRESET as ADAPTED
from hiergcn.run.adapt import method_for
from hiergcn.run.events import OnFitEvent
from hiergcn.run.fit import draw_split, fit
from hiergcn.run.folder import LoadedRun, load_run, write_run
from hiergcn.run.predict import predict_graph, restored_model
from hiergcn.run.recipes import method_of
from hiergcn.run.result import RunResult
from hiergcn.run.settings import GROUPS, Settings, settings_for

if TYPE_CHECKING:
    from hiergcn.estimator.on_graph import OnGraph

_HIERARCHICAL = ("hgcn-plus", "hgcn")
_ALWAYS = ("model", "preset", "seed", "device")
_DEFAULTS = {"model": None, "preset": None, "seed": 0, "device": "auto"}


class NotFittedError(HierGCNError, SklearnNotFittedError):  # type: ignore[misc]  # scikit-learn has no types
    """The classifier has learned nothing yet."""


class NodeClassifier(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Classifies the nodes of a graph from the few whose label is known.

    Args:
        model: name of the method, as in `hiergcn fit --model`; by default H-GCN+, and H-GCN where a preset is named.
        preset: name of a set of settings, `paper` for instance; by default they are chosen to suit the graph, and
            `result_.reasons` says why.
        seed: of every random draw.
        device: `auto`, `cpu` or `cuda`.
        settings: any setting of the method by its name: `levels=4`, `dropout=0.5`, `class_weight="balanced"`.

    Fitted values end in an underscore:

    - `classes_`: names of the classes, in the order of the columns of `predict_proba`.
    - `embedding_`: (n, hidden), what the output layer takes in, of several networks side by side; None for a method
      without such a layer.
    - `hierarchy_`: the levels of the coarsened graph; None for a method that does not coarsen.
    - `settings_`: every setting that was used.
    - `result_`: the whole run, its history and notes included; not there after `load`.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        preset: str | None = None,
        seed: int = 0,
        device: str = "auto",
        **settings: Any,
    ) -> None:
        self.model, self.preset, self.seed, self.device = model, preset, seed, device
        self._given = dict(settings)
        self._asked_for()  # refuses what is unknown

    def fit(self, graph: Graph, split: Split | None = None, on_event: OnFitEvent | None = None) -> Self:
        """Learn from the labelled nodes; without a split, a fifth of each class is kept to select the best epoch."""
        split = split or draw_split(graph, test=0.0, seed=self.seed)
        result = fit(
            graph,
            split,
            seeds=[self.seed],
            model=self.model,
            preset=self.preset,
            changes=self._given,
            device=self.device,
            on_event=on_event,
        )
        self.result_: RunResult = result
        learned = graph.ids[np.concatenate([split.train, split.validation])]
        self._remember(result.settings, graph.class_names, result.graph.n_features, result, learned.astype(str))
        return self

    def predict_proba(self, graph: Graph | None = None) -> NDArray[Any]:
        """(n, classes): of the graph that was fitted, or of another one with the same features."""
        self._check_fitted()
        if graph is None:
            return self._probabilities
        return predict_graph(
            self.settings_,
            self._weights,
            graph,
            self._n_features,
            len(self.classes_),
            hierarchy=self.hierarchy_,
            device=self.device,
        )

    def predict(self, graph: Graph | None = None) -> NDArray[Any]:
        """(n,): the name of each node's class."""
        best = self.predict_proba(graph).argmax(axis=1)
        names: NDArray[Any] = self.classes_[best]
        return names

    def score(self, graph: Graph, nodes: ArrayLike | None = None) -> float:
        """Share of nodes whose class is predicted right, by the labels of `graph`.

        Args:
            graph: the graph that was fitted, with more labels perhaps, or another one.
            nodes: their numbers; by default every labelled node that was not learned from, told by its id.
        """
        self._check_fitted()
        if nodes is None:
            known = graph.labelled
            chosen = known[~np.isin(graph.ids[known].astype(str), self._learned)]
            if chosen.size == 0:
                raise InputError(
                    f"every labelled node of {graph.name} was learned from: keep some labels back to score by"
                )
        else:
            chosen = np.asarray(nodes)
        if graph.labels is None or (graph.labels[chosen] < 0).any():
            raise InputError("A score needs nodes whose labels are known; leave the others out.")
        truth = np.array(graph.class_names, dtype=object)[graph.labels[chosen]]
        return float((self.predict(graph)[chosen] == truth).mean())

    def embed(self, graph: Graph) -> NDArray[Any]:
        """(n, hidden): what the output layer takes in, for the graph that was fitted or another one; (n, networks *
        hidden) of several networks."""
        self._check_fitted()
        found = self._embedding(graph)
        if found is None:
            raise InputError(f"{self.settings_.method} without hidden layers of its own has no embedding to give")
        return found

    @cached_property
    def embedding_(self) -> NDArray[Any] | None:
        self._check_fitted()
        if not hasattr(self, "result_"):
            raise NotFittedError("A run folder holds no graph to embed; give it to embed(graph).")
        return self._embedding(self.result_.graph)

    def on(self, graph: Graph) -> "OnGraph":
        """The same classifier for nodes of this graph, to be given to scikit-learn's model selection."""
        from hiergcn.estimator.on_graph import OnGraph

        return OnGraph(self, graph)

    def save(self, path: str | Path) -> None:
        """Write a run folder, which must be new or empty."""
        if not hasattr(self, "result_"):
            raise NotFittedError("This classifier has no run to save; call fit first.")
        write_run(self.result_, Path(path), {"python": repr(self)})

    @classmethod
    def load(cls, path: str | Path, device: str = "auto") -> Self:
        """A classifier from a run folder, that of `save` or of `hiergcn fit --out`."""
        run = load_run(Path(path))
        model, preset = _constructor_names(run.settings)
        loaded = cls(model=model, preset=preset, seed=run.metrics["selected_seed"], device=device)
        loaded._given = _differing(run.settings)
        table = run.predictions
        learned = table.loc[table["split"].isin(["train", "validation"]), "id"].to_numpy(str)
        loaded._remember(run.settings, run.config["class_names"], run.config["n_features"], run, learned)
        return loaded

    @property
    def settings(self) -> Settings:
        """What is asked for before a graph is seen; `settings_` is what was used."""
        return self._asked_for()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What the constructor was given, by name."""
        return {name: getattr(self, name) for name in _ALWAYS} | self._given

    def set_params(self, **params: Any) -> Self:
        """Change what the constructor was given: `set_params(levels=3, seed=1)`."""
        kept = {name: getattr(self, name) for name in _ALWAYS} | {"_given": self._given}
        names = self.get_params()
        self._given = self._given | {name: value for name, value in params.items() if name not in _ALWAYS}
        for name in _ALWAYS:
            if name in params and name in names:
                setattr(self, name, params[name])
        try:
            self._asked_for()
        except InputError:
            self.__dict__.update(kept)  # all of it or nothing
            raise
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown = {name: value for name, value in self.get_params().items() if _DEFAULTS.get(name, ...) != value}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"[:N_CHAR_MAX]

    def _asked_for(self) -> Settings:
        return settings_for(self._method, self.preset).override(self._given)

    @property
    def _method(self) -> str:
        return self.model or method_for(self.preset)

    def _embedding(self, graph: Graph) -> NDArray[Any] | None:
        model, prepared = restored_model(
            self.settings_,
            self._weights,
            graph,
            self._n_features,
            len(self.classes_),
            hierarchy=self.hierarchy_,
            device=self.device,
        )
        embed: Any = getattr(model, "embed", None)
        if embed is None or (self.hierarchy_ is not None and self.hierarchy_.depth == 0):
            return None
        with torch.no_grad():
            H: NDArray[Any] = embed(prepared.features).cpu().numpy()
        return H

    def _remember(
        self,
        settings: Settings,
        classes: Any,
        n_features: int,
        run: RunResult | LoadedRun,
        learned: NDArray[Any],
    ) -> None:
        self.__dict__.pop("embedding_", None)  # that of an earlier fit
        self.settings_ = settings
        self.classes_: NDArray[Any] = np.array(list(classes), dtype=object)
        self.hierarchy_: Hierarchy | None = run.hierarchy
        self._weights: Weights = run.weights
        self._probabilities: NDArray[Any] = run.probabilities
        self._n_features, self._learned = n_features, learned

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("This classifier has learned nothing yet; call fit first.")


class HGCNClassifier(NodeClassifier):
    """H-GCN+, with settings that suit the graph; H-GCN with `model="hgcn"`, as in the paper with `preset="paper"`.

    See `NodeClassifier` for its methods and `HGCNPlusConfig`, `HGCNConfig`, `TrainConfig` and `CoarsenConfig` for
    settings.
    """

    def __init__(
        self,
        *,
        model: str | None = None,
        preset: str | None = None,
        seed: int = 0,
        device: str = "auto",
        **settings: Any,
    ) -> None:
        super().__init__(model, preset=preset, seed=seed, device=device, **settings)

    def _asked_for(self) -> Settings:
        if self.model not in (None, *_HIERARCHICAL):
            raise InputError(f"{self.model} is not H-GCN: give {' or '.join(_HIERARCHICAL)}, or use NodeClassifier.")
        return super()._asked_for()


def _constructor_names(settings: Settings) -> tuple[str | None, str | None]:
    """The model and the preset to name for these settings, None where it is what comes without a name."""
    preset = None if settings.preset == ADAPTED else settings.preset
    unnamed = method_of(method_for(preset), preset)
    return None if settings.method == unnamed else settings.method, preset


def _differing(settings: Settings) -> dict[str, Any]:
    """What must be given beside the preset to get these settings; all of them where they were chosen for a graph."""
    usual = None if settings.preset == ADAPTED else settings_for(settings.method, settings.preset)
    return {
        name: value
        for group in GROUPS
        for name, value in vars(getattr(settings, group)).items()
        if name not in _ALWAYS and (usual is None or value != getattr(getattr(usual, group), name))
    }
