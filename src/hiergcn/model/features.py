"""Feature scaling, and features as tensors.

`row`, `l2` and `binary` scale each row by itself, `none` nothing. `standard` scales columns to mean 0 and standard
deviation 1; these statistics belong to the training graph, so they are saved with the model and applied to any other
graph. Standardised sparse features are divided only, since subtracting the mean would fill them.

Harmonic columns are the training labels, diffused over the graph to convergence, as further features. Those of a
training node come from the labels of the other folds, so that no node sees its own label. Another split needs other
columns, and another graph is given the labels that it shares with the training graph.
"""

from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
import torch
from torch import nn

from hiergcn.coarsen import Hierarchy
from hiergcn.coarsen.diffusion import Diffusion
from hiergcn.graph.task import Task
from hiergcn.model.config_types import InputConfig, Scaling
from hiergcn.model.method import Features, Method, NodeModel, Prepared, Weights, WrappedMethod
from hiergcn.model.ops.dropout import dropout
from hiergcn.model.ops.sparse_features import SparseFeatures
from hiergcn.model.ops.vmap import concat_columns

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
    return SparseFeatures.from_scipy(sp.csr_array(features), device)


class Standardised(WrappedMethod):
    """Any method, on features of mean 0 and standard deviation 1. Its structure is the method's and the statistics."""

    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        mean, spread = (
            _statistics(task.features) if weights is None else (weights[_MEAN].numpy(), weights[_SPREAD].numpy())
        )
        own = replace(task, features=_standardised(task.features, mean, spread))
        prepared = self.method.prepare(own, hierarchy, device, weights)
        statistics = {_MEAN: torch.from_numpy(mean).to(device), _SPREAD: torch.from_numpy(spread).to(device)}
        return Prepared(prepared.features, (prepared.structure, statistics))

    def build(self, prepared: Prepared, n_classes: int, generator: torch.Generator) -> NodeModel:
        structure, statistics = prepared.structure
        model = self.method.build(Prepared(prepared.features, structure), n_classes, generator)
        for name, statistic in statistics.items():  # (f,) each
            model.register_buffer(name, statistic)
        return model


def _statistics(features: np.ndarray | sp.csr_array | None) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and deviation of each column, or 0 and root mean square if sparse; a deviation of 0 becomes 1."""
    if features is None:
        return np.zeros(0), np.ones(0)
    if isinstance(features, np.ndarray):
        mean, spread = features.mean(axis=0, dtype=np.float64), features.std(axis=0, dtype=np.float64)
    else:
        mean = np.zeros(features.shape[1])
        spread = np.sqrt(features.power(2).sum(axis=0) / max(features.shape[0], 1))
    return mean, np.where(spread > 0, spread, 1.0)


def _standardised(
    features: np.ndarray | sp.csr_array | None, mean: np.ndarray, spread: np.ndarray
) -> np.ndarray | sp.csr_array | None:
    if features is None:
        return None
    if isinstance(features, np.ndarray):
        dense: np.ndarray = (features - mean) / spread
        return dense
    return sp.csr_array(features @ sp.diags_array(1.0 / spread))


_made: WeakKeyDictionary[Task, dict[tuple[bool, float], np.ndarray]] = WeakKeyDictionary()  # for several methods


def harmonic_columns(task: Task, sharp: bool = False, fade: float = 0.0) -> np.ndarray:
    """Return the cross-fitted columns of a task, (n, classes)."""
    made = _made.setdefault(task, {})
    if (sharp, fade) not in made:
        diffusion = Diffusion(task.adjacency, sharp, fade)
        columns = diffusion.cross_fitted(task.train, task.train_labels, task.n_classes)
        made[sharp, fade] = columns.astype(np.float32)
    return made[sharp, fade]


class HarmonicColumns(WrappedMethod):
    """Any method with features, given harmonic columns beside them.

    Args:
        method: takes the features as they are, apart from standardising.
        scaling: of the rows, before the columns are added.
        config: says how the labels are diffused, and how often training does without them.
    """

    def __init__(self, method: Method, scaling: Scaling, config: InputConfig) -> None:
        super().__init__(method)
        self.scaling, self.config = scaling, config
        self.uses_labels = True

    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        columns = harmonic_columns(task, self.config.sharp, self.config.fade)
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
        model = self.method.build(prepared, n_classes, generator)
        if self.config.column_dropout:
            model.column_dropout = ColumnDropout(n_classes, self.config.column_dropout, generator)
            model.register_forward_pre_hook(_drop_columns)
            model.draws = True
        return model

    def redraw(self, model: NodeModel, generator: torch.Generator) -> bool:
        for layer in model.modules():
            if isinstance(layer, ColumnDropout):
                layer.generator = generator
        return super().redraw(model, generator)


class ColumnDropout(nn.Module):
    """In training, sets the last columns of the features to 0, all or none of them, with probability `rate`.

    A model that always sees the labels of its surroundings learns little else, and knows nothing in parts of the graph
    without labels. There faded columns are near their mean, which is 0 once the features are standardised.
    """

    def __init__(self, columns: int, rate: float, generator: torch.Generator) -> None:
        super().__init__()
        self.columns, self.rate, self.generator = columns, rate, generator

    def forward(self, features: Features) -> Features:
        if not self.training:
            return features
        one = features.values if isinstance(features, SparseFeatures) else features
        keep = (dropout(one.new_ones(1), self.rate, self.generator) > 0).to(one.dtype)  # (1,): 0 or 1
        first = features.shape[1] - self.columns
        if isinstance(features, SparseFeatures):
            dropped = features.pattern.column >= first
            return replace(features, values=torch.where(dropped, features.values * keep, features.values))
        return concat_columns(features[:, :first], features[:, first:] * keep)


def _drop_columns(model: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...]:
    assert isinstance(model.column_dropout, ColumnDropout)
    return model.column_dropout(given[0]), *given[1:]
