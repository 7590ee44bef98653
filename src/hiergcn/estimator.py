"""The front door in Python: `fit`, `predict`, `predict_proba`, `save`, `load`."""

from pathlib import Path
from typing import Any, Self

import numpy as np

from hiergcn.coarsen import Hierarchy
from hiergcn.errors import HierGCNError, InputError
from hiergcn.graph import Graph, Split
from hiergcn.run.fit import Listener, fit
from hiergcn.run.folder import load_run, write_run
from hiergcn.run.predict import predict_graph
from hiergcn.run.result import RunResult
from hiergcn.run.settings import Settings, settings_for


class NotFittedError(HierGCNError, AttributeError):
    """The classifier has learned nothing yet."""


class NodeClassifier:
    """Classifies the nodes of a graph from the few whose label is known.

    Args:
        model: name of the method, as in `hiergcn fit --model`.
        preset: name of a set of settings, `paper` for instance; by default the method's own choice.
        seed: of every random draw.
        device: `auto`, `cpu` or `cuda`.
        settings: any setting of the method by its name, `levels=4` or `dropout=0.5` for instance.

    Fitted values end in an underscore: `classes_`, `hierarchy_`, `result_`.
    """

    def __init__(
        self, model: str = "hgcn", *, preset: str | None = None, seed: int = 0, device: str = "auto", **settings: Any
    ) -> None:
        self.seed = seed
        self.device = device
        self.settings: Settings = settings_for(model, preset).override(settings)

    def fit(self, graph: Graph, split: Split | None = None, listener: Listener | None = None) -> Self:
        """Learn from the labelled nodes; without a split, a fifth of each class is kept to select the best epoch."""
        if graph.labels is None:
            raise InputError(f"{graph.name} has no labels; give the class of some nodes to learn from.")
        split = split or Split.holdout(graph.labels, test=0.0, seed=self.seed)
        result = fit(graph, split, self.settings, [self.seed], device=self.device, listener=listener)
        self.result_: RunResult = result
        self._remember(graph.class_names, graph.n_features, result.probabilities, result.weights, result.hierarchy)
        return self

    def predict_proba(self, graph: Graph | None = None) -> np.ndarray:
        """(n, classes): of the graph that was fitted, or of another one with the same features."""
        self._check_fitted()
        if graph is None:
            return self._probabilities
        return predict_graph(
            self.settings,
            self._weights,
            graph,
            self._n_features,
            len(self.classes_),
            hierarchy=self.hierarchy_,
            device=self.device,
        )

    def predict(self, graph: Graph | None = None) -> np.ndarray:
        """(n,): the name of each node's class."""
        best = self.predict_proba(graph).argmax(axis=1)
        names: np.ndarray = np.array(self.classes_, dtype=object)[best]
        return names

    def score(self, graph: Graph, nodes: np.ndarray) -> float:
        """Share of these labelled nodes whose class is predicted right."""
        self._check_fitted()
        if graph.labels is None or (graph.labels[nodes] < 0).any():
            raise InputError("A score needs nodes whose labels are known; leave the others out.")
        truth = np.array(graph.class_names, dtype=object)[graph.labels[nodes]]
        return float((self.predict(graph)[nodes] == truth).mean())

    def save(self, path: str | Path) -> None:
        """Write a run folder, which must be new or empty."""
        if not hasattr(self, "result_"):
            raise NotFittedError("This classifier has no run to save; call fit first.")
        write_run(self.result_, Path(path), {"python": repr(self)})

    @classmethod
    def load(cls, path: str | Path, device: str = "auto") -> Self:
        """A classifier from a run folder, that of `save` or of `hiergcn fit --out`."""
        run = load_run(Path(path))
        loaded = cls.__new__(cls)
        loaded.seed, loaded.device, loaded.settings = run.metrics["selected_seed"], device, run.settings
        names = tuple(run.config["class_names"])
        loaded._remember(names, run.config["n_features"], run.probabilities, run.weights, run.hierarchy)
        return loaded

    def _remember(
        self,
        classes: tuple[str, ...],
        n_features: int,
        probabilities: np.ndarray,
        weights: Any,
        hierarchy: Hierarchy | None,
    ) -> None:
        self.classes_ = classes
        self.hierarchy_ = hierarchy
        self._n_features, self._probabilities, self._weights = n_features, probabilities, weights

    def _check_fitted(self) -> None:
        if not hasattr(self, "classes_"):
            raise NotFittedError("This classifier has learned nothing yet; call fit first.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(preset={self.settings.preset!r}, seed={self.seed})"


class HGCNClassifier(NodeClassifier):
    """H-GCN; see `NodeClassifier` for its methods and `HGCNConfig`, `TrainConfig` and `CoarsenConfig` for settings."""

    def __init__(self, *, preset: str | None = None, seed: int = 0, device: str = "auto", **settings: Any) -> None:
        super().__init__("hgcn", preset=preset, seed=seed, device=device, **settings)
