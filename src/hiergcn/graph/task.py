"""The learning task: a graph with the labels that training may use. It has no test labels, so nothing can read them."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.sparse as sp

from hiergcn.graph.graph import Graph
from hiergcn.graph.split import Split
from hiergcn.graph.target import Classes, Target

_NONE = np.empty(0, dtype=np.int64)


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
    target: Target = Classes()  # noqa: RUF009  (immutable)
    """What the labels are, without those of other nodes; of numbers, with the unit in which they are standardised."""

    @classmethod
    def of(cls, graph: Graph, split: Split) -> Self:
        """Return the task of a graph and a split, which is checked."""
        split.check(graph)
        truth, target = graph.truth, graph.target.for_training(split.train)
        return cls(
            adjacency=graph.adjacency,
            features=graph.features,
            n_classes=graph.n_outputs,
            train=split.train,
            train_labels=target.standardised(truth[split.train]),
            validation=split.validation,
            validation_labels=target.standardised(truth[split.validation]),
            target=target,
        )

    @classmethod
    def to_predict(
        cls, graph: Graph, n_classes: int, train: np.ndarray = _NONE, train_labels: np.ndarray = _NONE
    ) -> Self:
        """Return a task to predict on; methods that diffuse labels need those of some training nodes."""
        return cls(graph.adjacency, graph.features, n_classes, train, train_labels, _NONE, _NONE)

    @property
    def n_nodes(self) -> int:
        return int(self.adjacency.shape[0])
