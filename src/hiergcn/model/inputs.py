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

To add a kind, list it in `INPUTS`, and give `settings.fields.InputConfig` the setting.

Features are scaled, and become tensors, here, too. `row`, `l2` and `binary` scale each row by itself, `none` nothing.
`standard` scales columns to mean 0 and standard deviation 1; these statistics belong to the training graph, so they are
saved with the model and applied to any other graph. Standardised sparse features are divided only, since subtracting
the mean would fill them.

`build_method` leads from settings to a method: inputs, scaling and ensembles wrap the method itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from weakref import finalize

import numpy as np
import scipy.sparse as sp
import torch

from hiergcn.coarsening import Hierarchy
from hiergcn.errors import InputError
from hiergcn.graph.neighbourhoods import hops_to_classes, within_hops
from hiergcn.graph.structure import SURROUNDINGS, surroundings
from hiergcn.graph.task import Task
from hiergcn.model.method import Features, MemoryPlan, Method, NodeModel, Prepared, Weights, Workload, WrappedMethod
from hiergcn.model.ops.sparse import SparseMatrix
from hiergcn.settings.fields import InputConfig, Scaling
from hiergcn.settings.registry import imported, method_info

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
        scales = {name: statistics[name].to(device) for name in (_MEAN, _SPREAD)}
        return Prepared(prepared.features, (prepared.structure, scales))

    def statistics(self, task: Task, hierarchy: Hierarchy | None) -> dict[str, torch.Tensor]:
        scales = _statistics(task.features)
        return scales | self.method.statistics(_standardised(task, scales), hierarchy)

    def build(self, prepared: Prepared, n_classes: int, generator: torch.Generator) -> NodeModel:
        structure, statistics = prepared.structure
        model: NodeModel = self.method.build(Prepared(prepared.features, structure), n_classes, generator)
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
NEAR = (3.0, 10.0)
"""Hops over which nearness falls to 1/e."""
NEARNESS = 5.0
"""Nearness of a node to itself, so that columns differ by about 1."""

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
    from hiergcn.coarsening.diffusion import Diffusion

    labels, name = (task.train, task.train_labels, task.n_classes), "sharp" if sharp else "harmonic"
    return made_once(lambda: Diffusion(task.adjacency, sharp).cross_fitted(*labels).astype(np.float32), [task], name)


def hop_counts(task: Task) -> np.ndarray:
    """Return the logarithms of the nodes within `COUNT_HOPS` of each node, (n, 7)."""
    adjacency = task.adjacency
    return made_once(lambda: np.log(within_hops(adjacency, COUNT_HOPS)[0]).astype(np.float32), [adjacency], "counts")


def hop_means(task: Task, scaling: Scaling) -> np.ndarray:
    """Return the mean features of the nodes within `MEAN_HOPS` of each node, (n, 6 f)."""
    features = task.features
    if not isinstance(features, np.ndarray) or features.shape[1] > WIDEST:
        raise InputError(f"hop_means takes up to {WIDEST} dense features, not sparse ones. Set hop_means to false.")
    means = partial(within_hops, task.adjacency, MEAN_HOPS)
    return made_once(
        lambda: means(np.asarray(scaled(features, scaling)))[1].reshape(task.n_nodes, -1).astype(np.float32),
        [task.adjacency, features],
        "means",
        scaling,
    )


def hop_columns(task: Task, config: Any) -> np.ndarray:
    """Return the hop counts and means that the settings ask for."""
    columns = [hop_counts(task)] if config.hop_counts else []
    columns += [hop_means(task, config.scaling)] if config.hop_means else []
    return np.hstack(columns)


def hop_names(config: Any, features: Sequence[str], classes: Sequence[str]) -> list[str]:  # noqa: ARG001
    """Return the names of the `hop_columns`."""
    words = ["within 1 hop", *(f"within {hop} hops" for hop in COUNT_HOPS[1:])]  # those of means are the first
    counts = [f"nodes {within}" for within in words] if config.hop_counts else []
    means = words[: len(MEAN_HOPS)] if config.hop_means else []
    return counts + [f"mean {name} {within}" for within in means for name in features]


def label_names(config: Any, features: Sequence[str], classes: Sequence[str]) -> list[str]:  # noqa: ARG001
    """Return the names of columns that come from labels."""
    return [f"labels nearby: {name}" for name in classes]


def nearness_columns(task: Task) -> np.ndarray:
    """Return how near the training labels of each class are to each node, (n, 2 * classes); 0 if there are none."""
    if task.n_classes == 1:
        raise InputError("Numbers have no classes to be near to. Leave nearness at false.")

    def make() -> np.ndarray:
        hops = hops_to_classes(task.adjacency, task.train, task.train_labels, task.n_classes)
        return np.hstack([NEARNESS * np.exp(-hops / near) for near in NEAR]).astype(np.float32)

    return made_once(make, [task], "nearness")


