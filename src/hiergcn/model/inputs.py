"""Inputs that are made from the graph and its labels, beside the features of the nodes or in their place.

Harmonic columns are the training labels, diffused over the graph to convergence. Those of a training node come from the
labels of the other folds, so that no node sees its own label. Another split needs other columns, and another graph is
given the labels that it shares with the training graph.

Hop columns describe what surrounds a node at every scale: the logarithm of the number of nodes within 1, 2, 4, ...
hops, and their mean features. They need neither labels nor layers, and hold in parts of the graph without labels, too.
The counts are those whose sum over the nodes is the neighbourhood function (Boldi, Rosa & Vigna, HyperANF, 2011); the
means go back to SIGN (Frasca et al., 2020), which averages by random walks.

Degrees may stand in place of the features: a class may be a role, such as hub or leaf, that has nothing to do with a
node's position or features. Nearness of labels is a perceptron beside the network, see `nearness`.

To add a kind, subclass `Input`, list it in `INPUTS`, and give `settings.fields.InputConfig` the setting.

Features are scaled, and become tensors, here, too. `row`, `l2` and `binary` scale each row by itself, `none` nothing.
`standard` scales columns to mean 0 and standard deviation 1; these statistics belong to the training graph, so they are
saved with the model and applied to any other graph. Standardised sparse features are divided only, since subtracting
the mean would fill them.

`build_method` leads from settings to a method: inputs, scaling and ensembles wrap the method itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar
from weakref import finalize

import numpy as np
import scipy.sparse as sp
import torch

from hiergcn.coarsening import Hierarchy
from hiergcn.errors import InputError
from hiergcn.graph.neighbourhoods import within_hops
from hiergcn.graph.structure import SURROUNDINGS, surroundings
from hiergcn.graph.task import Task
from hiergcn.model.method import Features, MemoryPlan, Method, NodeModel, Prepared, Weights, Workload, WrappedMethod
from hiergcn.model.ops.sparse import SparseMatrix
from hiergcn.settings.fields import Scaling
from hiergcn.settings.registry import method_class

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


COUNT_HOPS = (1, 2, 4, 8, 16, 32, 64)
MEAN_HOPS = (1, 2, 4, 8, 16, 32)
WIDEST = 256
"""Most features whose means are taken: there are six columns of means for each."""


class Input:
    """A kind of input."""

    name: ClassVar[str]
    """Follows the method in the name of a candidate, as in `gcn+harmonic`."""
    title: ClassVar[str]
    """Follows the method's title, as in `GCN with harmonic columns`."""
    called: ClassVar[str]
    """What it is called in sentences."""
    reason: ClassVar[str | None] = None
    """Why it helps, if it does; `{features}` stands for the features."""
    settings: ClassVar[dict[str, bool]]
    """Its settings, and what they are if it is off."""
    uses_labels: ClassVar[bool] = False
    needs_whole: ClassVar[bool] = True
    """Whether it comes from all over the graph, which a batch does not have."""
    replaces_features: ClassVar[bool] = False
    beside_network: ClassVar[bool] = False
    """Whether it is a part of the model, which `wrap` adds, and not columns beside the features."""

    def is_on(self, config: Any) -> bool:
        """Return whether a method's settings ask for it."""
        return any(getattr(config, name, off) != off for name, off in self.settings.items())

    def check(self, config: Any) -> None:
        """Refuse settings that have no effect as the others are."""

    def without(self, config: Any) -> Any:
        """Return the settings without it."""
        return replace(config, **self.settings)

    def columns(self, task: Task, config: Any) -> np.ndarray:
        """Return its columns, (n, columns)."""
        raise NotImplementedError

    def column_names(self, config: Any, features: Sequence[str], classes: Sequence[str]) -> list[str]:
        """Return the names of its columns, given those of the features and of the classes."""
        raise NotImplementedError

    def wrap(self, method: Method, config: Any) -> Method:
        """Return the method with this input beside its network."""
        raise NotImplementedError

    def planned_columns(self, config: Any, n_features: int) -> int:
        """Return how many columns the memory plan counts."""
        return 0


class HarmonicInput(Input):
    name, title, called = "harmonic", " with harmonic columns", "harmonic columns"
    reason = "labels diffused along the edges say much, and {features} add to them"
    settings: ClassVar = {"harmonic": False, "sharp": False}
    uses_labels = True
    sharp: ClassVar[bool] = False

    def is_on(self, config: Any) -> bool:
        return bool(getattr(config, "harmonic", False)) and config.sharp == self.sharp

    def check(self, config: Any) -> None:
        if getattr(config, "sharp", False) and not config.harmonic:
            raise InputError("sharp has no effect without harmonic columns; set harmonic to true, or leave it out.")

    def columns(self, task: Task, config: Any) -> np.ndarray:
        return harmonic_columns(task, self.sharp)

    def column_names(self, config: Any, features: Sequence[str], classes: Sequence[str]) -> list[str]:
        return [f"labels nearby: {name}" for name in classes]


