"""Feature scaling, and features as tensors.

`row`, `l2` and `binary` scale each row by itself, `none` nothing. `standard` scales columns to mean 0 and standard
deviation 1; these statistics belong to the training graph, so they are saved with the model and applied to any other
graph. Standardised sparse features are divided only, since subtracting the mean would fill them.

Harmonic columns are the training labels, diffused over the graph to convergence, as further features. Those of a
training node come from the labels of the other folds, so that no node sees its own label. Another split needs other
columns, and another graph is given the labels that it shares with the training graph.

Hop columns describe what surrounds a node at every scale: the logarithm of the number of nodes within 1, 2, 4, ...
hops, and their mean features. They need neither labels nor layers, and hold in parts of the graph without labels, too.
The counts are those whose sum over the nodes is the neighbourhood function (Boldi, Rosa & Vigna, HyperANF, 2011); the
means go back to SIGN (Frasca et al., 2020), which averages by random walks.

Degrees may stand in place of the features: a class may be a role, such as hub or leaf, that has nothing to do with a
node's position or features.
"""

from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary, finalize

import numpy as np
import scipy.sparse as sp
import torch

from hiergcn.coarsen import Hierarchy
from hiergcn.coarsen.diffusion import Diffusion
from hiergcn.errors import InputError
from hiergcn.graph.neighbourhoods import within_hops
from hiergcn.graph.structure import surroundings
from hiergcn.graph.task import Task
from hiergcn.model.config_types import Scaling
from hiergcn.model.memory_cost import MemoryPlan, Workload
from hiergcn.model.method import Features, Method, NodeModel, Prepared, Weights, WrappedMethod
from hiergcn.model.ops.sparse import SparseMatrix

_SPARSE_BELOW = 0.25  # dense features with a smaller share of non-zeros are multiplied faster as sparse ones
_MEAN, _SPREAD = "feature_mean", "feature_spread"
COUNT_HOPS = (1, 2, 4, 8, 16, 32, 64)
MEAN_HOPS = (1, 2, 4, 8, 16, 32)
WIDEST = 256
"""Most features whose means are taken: there are six columns of means for each."""


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


class OnOtherColumns(WrappedMethod):
    """Any method, on the columns that a subclass makes of a task."""

    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        return self.method.prepare(self._with_columns(task), hierarchy, device, weights)

    def statistics(self, task: Task, hierarchy: Hierarchy | None) -> dict[str, torch.Tensor]:
        return self.method.statistics(self._with_columns(task), hierarchy)

    def _with_columns(self, task: Task) -> Task:
        raise NotImplementedError


class Degrees(OnOtherColumns):
    """Any method, on the `structure.SURROUNDINGS` of each node in place of its features."""

    def _with_columns(self, task: Task) -> Task:
        return replace(task, features=surroundings(task.adjacency))


_made: WeakKeyDictionary[Task, dict[bool, np.ndarray]] = WeakKeyDictionary()  # for several methods


def harmonic_columns(task: Task, sharp: bool = False) -> np.ndarray:
    """Return the cross-fitted columns of a task, (n, classes)."""
    made = _made.setdefault(task, {})
    if sharp not in made:
        columns = Diffusion(task.adjacency, sharp).cross_fitted(task.train, task.train_labels, task.n_classes)
        made[sharp] = columns.astype(np.float32)
    return made[sharp]


class HarmonicColumns(OnOtherColumns):
    """Any method with features, given harmonic columns beside them.

    Args:
        method: takes the features as they are, apart from standardising.
        scaling: of the rows, before the columns are added.
        sharp: how the labels are diffused; see `Diffusion`.
    """

    def __init__(self, method: Method, scaling: Scaling, sharp: bool) -> None:
        super().__init__(method)
        self.scaling, self.sharp = scaling, sharp
        self.uses_labels = self.needs_whole = True

    def _with_columns(self, task: Task) -> Task:
        own = None if task.features is None else scaled(task.features, self.scaling)
        return _joined(task, own, harmonic_columns(task, self.sharp))


def _joined(task: Task, own: np.ndarray | sp.csr_array | None, columns: np.ndarray) -> Task:
    """Return the task with columns after its own features; sparse features stay sparse."""
    if own is None:
        features: np.ndarray | sp.csr_array = columns
    elif isinstance(own, np.ndarray):
        features = np.hstack([own, columns])
    else:
        features = sp.csr_array(sp.hstack([own, sp.csr_array(columns)], format="csr"))
    return replace(task, features=features)


class HopColumns(OnOtherColumns):
    """Any method with features, given hop columns beside them.

    Args:
        method: takes the features as they are, apart from standardising.
        scaling: of the rows, before means are taken and columns are added.
        counts: whether to add the logarithms of the nodes within `COUNT_HOPS`.
        means: whether to add the mean features of the nodes within `MEAN_HOPS`.
    """

    def __init__(self, method: Method, scaling: Scaling, counts: bool, means: bool) -> None:
        super().__init__(method)
        self.scaling, self.counts, self.means, self.needs_whole = scaling, counts, means, True

    def memory(self, work: Workload) -> MemoryPlan:
        more = len(COUNT_HOPS) * self.counts + len(MEAN_HOPS) * work.n_features * self.means
        stored = None if work.stored is None else work.stored + work.nodes * more
        return self.method.memory(replace(work, n_features=work.n_features + more, stored=stored))

    def _with_columns(self, task: Task) -> Task:
        own = None if task.features is None else scaled(task.features, self.scaling)
        columns = [hop_counts(task)] if self.counts else []
        columns += [_hop_means(task, self.scaling)] if self.means else []
        return _joined(task, own, np.hstack(columns))


_of_graphs: dict[tuple[Any, ...], np.ndarray] = {}  # hop columns of graphs that are alive, for several tasks


def hop_counts(task: Task) -> np.ndarray:
    """Return the logarithms of the nodes within `COUNT_HOPS` of each node, (n, 7)."""
    key = (id(task.adjacency),)
    if key not in _of_graphs:
        counts, _ = within_hops(task.adjacency, COUNT_HOPS)
        _of_graphs[key] = np.log(counts).astype(np.float32)
        finalize(task.adjacency, _of_graphs.pop, key, None)
    return _of_graphs[key]


def _hop_means(task: Task, scaling: Scaling) -> np.ndarray:
    features = task.features
    if not isinstance(features, np.ndarray) or features.shape[1] > WIDEST:
        raise InputError(f"hop_means takes up to {WIDEST} dense features, not sparse ones. Set hop_means to false.")
    key = (id(task.adjacency), id(features), scaling)
    if key not in _of_graphs:
        _, means = within_hops(task.adjacency, MEAN_HOPS, np.asarray(scaled(features, scaling)))
        _of_graphs[key] = means.reshape(len(means), -1).astype(np.float32)
        for owner in (task.adjacency, features):
            finalize(owner, _of_graphs.pop, key, None)
    return _of_graphs[key]
