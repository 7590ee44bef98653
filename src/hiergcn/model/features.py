"""Feature scaling, and features as tensors.

`row`, `l2` and `binary` scale each row by itself, `none` nothing. `standard` scales columns to mean 0 and standard
deviation 1; these statistics belong to the training graph, so they are saved with the model and applied to any other
graph. Standardised sparse features are divided only, since subtracting the mean would fill them.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from hiergcn.coarsening import Hierarchy
from hiergcn.graph.task import Task
from hiergcn.model.method import Features, NodeModel, Prepared, Weights, WrappedMethod
from hiergcn.model.ops.sparse import SparseMatrix
from hiergcn.settings.input_config import Scaling

_SPARSE_BELOW = 0.25  # dense features with a smaller share of non-zeros are multiplied faster as sparse ones
_MEAN, _SPREAD = "feature_mean", "feature_spread"


def scaled(features: np.ndarray | sp.csr_array, scaling: Scaling) -> np.ndarray | sp.csr_array:
    """Scale rows. `row`: absolute values sum to 1 (Kipf & Welling); `l2`: length 1; `binary`: 1 for non-zeros."""
    if scaling == "none":
        return features
    if scaling == "binary":
        return features.astype(bool).astype(np.float32)
    order = 1 if scaling == "row" else 2
    if isinstance(features, sp.csr_array):
        row = np.repeat(np.arange(features.shape[0]), np.diff(features.indptr))
        sums = np.bincount(row, weights=np.abs(features.data) ** order, minlength=features.shape[0])
        values = features.data / _lengths(sums, order, features.dtype)[row]
        return sp.csr_array((values, features.indices, features.indptr), shape=features.shape)
    rows: np.ndarray = features / _lengths((np.abs(features) ** order).sum(axis=1), order, features.dtype)[:, None]
    return rows


def _lengths(sums: np.ndarray, order: int, dtype: np.dtype[Any]) -> np.ndarray:
    """Return the lengths of rows by the sums of their absolute values to the power of `order`; 1 for an empty row."""
    return np.where(sums > 0, sums ** (1.0 / order), 1.0).astype(dtype)


def stored_entries(features: np.ndarray | sp.csr_array) -> int | None:
    """Return how many entries the features have as a sparse tensor; None if they become a dense one."""
    if not isinstance(features, np.ndarray):
        return int(features.nnz)
    entries = int(np.count_nonzero(features))
    return entries if entries < _SPARSE_BELOW * features.size else None


def feature_tensor(task: Task, scaling: Scaling, device: torch.device) -> Features:
    """Return the task's features on the device; a graph without features gets one column per node."""
    features = sp.eye_array(task.n_nodes, format="csr") if task.features is None else scaled(task.features, scaling)
    if stored_entries(features) is None:
        copy = np.array(features, dtype=np.float32, order="C")  # a graph's own arrays are read-only, tensors are not
        return torch.from_numpy(copy).to(device)
    return SparseMatrix.from_scipy(sp.csr_array(features), device)


class Standardised(WrappedMethod):
    """Any method, on features of mean 0 and standard deviation 1. Its structure is the method's and the statistics."""

    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        statistics = _statistics(task.features) if weights is None else weights
        prepared = self.method.prepare(_standardised(task, statistics), hierarchy, device, weights)
        own = {name: statistics[name].to(device) for name in (_MEAN, _SPREAD)}
        return Prepared(prepared.features, (prepared.structure, own))

    def statistics(self, task: Task, hierarchy: Hierarchy | None) -> dict[str, torch.Tensor]:
        own = _statistics(task.features)
        return own | self.method.statistics(_standardised(task, own), hierarchy)

    def build(self, prepared: Prepared, n_classes: int, generator: torch.Generator) -> NodeModel:
        structure, statistics = prepared.structure
        model = self.method.build(Prepared(prepared.features, structure), n_classes, generator)
        for name, statistic in statistics.items():  # (f,) each
            model.register_buffer(name, statistic)
        return model


def _statistics(features: np.ndarray | sp.csr_array | None) -> dict[str, torch.Tensor]:
    """Return mean and deviation of each column, or 0 and root mean square if sparse; a deviation of 0 becomes 1."""
    if features is None:
        mean, spread = np.zeros(0), np.ones(0)
    elif isinstance(features, np.ndarray):
        mean, spread = features.mean(axis=0, dtype=np.float64), features.std(axis=0, dtype=np.float64)
    else:
        mean = np.zeros(features.shape[1])
        spread = np.sqrt(features.power(2).sum(axis=0) / max(features.shape[0], 1))
    return {_MEAN: torch.from_numpy(mean), _SPREAD: torch.from_numpy(np.where(spread > 0, spread, 1.0))}


def _standardised(task: Task, statistics: Weights) -> Task:
    mean, spread = (statistics[name].numpy() for name in (_MEAN, _SPREAD))
    if task.features is None:
        return task
    if isinstance(task.features, np.ndarray):
        return replace(task, features=(task.features - mean) / spread)
    return replace(task, features=sp.csr_array(task.features @ sp.diags_array(1.0 / spread)))