class SharpInput(HarmonicInput):
    name, title, sharp = "sharp", " with sharp harmonic columns", True


class DegreesInput(Input):
    """The `structure.SURROUNDINGS` of each node in place of its features."""

    name, title, called = "degrees", " on degrees", "degrees"
    reason = "a node's degree and those of its neighbours say most"
    settings: ClassVar = {"degrees": False}
    needs_whole, replaces_features = False, True

    def columns(self, task: Task, config: Any) -> np.ndarray:
        return surroundings(task.adjacency)

    def column_names(self, config: Any, features: Sequence[str], classes: Sequence[str]) -> list[str]:
        return [*SURROUNDINGS]


class HopsInput(Input):
    name, title, called = "hops", " with hop columns", "hop_counts and hop_means"
    settings: ClassVar = {"hop_counts": False, "hop_means": False}

    def columns(self, task: Task, config: Any) -> np.ndarray:
        columns = [hop_counts(task)] if config.hop_counts else []
        columns += [hop_means(task, config.scaling)] if config.hop_means else []
        return np.hstack(columns)

    def column_names(self, config: Any, features: Sequence[str], classes: Sequence[str]) -> list[str]:
        words = ["within 1 hop", *(f"within {hop} hops" for hop in COUNT_HOPS[1:])]  # those of means are the first
        counts = [f"nodes {within}" for within in words] if config.hop_counts else []
        means = words[: len(MEAN_HOPS)] if config.hop_means else []
        return counts + [f"mean {name} {within}" for within in means for name in features]

    def planned_columns(self, config: Any, n_features: int) -> int:
        counts, means = int(config.hop_counts), int(config.hop_means)
        return len(COUNT_HOPS) * counts + len(MEAN_HOPS) * n_features * means


class NearnessInput(Input):
    name, title, called = "nearness", " with nearness of labels", "nearness"
    reason = "how near the labels of each class are says much, and {features} add to it"
    settings: ClassVar = {"nearness": False, "nearness_shares": False}
    uses_labels = beside_network = True

    def is_on(self, config: Any) -> bool:
        return bool(getattr(config, "nearness", False))

    def check(self, config: Any) -> None:
        if getattr(config, "nearness_shares", False) and not config.nearness:
            raise InputError(
                "nearness_shares has no effect without nearness. Set nearness to true, or nearness_shares to false."
            )

    def columns(self, task: Task, config: Any) -> np.ndarray:
        from hiergcn.model.nearness import nearness_columns

        return nearness_columns(task)

    def wrap(self, method: Method, config: Any) -> Method:
        from hiergcn.model.nearness import NearnessMethod

        return NearnessMethod(method, config.nearness_weight, config.nearness_shares, config.hop_counts)


INPUTS: tuple[Input, ...] = (HarmonicInput(), SharpInput(), DegreesInput(), HopsInput(), NearnessInput())


def inputs_of(config: Any) -> list[Input]:
    """Return the inputs that a method's settings ask for."""
    return [kind for kind in INPUTS if kind.is_on(config)]


def label_columns(task: Task, config: Any) -> dict[str, np.ndarray]:
    """Return the columns that a method's settings ask for and that come from training labels, by name."""
    return {kind.name: kind.columns(task, config) for kind in inputs_of(config) if kind.uses_labels}


def keep_columns(task: Task, columns: Mapping[str, np.ndarray]) -> None:
    """Keep `label_columns` that another process has made for the same task."""
    for name, array in columns.items():
        made_once(partial(np.asarray, array), [task], name)


def candidate_name(method: str, config: Any) -> str:
    """Return a method's name with its inputs, such as `gcn+harmonic`."""
    return "+".join([method, *(kind.name for kind in inputs_of(config))])


def column_names(config: Any, features: Sequence[str], classes: Sequence[str]) -> list[str]:
    """Return the names of the columns that a method takes, as `WithInputs` joins them."""
    inputs = [kind for kind in inputs_of(config) if not kind.beside_network]
    names = list(features)
    for kind in inputs:
        if kind.replaces_features:
            names = kind.column_names(config, names, classes)
    beside = [kind.column_names(config, names, classes) for kind in reversed(inputs) if not kind.replaces_features]
    return [name for part in (names, *beside) for name in part]


