"""H-GCN+, top to bottom: H-GCN's coarsening and refining without its parameters, random, before one small network.

A pass drops whole nodes, sends what is left down the hierarchy and up again, and classifies each node by itself:

    X̃ = diag(ε) X,  ε_i ~ Bernoulli(1 - δ)                 nodes dropped
    X̄ = P X̃,  P = Σ_l β_l B_l mean_k(Â_lᵏ) B_lᵀ            graph and levels; see `hierarchical_propagation`
    Z = softmax(ReLU(X̄ W₁ + b₁) W₂ + b₂)                   dropout on what each layer takes in

S passes make one step. Their sharpened mean is the target that all of them are drawn to, labelled or not:

    L = 1/S Σ_s cross-entropy(Zˢ on the training nodes) + λ/S Σ_s mean_i ‖Z̄'_i - Zˢ_i‖²

H-GCN learns weights at every level, more than 20 labels of a class can tell apart. Here the hierarchy says only which
nodes are averaged: levels cost no parameters, and with β_0 = 1 what is left is GRAND (Feng et al., NeurIPS 2020), whose
passes and target these are. Prediction is one pass with (1 - δ) X in the place of X̃.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from hiergcn.coarsen import Hierarchy
from hiergcn.errors import InputError
from hiergcn.graph.task import Task
from hiergcn.model.checks import check_rates, check_scaling, check_whole
from hiergcn.model.dropout import dropout
from hiergcn.model.features import Scaling, feature_tensor
from hiergcn.model.grand import sharpened
from hiergcn.model.hierarchical_propagation import HierarchicalPropagation
from hiergcn.model.label_spreading import label_prior
from hiergcn.model.method import Features, Labelled, Method, NodeModel, Prepared, Weights
from hiergcn.model.sparse import SparseFeatures


@dataclass(frozen=True)
class HGCNPlusConfig:
    """The settings; the defaults are those for graphs without a recipe of their own."""

    levels: int = 4
    """Coarsening levels L."""
    share: float = 0.3
    """What the coarser levels make up of X̄, β_1 = .. = β_L = share / L; 0 turns the hierarchy off."""
    order: int = 4
    """Steps K_0 of propagation on the input graph; powers 0 to K_0 of Â are averaged."""
    level_order: int = 1
    """The same on each coarser level."""
    hidden: int = 32
    """Width of the hidden layer."""
    passes: int = 4
    """Random passes S in each step of training."""
    drop_node: float = 0.5
    """Rate δ at which whole nodes are dropped."""
    input_dropout: float = 0.5
    """Rate of dropout on what the first layer takes in."""
    hidden_dropout: float = 0.5
    """Rate of dropout on what the second layer takes in."""
    dropout_on: Literal["features", "propagated"] = "features"
    """Where the input's dropout falls. On `features`, X W₁ is propagated, with `hidden` columns; `propagated` ones are
    made in full, dense (n, f) for every pass, and are normalised too if `batch_norm` says so."""
    batch_norm: bool = False
    """Batch normalisation of what each layer takes in (the input's where dropout falls on propagated features)."""
    temperature: float = 0.5
    """T of the sharpening: towards 0 the target becomes one class."""
    consistency: float = 1.0
    """Weight λ of the consistency loss."""
    warm_up: int = 100
    """Steps in which λ grows from 0: passes that know nothing yet agree on one class for all, and may stay with it."""
    label_prior: float = 0.0
    """Power γ of Q, the training labels spread along the edges, in the target; 0 leaves it out."""
    column_weight: Literal["none", "idf"] = "none"
    """`idf` weighs each column by log(n / nodes that have it), scaled to a mean of 1 over all entries: rare words say
    more than common ones."""
    scaling: Scaling = "row"
    """Of the features."""

    def __post_init__(self) -> None:
        check_whole(self, levels=1, order=0, level_order=0, hidden=1, passes=1, warm_up=0)
        check_rates(self, "drop_node", "input_dropout", "hidden_dropout")
        check_scaling(self)
        if not 0.0 <= self.share <= 1.0:
            raise InputError(f"share is {self.share!r}; give a number from 0 to 1.")
        if not self.temperature > 0:
            raise InputError(f"temperature is {self.temperature!r}; give a number above 0.")
        for name in ("consistency", "label_prior"):
            if not getattr(self, name) >= 0:
                raise InputError(f"{name} is {getattr(self, name)!r}; give a number of at least 0.")
        for name, choices in (("dropout_on", ("features", "propagated")), ("column_weight", ("none", "idf"))):
            if getattr(self, name) not in choices:
                raise InputError(f"{name} is {getattr(self, name)!r}; give {' or '.join(choices)}.")


@dataclass(frozen=True, eq=False)
class PlusGraph:
    """The graph as H-GCN+ wants it."""

    propagation: HierarchicalPropagation  # P
    column_weight: Tensor  # (f,)
    dense: Tensor | None  # X with weighed columns, (n, f), where propagated features are made in full


class HGCNPlus(NodeModel):
    """The network over one graph. In training each call is another random pass."""

    column_weight: Tensor  # (f,)
    steps: Tensor  # of training so far, ()

    def __init__(
        self, graph: PlusGraph, n_features: int, n_classes: int, config: HGCNPlusConfig, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.graph, self.config, self.generator = graph, config, generator
        self.first = nn.Parameter(torch.empty(n_features, config.hidden))
        self.first_bias = nn.Parameter(torch.zeros(config.hidden))
        self.second = nn.Parameter(torch.empty(config.hidden, n_classes))
        self.second_bias = nn.Parameter(torch.zeros(n_classes))
        self.input_norm = nn.BatchNorm1d(n_features) if config.batch_norm and graph.dense is not None else None
        self.hidden_norm = nn.BatchNorm1d(config.hidden) if config.batch_norm else nn.Identity()
        self.register_buffer("column_weight", graph.column_weight)
        self.register_buffer("steps", torch.zeros(()))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        with torch.no_grad():
            for weight in (self.first, self.second):
                bound = (6.0 / sum(weight.shape)) ** 0.5
                drawn = torch.empty_like(weight, device=self.generator.device)
                weight.copy_(drawn.uniform_(-bound, bound, generator=self.generator))

    def forward(self, features: Features) -> Tensor:
        if self.training:
            return self.random_passes(features, 1)[0]
        return self.embed(features) @ self.second + self.second_bias  # (n, classes)

    def embed(self, features: Features) -> Tensor:
        """The representation of each node that the second layer takes in, to predict; (n, hidden)."""
        weight, bias = self._normalised_first()
        product = features @ (self.column_weight.unsqueeze(1) * weight)
        H = self.graph.propagation((1.0 - self.config.drop_node) * product) + bias
        embedding: Tensor = self.hidden_norm(torch.relu(H + self.first_bias))
        return embedding

    def random_passes(self, features: Features, count: int) -> Tensor:
        """The logits of so many passes; (S, n, classes)."""
        P = self.graph.propagation
        if self.graph.dense is None:  # X W₁ of all passes is propagated as one matrix
            wide = torch.cat([self._kept_nodes() * self._product(features) for _ in range(count)], dim=1)
            return self._classified(torch.stack(P(wide).chunk(count, dim=1)))
        taken_in = [P(self._kept_nodes() * self.graph.dense) for _ in range(count)]  # (n, f) each
        if self.input_norm is not None:
            taken_in = [self.input_norm(X) for X in taken_in]
        rate = self.config.input_dropout
        return self._classified(torch.stack([dropout(X, rate, self.generator) @ self.first for X in taken_in]))

    def _kept_nodes(self) -> Tensor:
        """ε of each node, (n, 1)."""
        rate = self.config.drop_node
        ones = torch.ones(self.graph.propagation.n_nodes, 1, device=self.first.device)
        return dropout(ones, rate, self.generator) * (1.0 - rate)

    def _product(self, features: Features) -> Tensor:
        """X W₁ with dropout on X; (n, hidden)."""
        rate, weight = self.config.input_dropout, self.column_weight.unsqueeze(1) * self.first
        if isinstance(features, SparseFeatures):
            return features.dropped(rate, self.generator) @ weight
        return dropout(features, rate, self.generator) @ weight

    def _classified(self, product: Tensor) -> Tensor:
        """From X̄ W₁ of some passes, (S, n, hidden), to their logits."""
        H = torch.stack([self.hidden_norm(one) for one in torch.relu(product + self.first_bias)])
        return dropout(H, self.config.hidden_dropout, self.generator) @ self.second + self.second_bias

    def _normalised_first(self) -> tuple[Tensor, Tensor | float]:
        """W and b with norm(X) W₁ = X W + b: batch normalisation, once learned, is an affine map of each column."""
        norm = self.input_norm
        if norm is None or norm.running_mean is None or norm.running_var is None:
            return self.first, 0.0
        scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
        return scale.unsqueeze(1) * self.first, (norm.bias - norm.running_mean * scale) @ self.first

    def objective(self, features: Features, labelled: Labelled, reduction: str, epoch: int) -> Tensor:  # noqa: ARG002
        """Supervised and consistency loss of S passes."""
        logits = self.random_passes(features, self.config.passes)
        supervised = torch.stack([labelled.cross_entropy(one, reduction) for one in logits]).mean()
        probabilities = torch.softmax(logits, dim=2)
        target = self._target(probabilities.detach().mean(dim=0), labelled)
        return supervised + self._consistency() * (probabilities - target).square().sum(dim=2).mean()

    def _consistency(self) -> Tensor:
        """λ of this step, counted on the device: what a GPU has recorded of a step is the same for all of them."""
        self.steps += 1.0
        return self.config.consistency * (self.steps / max(self.config.warm_up, 1)).clamp_max(1.0)

    def _target(self, mean: Tensor, labelled: Labelled) -> Tensor:
        """What the passes agree on, sharpened, and what the labels around a node say of it; (n, classes)."""
        target = sharpened(mean, self.config.temperature)
        if not self.config.label_prior:
            return target
        Q = label_prior(self.graph.propagation.levels[0].adjacency, labelled, mean.shape[1])
        return torch.softmax(
            target.clamp_min(torch.finfo(target.dtype).tiny).log() + self.config.label_prior * Q, dim=1
        )

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
        features = feature_tensor(task, self.config.scaling, device)
        known = self._column_weight(task) if weights is None else weights["column_weight"]
        column_weight = known.to(device)
        dense = None
        if self.config.dropout_on == "propagated":
            dense = (features if isinstance(features, Tensor) else features.to_dense()) * column_weight
        return Prepared(features, PlusGraph(self._propagation(hierarchy, device), column_weight, dense))

    def _propagation(self, hierarchy: Hierarchy, device: torch.device) -> HierarchicalPropagation:
        L, share = min(self.config.levels, hierarchy.depth), self.config.share
        shares = [1.0 - share] + [share / L] * L if L else [1.0]
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
