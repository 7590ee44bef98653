"""Harmonic columns: the training labels, diffused over the graph to convergence, as further features.

The columns of a training node come from the labels of the other folds, so that no node sees its own label. They depend
on the training labels: another split needs other columns, and another graph is given the labels that it shares with
the training graph.
"""

from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
import torch

from hiergcn.coarsen import Hierarchy
from hiergcn.coarsen.diffusion import Diffusion
from hiergcn.graph.task import Task
from hiergcn.model.config_types import Scaling
from hiergcn.model.features import scaled
from hiergcn.model.method import Method, NodeModel, Prepared, Weights, WrappedMethod

_made: WeakKeyDictionary[Task, np.ndarray] = WeakKeyDictionary()  # several methods use the columns of one task


def harmonic_columns(task: Task) -> np.ndarray:
    """Return the cross-fitted columns of a task, (n, classes)."""
    if task not in _made:
        columns = Diffusion(task.adjacency).cross_fitted(task.train, task.train_labels, task.n_classes)
        _made[task] = columns.astype(np.float32)
    return _made[task]


class HarmonicColumns(WrappedMethod):
    """Any method with features, given harmonic columns beside them.

    Args:
        method: takes the features as they are, apart from standardising.
        scaling: of the rows, before the columns are added.
    """

    def __init__(self, method: Method, scaling: Scaling) -> None:
        super().__init__(method)
        self.scaling = scaling
        self.uses_labels = True

    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        columns = harmonic_columns(task)
        if task.features is None:
            features: np.ndarray | sp.csr_array = columns
        else:
            own = scaled(task.features, self.scaling)
            if isinstance(own, np.ndarray):
                features = np.hstack([own, columns])
            else:
                features = sp.csr_array(sp.hstack([own, sp.csr_array(columns)], format="csr"))
        return self.method.prepare(replace(task, features=features), hierarchy, device, weights)

    def build(self, prepared: Prepared, n_classes: int, generator: torch.Generator) -> NodeModel:
        return self.method.build(prepared, n_classes, generator)