@dataclass(frozen=True)
class Input:
    """A kind of input."""

    name: str
    """Follows the method in the name of a candidate, as in `gcn+harmonic`."""
    title: str
    """Follows the method's title, as in `GCN with harmonic columns`."""
    called: str
    """What it is called in sentences."""
    settings: tuple[str, ...]
    """Its settings, which are False if it is off."""
    on: Callable[[Any], bool]
    """Whether a method's settings ask for it."""
    columns: Callable[[Task, Any], np.ndarray]
    """Makes its columns, (n, columns), by the settings."""
    column_names: Callable[[Any, Sequence[str], Sequence[str]], list[str]]
    """Names its columns, given the settings and the names of features and classes."""
    reason: str | None = None
    """Why it helps, if it does; `{features}` stands for the features."""
    uses_labels: bool = False
    needs_whole: bool = True
    """Whether it comes from all over the graph, which a batch does not have."""
    replaces_features: bool = False
    beside_network: bool = False
    """Whether it is a part of the model, `nearness`, and not columns beside the features."""
    planned_columns: Callable[[Any, int], int] = lambda _, __: 0
    """How many columns the memory plan counts, by the settings and the number of features."""

    def without(self, config: Any) -> Any:
        """Return the settings without it."""
        return replace(config, **dict.fromkeys(self.settings, False))


_HARMONIC = Input(
    *("harmonic", " with harmonic columns", "harmonic columns", ("harmonic", "sharp")),
    on=lambda config: config.harmonic and not config.sharp,
    columns=lambda task, _: harmonic_columns(task),
    column_names=label_names,
    reason="labels diffused along the edges say much, and {features} add to them",
    uses_labels=True,
)
INPUTS: tuple[Input, ...] = (
    _HARMONIC,
    replace(
        _HARMONIC,
        name="sharp",
        title=" with sharp harmonic columns",
        on=lambda config: config.harmonic and config.sharp,
        columns=lambda task, _: harmonic_columns(task, sharp=True),
    ),
    Input(
        *("degrees", " on degrees", "degrees", ("degrees",)),
        on=lambda config: config.degrees,
        columns=lambda task, _: surroundings(task.adjacency),
        column_names=lambda *_: [*SURROUNDINGS],
        reason="a node's degree and those of its neighbours say most",
        needs_whole=False,
        replaces_features=True,
    ),
    Input(
        *("hops", " with hop columns", "hop_counts and hop_means", ("hop_counts", "hop_means")),
        on=lambda config: config.hop_counts or config.hop_means,
        columns=hop_columns,
        column_names=hop_names,
        planned_columns=lambda config, f: len(COUNT_HOPS) * config.hop_counts + len(MEAN_HOPS) * f * config.hop_means,
    ),
    Input(
        *("nearness", " with nearness of labels", "nearness", ("nearness", "nearness_shares")),
        on=lambda config: config.nearness,
        columns=lambda task, _: nearness_columns(task),
        column_names=label_names,
        reason="how near the labels of each class are says much, and {features} add to it",
        uses_labels=True,
        beside_network=True,
    ),
)


def inputs_of(config: Any) -> list[Input]:
    """Return the inputs that a method's settings ask for."""
    return [kind for kind in INPUTS if isinstance(config, InputConfig) and kind.on(config)]


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

    `config` has the settings of the inputs, and the scaling of the rows of the features before columns are added.
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
        features: Any = None if task.features is None else scaled(task.features, self.config.scaling)
        if isinstance(features, sp.csr_array):
            features = sp.csr_array(sp.hstack([features, *map(sp.csr_array, columns)], format="csr"))
        elif columns:
            features = np.hstack(columns if features is None else [features, *columns])
        return replace(task, features=features)


def build_method(name: str, config: Any) -> Method:
    """Make the method; `networks` above 1 and the settings of `InputConfig` wrap it, as does `scaling="standard"`."""
    if getattr(config, "networks", 1) > 1:
        from hiergcn.model.ensemble import EnsembleMethod

        return EnsembleMethod(build_method(name, replace(config, networks=1)), config.networks)
    for setting, main in (("sharp", "harmonic"), ("nearness_shares", "nearness")):
        if getattr(config, setting, False) and not getattr(config, main):
            raise InputError(f"{setting} has no effect without {main}. Set {main} to true, or {setting} to false.")
    inputs = inputs_of(config)
    for kind in inputs:
        if kind.beside_network:
            from hiergcn.model.nearness import NearnessMethod

            inner = build_method(name, kind.without(config))
            return NearnessMethod(inner, config.nearness_weight, config.nearness_shares, config.hop_counts)
    standardised = getattr(config, "scaling", "none") == "standard" or any(kind.replaces_features for kind in inputs)
    if inputs:
        inner = replace(config, scaling="standard" if standardised else "none")  # after the columns joined
        for kind in inputs:
            inner = kind.without(inner)
        rows = replace(config, scaling="none") if standardised else config
        return WithInputs(build_method(name, inner), inputs, rows)
    make: Callable[[Any], Method] = imported(method_info(name).method)
    return Standardised(make(replace(config, scaling="none"))) if standardised else make(config)
