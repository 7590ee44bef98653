"""The learning task: a graph with the labels that training may use. It has no test labels, so nothing can read them."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.sparse as sp

from hiergcn.graph.graph import Graph
from hiergcn.graph.split import Split


@dataclass(frozen=True)
class Scale:
    """Mean and standard deviation of the training values: models learn numeric targets in these units."""

    mean: float
    spread: float

    @classmethod
    def of(cls, values: np.ndarray) -> Self:
        spread = float(values.std())
        return cls(float(values.mean()), spread if spread > 0 else 1.0)

    def standardised(self, values: np.ndarray) -> np.ndarray:
        scaled: np.ndarray = ((values - self.mean) / self.spread).astype(np.float32)
        return scaled

    def restored(self, outputs: np.ndarray) -> np.ndarray:
        """Return a model's outputs in the unit of the targets."""
        values: np.ndarray = outputs.astype(np.float64) * self.spread + self.mean
        return values


@dataclass(frozen=True, eq=False)
class Task:
    """A graph with the labels of its training and validation nodes: classes, or standardised numbers."""

    adjacency: sp.csr_array
    features: np.ndarray | sp.csr_array | None
    n_classes: int
    """Outputs per node; 1 if they are numbers."""
    train: np.ndarray
    train_labels: np.ndarray
    validation: np.ndarray
    validation_labels: np.ndarray
    scale: Scale | None = None
    """Unit of the numbers; None if the labels are classes."""

    @classmethod
    def of(cls, graph: Graph, split: Split) -> Self:
        """Return the task of a graph and a split, which is checked."""
        split.check(graph)
        train_labels, validation_labels = graph.truth[split.train], graph.truth[split.validation]
        scale = None
        if graph.targets is not None:
            scale = Scale.of(train_labels)
            train_labels, validation_labels = scale.standardised(train_labels), scale.standardised(validation_labels)
        return cls(
            adjacency=graph.adjacency,
            features=graph.features,
            n_classes=graph.n_outputs,
            train=split.train,
            train_labels=train_labels,
            validation=split.validation,
            validation_labels=validation_labels,
            scale=scale,
        )

    @classmethod
    def unlabelled(cls, graph: Graph, n_classes: int) -> Self:
        """Return a task to predict on, without labels."""
        none = np.empty(0, dtype=np.int64)
        return cls.known(graph, n_classes, none, none)

    @classmethod
    def known(cls, graph: Graph, n_classes: int, train: np.ndarray, train_labels: np.ndarray) -> Self:
        """Return a task to predict on with the labels of some training nodes, for methods that diffuse them."""
        none = np.empty(0, dtype=np.int64)
        return cls(graph.adjacency, graph.features, n_classes, train, train_labels, none, none)

    @property
    def n_nodes(self) -> int:
        return int(self.adjacency.shape[0])
