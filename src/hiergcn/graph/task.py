"""The learning task: a graph with the labels that training may use. It has no test labels, so nothing can read them."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.sparse as sp

from hiergcn.graph.graph import Graph
from hiergcn.graph.split import Split


@dataclass(frozen=True, eq=False)
class Task:
    """A graph with the labels of its training and validation nodes."""

    adjacency: sp.csr_array
    features: np.ndarray | sp.csr_array | None
    n_classes: int
    train: np.ndarray
    train_labels: np.ndarray
    validation: np.ndarray
    validation_labels: np.ndarray

    @classmethod
    def of(cls, graph: Graph, split: Split) -> Self:
        """Return the task of a graph and a split, which is checked."""
        split.check(graph)
        assert graph.labels is not None
        return cls(
            adjacency=graph.adjacency,
            features=graph.features,
            n_classes=graph.n_classes,
            train=split.train,
            train_labels=graph.labels[split.train],
            validation=split.validation,
            validation_labels=graph.labels[split.validation],
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
