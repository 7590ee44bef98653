"""Features of mean 0 and standard deviation 1, by the graph that a model learned from.

The mean and the deviation of each column are part of the model, as its weights are: on another graph, the same number
means the same. Sparse features are divided only, as taking away the mean would fill them.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from hiergcn.coarsen import Hierarchy
from hiergcn.graph.task import Task
from hiergcn.model.memory_cost import MemoryPlan, Workload
from hiergcn.model.method import Method, NodeModel, Prepared, Weights

MEAN, SPREAD = "feature_mean", "feature_spread"


@dataclass(frozen=True, eq=False)
class _Scaled:
    """What the method itself prepared, and how the columns were scaled before."""

    structure: Any
    mean: Tensor  # (f,)
    spread: Tensor  # (f,)


class Standardised(Method):
    """Any method, on standardised features."""

    def __init__(self, method: Method) -> None:
        self.method = method
        self.uses_hierarchy, self.inductive = method.uses_hierarchy, method.inductive
        self.replicates = method.replicates

    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        mean, spread = (
            _statistics(task.features) if weights is None else (weights[MEAN].numpy(), weights[SPREAD].numpy())
        )
        prepared = self.method.prepare(
            replace(task, features=_scaled(task.features, mean, spread)), hierarchy, device, weights
        )
        scaled = _Scaled(prepared.structure, torch.from_numpy(mean).to(device), torch.from_numpy(spread).to(device))
        return Prepared(prepared.features, scaled)

    def build(self, prepared: Prepared, n_classes: int, generator: torch.Generator) -> NodeModel:
        scaled: _Scaled = prepared.structure
        model = self.method.build(Prepared(prepared.features, scaled.structure), n_classes, generator)
        model.register_buffer(MEAN, scaled.mean)
        model.register_buffer(SPREAD, scaled.spread)
        return model

    def memory(self, work: Workload) -> MemoryPlan:
        return self.method.memory(work)

    def redraw(self, model: NodeModel, generator: torch.Generator) -> bool:
        return self.method.redraw(model, generator)


def _statistics(features: np.ndarray | sp.csr_array | None) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each column; 0 and the root mean square for sparse ones; a spread of 0 is 1."""
    if features is None:
        return np.zeros(0), np.ones(0)
    if isinstance(features, np.ndarray):
        mean, spread = features.mean(axis=0, dtype=np.float64), features.std(axis=0, dtype=np.float64)
    else:
        mean = np.zeros(features.shape[1])
        spread = np.sqrt(features.power(2).sum(axis=0) / max(features.shape[0], 1))
    return mean, np.where(spread > 0, spread, 1.0)


def _scaled(
    features: np.ndarray | sp.csr_array | None, mean: np.ndarray, spread: np.ndarray
) -> np.ndarray | sp.csr_array | None:
    if features is None:
        return None
    if isinstance(features, np.ndarray):
        dense: np.ndarray = (features - mean) / spread
        return dense
    return sp.csr_array(features @ sp.diags_array(1.0 / spread))
