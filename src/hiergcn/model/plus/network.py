"""H-GCN+, top to bottom: H-GCN's coarsening and refining without its parameters, random, before one small network.

A pass drops whole nodes, sends what is left down the hierarchy and up again, and classifies each node by itself:

    X̃ = diag(ε) X,  ε_i ~ Bernoulli(1 - δ)                 nodes dropped, or whole hyper-nodes of a level
    X̄ = P X̃,  P = Σ_l β_l B_l mean_k(Â_lᵏ) B_lᵀ            graph and levels; see `hierarchical_propagation`
    Z = softmax(ReLU(X̄ W₁ + b₁) W₂ + b₂)                   dropout on what each layer takes in

S passes make one step. Their sharpened mean is the target that all of them are drawn to, labelled or not:

    L = 1/S Σ_s cross-entropy(Zˢ on the training nodes) + λ/S Σ_s mean_i ‖Z̄'_i - Zˢ_i‖²
    Z̄'_ic ∝ Z̄_ic^(1/T) Q_ic^γ / m_c^b,  Z̄ = 1/S Σ_s Zˢ,  m_c = mean_i Z̄_ic

Q is what the training labels around a node say (`label_spreading`); b > 0 draws classes to equal sizes where labels are
few (`balance_below`), and predictions can be drawn so too (`prediction_balance`). All are left out unless asked for. λ
grows in the first `warm_up` steps.

H-GCN learns weights at every level, more than 20 labels of a class can tell apart. Here the hierarchy says only which
nodes are averaged and which are dropped together: levels cost no parameters. The network, its passes and their
objective are those of GRAND (Feng et al., NeurIPS 2020; `grand`), and with β_0 = 1, γ = b = 0, no warm-up, predictions
as they are, no components and its settings it is GRAND, draw for draw: what is below is what hierarchy and target add.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from hiergcn.coarsen import Hierarchy
from hiergcn.errors import InputError
from hiergcn.graph.task import Task
from hiergcn.model.baselines.grand import GRAND, GRANDConfig, Propagation, passes_memory, smoothed_features
from hiergcn.model.config_checks import check_share, check_whole
from hiergcn.model.features import feature_tensor
from hiergcn.model.memory_cost import MemoryPlan, Workload
from hiergcn.model.method import Features, Labelled, Method, Prepared, Weights
from hiergcn.model.ops.dropout import dropout
from hiergcn.model.plus.components import CENTRE, DIRECTIONS, Components, principal_components
from hiergcn.model.plus.label_prior import label_prior
from hiergcn.model.plus.propagation import HierarchicalPropagation


@dataclass(frozen=True)
class HGCNPlusConfig(GRANDConfig):
    """The settings of GRAND and those of the hierarchy; the defaults are for graphs without a recipe of their own."""

    levels: int = 4
    """Coarsening levels L."""
    first_level: int = 1
    """The finest level F that is used besides the input graph."""
    share: float = 0.3
    """What the levels F to L make up of X̄, the same each; 0 turns the hierarchy off."""
    order: int = 4
    """Steps K_0 of propagation on the input graph; powers 0 to K_0 of Â are averaged."""
    level_order: int = 1
    """The same on each coarser level."""
    drop_level: int = 0
    """Level whose hyper-nodes are dropped whole; 0 drops nodes. The nodes of a dropped hyper-node have to be told from
    what surrounds it."""
    initial: Literal["shifted_normal", "uniform", "glorot"] = "glorot"
    """Initial weights. GRAND's `shifted_normal`: mean -s and deviation s, where s is 1 / √(width of the output);
    `uniform`: torch's own for a linear layer; `glorot`: uniform by both widths, biases 0."""
    input_dropout_on: Literal["auto", "propagated", "features"] = "features"
    """Where the input's dropout falls. On `features`, X W₁ is propagated, with `hidden` columns; `propagated` ones are
    made in full, dense (n, f) for every pass, and normalised too if `batch_norm` says so. `auto`: these up to 2^28
    entries (nodes times columns). Where nothing falls on them they are made only if f is smaller than `hidden`."""
    warm_up: int = 100
    """Steps in which λ grows from 0: passes that know nothing yet agree on one class for all, and may stay with it."""
    label_prior: float = 0.0
    """Power γ of Q, the training labels spread along the edges, in the target; 0 leaves it out."""
    balance_below: int = 0
    """Training nodes of a class, in the mean, below which the target is drawn to classes of equal size: it is divided
    by the mean of each class to the power 1 - nodes / this. Few labels say little of how large classes are, and passes
    that agree on one class for all would stay with it. 0 does so never."""
    prediction_balance: float = 0.0
    """Power to which predictions are divided by the mean of each class over the graph, as the target is: between 0, as
    they are, and 1. Where labels are too few to say how large classes are, some draw the nodes of others to them."""
    scale: float = 1.0
    """Factor on the features after their scaling: larger ones learn faster and are held back less."""
    components: int = 0
    """Principal components of the propagated features that take their place, for few labels; see `components`. They
    are as long as `scale` says, in the mean after propagation. 0 keeps the features."""
    column_weight: Literal["none", "idf"] = "none"
    """`idf` weighs each column by log(n / nodes that have it), scaled to a mean of 1 over all entries: rare words say
    more than common ones."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, levels=1, first_level=1, level_order=0, drop_level=0)
        check_whole(self, warm_up=0, balance_below=0, components=0)
        check_share(self, "share")
        check_share(self, "prediction_balance")
        if self.drop_level > self.levels:
            raise InputError(f"drop_level is {self.drop_level}; give a level of the hierarchy, 0 to {self.levels}.")
        if self.first_level > self.levels:
            raise InputError(f"first_level is {self.first_level}; give a level of the hierarchy, 1 to {self.levels}.")
        if not self.scale > 0:
            raise InputError(f"scale is {self.scale!r}; give a number above 0.")
        if not self.label_prior >= 0:
            raise InputError(f"label_prior is {self.label_prior!r}; give a number of at least 0.")
        if self.column_weight not in ("none", "idf"):
            raise InputError(f"column_weight is {self.column_weight!r}; give none or idf.")


@dataclass(frozen=True, eq=False)
class PlusGraph(Propagation):
    """The graph as H-GCN+ wants it."""

    adjacency: Tensor  # Â, sparse (n, n)
    hyper_nodes: Tensor | None  # of each node at the level where they are dropped, (n,)
    n_hyper_nodes: int
    column_weight: Tensor  # (f,)
    components: Components | None


class HGCNPlus(GRAND):
    """The network over one graph. In training each call is another random pass."""

    graph: PlusGraph
    config: HGCNPlusConfig
    column_weight: Tensor  # (f,)
    steps: Tensor  # of training so far, ()

    def __init__(
        self, graph: PlusGraph, n_features: int, n_classes: int, config: HGCNPlusConfig, generator: torch.Generator
    ) -> None:
        super().__init__(graph, n_features, n_classes, config, generator)
        self.register_buffer("column_weight", graph.column_weight)
        self.register_buffer("steps", torch.zeros(()))
        if graph.components is not None:
            self.register_buffer(CENTRE, graph.components.centre)
            self.register_buffer(DIRECTIONS, graph.components.directions)

    def _kept(self, rate: float) -> Tensor:
        hyper_nodes = self.graph.hyper_nodes
        if hyper_nodes is None:
            return super()._kept(rate)
        ones = torch.ones(self.graph.n_hyper_nodes, 1, device=self.first.device)
        return dropout(ones, rate, self.generator).index_select(0, hyper_nodes)

    def forward(self, features: Features) -> Tensor:
        logits = super().forward(features)
        if self.training or not self.config.prediction_balance:
            return logits
        return balanced(logits, torch.softmax(logits, dim=1), self.config.prediction_balance)

    def target(self, mean: Tensor, labelled: Labelled) -> Tensor:
        """What the passes agree on, sharpened, what the labels around a node say of it, classes made more equal."""
        n_classes, tiny = mean.shape[1], torch.finfo(mean.dtype).tiny
        logits = mean.clamp_min(tiny).log() / self.config.temperature
        if self.config.label_prior:
            cached = labelled.cached
            prior = label_prior(self.graph.adjacency, labelled, n_classes) if cached is None else cached
            logits = logits + self.config.label_prior * prior
        if self.config.balance_below:
            power = 1.0 - labelled.count() / n_classes / self.config.balance_below
            logits = balanced(logits, mean, max(power, 0.0))
        return torch.softmax(logits, dim=1)

    def precompute(self, labelled: Labelled) -> Tensor | None:
        """log Q; (n, classes)."""
        if not self.config.label_prior:
            return None
        return label_prior(self.graph.adjacency, labelled, self.second.shape[1])

    def consistency_weight(self) -> Tensor:
        """λ of this step, counted on the device: what a GPU has recorded of a step is the same for all of them."""
        self.steps += 1.0
        return self.config.consistency * (self.steps / max(self.config.warm_up, 1)).clamp_max(1.0)

    def __repr__(self) -> str:
        f, hidden = self.first.shape
        return (
            f"HGCNPlus({f}, {hidden}, {self.second.shape[1]}, share={self.config.share}, passes={self.config.passes})"
        )


class HGCNPlusMethod(Method):
    """H-GCN+ as a method: hierarchy and features become tensors once, each seed gets its own network."""

    uses_hierarchy = True
    replicates = True

    def __init__(self, config: HGCNPlusConfig) -> None:
        self.config = config

    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        if hierarchy is None:
            raise TypeError("H-GCN+ needs the hierarchy of the graph")
        known = self._column_weight(task) if weights is None else weights["column_weight"]
        column_weight = known.to(device)
        features = weighed(feature_tensor(task, self.config.scaling, device), column_weight * self.config.scale)
        P = self._propagation(hierarchy, device)
        components = self._components(features, P, weights, device)
        features = features if components is None else components(features)
        features, smoothed = smoothed_features(features, P, self.config)
        level = min(self.config.drop_level, hierarchy.depth)
        hyper_nodes = torch.from_numpy(hierarchy.hyper_nodes(level).astype(np.int64)).to(device) if level else None
        count = int(hierarchy.levels[level].adjacency.shape[0])
        adjacency = P.levels[0].adjacency
        graph = PlusGraph(task.n_nodes, P, smoothed, adjacency, hyper_nodes, count, column_weight, components)
        return Prepared(features, graph)

    def _components(
        self, features: Features, P: HierarchicalPropagation, weights: Weights | None, device: torch.device
    ) -> Components | None:
        if not self.config.components:
            return None
        if weights is not None:
            return Components.of(weights, device)
        return principal_components(features, P, self.config.components).scaled(self.config.scale)

    def _propagation(self, hierarchy: Hierarchy, device: torch.device) -> HierarchicalPropagation:
        L, share = min(self.config.levels, hierarchy.depth), self.config.share
        F = min(self.config.first_level, L)
        shares = [1.0 - share] + [0.0] * (F - 1) + [share / (L - F + 1)] * (L - F + 1) if L else [1.0]
        orders = [self.config.order] + [self.config.level_order] * L
        return HierarchicalPropagation(hierarchy, shares, orders, device)

    def _column_weight(self, task: Task) -> Tensor:
        if self.config.column_weight == "none" or task.features is None:
            n_columns = task.n_nodes if task.features is None else task.features.shape[1]
            return torch.ones(n_columns)
        nodes = sp.csr_array(task.features).astype(bool).sum(axis=0)  # that have an entry in the column
        weight = np.log(task.n_nodes / np.maximum(nodes, 1))
        mean = (weight @ nodes) / max(nodes.sum(), 1)
        return torch.from_numpy((weight / mean if mean > 0 else np.ones_like(weight)).astype(np.float32))

    def build(self, prepared: Prepared, n_classes: int, generator: torch.Generator) -> HGCNPlus:
        return HGCNPlus(prepared.structure, prepared.features.shape[1], n_classes, self.config, generator)

    def memory(self, work: Workload) -> MemoryPlan:
        return passes_memory(work, self.config, self.config.components)


def balanced(logits: Tensor, probabilities: Tensor, power: float) -> Tensor:
    """Logits of the probabilities divided by the mean of each class to a power; all (n, classes)."""
    tiny = torch.finfo(probabilities.dtype).tiny
    return logits - power * probabilities.mean(dim=0).clamp_min(tiny).log()


def weighed(features: Features, column_weight: Tensor) -> Features:
    """X with its columns multiplied; (n, f)."""
    if isinstance(features, Tensor):
        return features * column_weight
    return replace(features, values=features.values * column_weight[features.pattern.column])