class WithInputs(WrappedMethod):
    """Any method with features, on columns beside them or in their place.

    Args:
        method: takes the features as they are, apart from standardising.
        inputs: make the columns.
        config: settings of the inputs, and the scaling of the rows of the features before columns are added.
    """

    def __init__(self, method: Method, inputs: Sequence[Input], config: Any) -> None:
        super().__init__(method)
        self.inputs, self.config = inputs, config
        self.uses_labels = self.uses_labels or any(kind.uses_labels for kind in inputs)
        self.needs_whole = self.needs_whole or any(kind.needs_whole for kind in inputs)

    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        return self.method.prepare(self._with_columns(task), hierarchy, device, weights)

    def statistics(self, task: Task, hierarchy: Hierarchy | None) -> dict[str, torch.Tensor]:
        return self.method.statistics(self._with_columns(task), hierarchy)

    def memory(self, work: Workload) -> MemoryPlan:
        more = sum(kind.planned_columns(self.config, work.n_features) for kind in self.inputs)
        stored = None if work.stored is None else work.stored + work.nodes * more
        return self.method.memory(replace(work, n_features=work.n_features + more, stored=stored))

    def _with_columns(self, task: Task) -> Task:
        """Return the task with columns after its own features; sparse features stay sparse."""
        for kind in self.inputs:
            if kind.replaces_features:
                task = replace(task, features=kind.columns(task, self.config))
        beside = [kind for kind in reversed(self.inputs) if not kind.replaces_features]
        columns = [kind.columns(task, self.config) for kind in beside]
        own = None if task.features is None else scaled(task.features, self.config.scaling)
        features: Any
        if own is None or isinstance(own, np.ndarray):
            features = np.hstack([*([] if own is None else [own]), *columns]) if columns else own
        else:
            features = sp.csr_array(sp.hstack([own, *map(sp.csr_array, columns)], format="csr"))
        return replace(task, features=features)


_MADE: dict[tuple[Any, ...], np.ndarray] = {}  # columns of graphs and tasks that are alive, for several methods


def made_once(make: Callable[[], np.ndarray], owners: Sequence[Any], *key: Any) -> np.ndarray:
    """Return what was made under this key for these owners, which live as long as it is kept; else make it."""
    full = (*key, *map(id, owners))
    if full not in _MADE:
        _MADE[full] = make()
        for owner in owners:
            finalize(owner, _MADE.pop, full, None)
    return _MADE[full]


def harmonic_columns(task: Task, sharp: bool = False) -> np.ndarray:
    """Return the cross-fitted columns of a task, (n, classes)."""

    def make() -> np.ndarray:
        from hiergcn.coarsening.diffusion import Diffusion

        columns = Diffusion(task.adjacency, sharp).cross_fitted(task.train, task.train_labels, task.n_classes)
        return columns.astype(np.float32)

    return made_once(make, [task], "sharp" if sharp else "harmonic")


def hop_counts(task: Task) -> np.ndarray:
    """Return the logarithms of the nodes within `COUNT_HOPS` of each node, (n, 7)."""
    return made_once(
        lambda: np.log(within_hops(task.adjacency, COUNT_HOPS)[0]).astype(np.float32), [task.adjacency], "counts"
    )


def hop_means(task: Task, scaling: Scaling) -> np.ndarray:
    """Return the mean features of the nodes within `MEAN_HOPS` of each node, (n, 6 f)."""
    features = task.features
    if not isinstance(features, np.ndarray) or features.shape[1] > WIDEST:
        raise InputError(f"hop_means takes up to {WIDEST} dense features, not sparse ones. Set hop_means to false.")

    def make() -> np.ndarray:
        _, means = within_hops(task.adjacency, MEAN_HOPS, np.asarray(scaled(features, scaling)))
        return means.reshape(len(means), -1).astype(np.float32)

    return made_once(make, [task.adjacency, features], "means", scaling)


def build_method(name: str, config: Any) -> Method:
    """Make the method; `networks` above 1 and the settings of `InputConfig` wrap it, as does `scaling="standard"`."""
    if getattr(config, "networks", 1) > 1:
        from hiergcn.model.ensemble import EnsembleMethod

        return EnsembleMethod(build_method(name, replace(config, networks=1)), config.networks)
    for kind in INPUTS:
        kind.check(config)
    inputs = inputs_of(config)
    for kind in inputs:
        if kind.beside_network:
            return kind.wrap(build_method(name, kind.without(config)), config)
    standardised = getattr(config, "scaling", "none") == "standard" or any(kind.replaces_features for kind in inputs)
    if inputs:
        inner = replace(config, scaling="standard" if standardised else "none")  # after the columns joined
        for kind in inputs:
            inner = kind.without(inner)
        rows = replace(config, scaling="none") if standardised else config
        return WithInputs(build_method(name, inner), inputs, rows)
    if standardised:
        return Standardised(method_class(name)(replace(config, scaling="none")))
    method: Method = method_class(name)(config)
    return method
