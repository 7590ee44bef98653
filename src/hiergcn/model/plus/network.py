"""H-GCN+: H-GCN's coarsening and refining as a random propagation without parameters, then one small network.

A pass drops whole nodes, propagates the rest through graph and hierarchy, and classifies each node by itself:

    X̃ = diag(ε) X,  ε_i ~ Bernoulli(1 - δ)                 DropNode
    X̄ = P X̃,  P = Σ_l β_l B_l mean_k(Â_lᵏ) B_lᵀ            graph and levels; see `propagation`
    Z = softmax(ReLU(X̄ W₁ + b₁) W₂ + b₂)                   dropout on the input of each layer

A training step takes S passes. Their mean, sharpened, is the target of all of them on every node, labelled or not:

    L = 1/S Σ_s cross-entropy(Zˢ on the training nodes) + λ/S Σ_s mean_i ‖Z̄'_i - Zˢ_i‖²
    Z̄'_ic ∝ Z̄_ic^(1/T) Q_ic^γ / m_c^b,  Z̄ = 1/S Σ_s Zˢ,  m_c = mean_i Z̄_ic

Q is a prior from the training labels nearby (`label_prior`). b > 0 evens out the class sizes (`balance_below`), which
predictions can do too (`prediction_balance`). Both are off by default. λ grows during the first `warm_up` steps.

H-GCN learns weights at every level, more than 20 labels per class can determine. Here the hierarchy only says which
nodes are averaged, so levels add no parameters. Network, passes and objective are those of GRAND (Feng et al., NeurIPS
2020; `baselines/grand.py`). With share = 0, no prior, balance, warm-up or components, and GRAND's settings, the model
equals GRAND draw for draw; this file holds only what hierarchy and target add.
"""

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from hiergcn.coarsening import Hierarchy
from hiergcn.graph.task import Task
from hiergcn.model.baselines.grand import GRAND, GRANDMethod, Propagation, passes_memory, smoothed_features
from hiergcn.model.memory_cost import MemoryPlan, Workload
from hiergcn.model.method import Features, Labelled, Measured, Prepared, Weights, activated
from hiergcn.model.ops.ranks import Ranks
from hiergcn.model.ops.sparse import SparseMatrix, propagate
from hiergcn.model.plus.components import CENTRE, DIRECTIONS, Components, principal_components
from hiergcn.model.plus.propagation import HierarchicalPropagation
from hiergcn.settings.methods import HGCNPlusConfig


@dataclass(frozen=True, eq=False)
class PlusGraph(Propagation):
    """The tensors of one graph."""

    adjacency: SparseMatrix  # Â, (n, n)
    components: Components | None


class HGCNPlus(GRAND):
    """The network over one graph. In training, each call is another random pass."""

    graph: PlusGraph
    config: HGCNPlusConfig
    steps: Tensor  # training steps so far, ()

    def __init__(
        self, graph: PlusGraph, n_features: int, n_classes: int, config: HGCNPlusConfig, generator: torch.Generator
    ) -> None:
        super().__init__(graph, n_features, n_classes, config, generator)
        self.register_buffer("steps", torch.zeros(()))
        if graph.components is not None:
            self.register_buffer(CENTRE, graph.components.centre)
            self.register_buffer(DIRECTIONS, graph.components.directions)

    def forward(self, features: Features) -> Tensor:
        logits = super().forward(features)
        if self.training or not self.config.prediction_balance or logits.shape[1] == 1:
            return logits
        return balanced(logits, torch.softmax(logits, dim=1), self.config.prediction_balance)

    def target(self, mean: Tensor, labelled: Labelled) -> Tensor:
        """Return Z̄': the mean of the passes, sharpened, times the label prior, with class sizes evened out."""
        n_classes, tiny = mean.shape[1], torch.finfo(mean.dtype).tiny
        logits = mean.clamp_min(tiny).log() / self.config.temperature
        if self.config.label_prior:
            cached = labelled.cached
            prior = label_prior(self.graph.adjacency, labelled, n_classes) if cached is None else cached
            logits = logits + self.config.label_prior * prior
        if self.config.balance_below:
            power = 1.0 - labelled.count() / n_classes / self.config.balance_below
            logits = balanced(logits, mean, max(power, 0.0))
        return activated(logits)

    def precompute(self, labelled: Labelled) -> Tensor | None:
        """Return log Q (n, classes); None without a label prior."""
        if not self.config.label_prior or isinstance(labelled, Measured):
            return None
        return label_prior(self.graph.adjacency, labelled, self.second.shape[1])

    def consistency_weight(self) -> Tensor:
        """Return λ of this step. Steps are counted on the device, as a CUDA graph repeats the same step."""
        self.steps += 1.0
        return self.config.consistency * (self.steps / max(self.config.warm_up, 1)).clamp_max(1.0)

    def __repr__(self) -> str:
        (f, hidden), config = self.first.shape, self.config
        return f"HGCNPlus({f}, {hidden}, {self.second.shape[1]}, share={config.share}, passes={config.passes})"


class HGCNPlusMethod(GRANDMethod):
    """H-GCN+ as a method: hierarchy and features become tensors once, each seed gets its own network."""

    network = HGCNPlus

    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        if hierarchy is None:
            raise TypeError("H-GCN+ needs the graph's hierarchy.")
        features = self.features(task, device) * self.config.scale
        P = self._propagation(hierarchy, device)
        spread = P if weights is not None else partial(Ranks.current().by_columns, P)  # the whole graph, on every rank
        components = None
        if self.config.components and weights is not None:
            components = Components.of(weights, device)
        elif self.config.components:
            components = principal_components(features, spread, self.config.components).scaled(self.config.scale)
        features = features if components is None else components(features)
        features, smoothed = smoothed_features(features, spread, self.config)
        return Prepared(features, PlusGraph(task.n_nodes, P, smoothed, features, P.levels[0].adjacency, components))

    def statistics(self, task: Task, hierarchy: Hierarchy | None) -> dict[str, Tensor]:
        if not self.config.components:
            return {}
        components = self.prepare(task, hierarchy, torch.device("cpu")).structure.components
        return {CENTRE: components.centre, DIRECTIONS: components.directions}

    def _propagation(self, hierarchy: Hierarchy, device: torch.device) -> HierarchicalPropagation:
        L, share = min(self.config.levels, hierarchy.depth), self.config.share
        F = min(self.config.first_level, L)
        shares = [1.0 - share] + [0.0] * (F - 1) + [share / (L - F + 1)] * (L - F + 1) if L else [1.0]
        orders = [self.config.order] + [self.config.level_order] * L
        return HierarchicalPropagation(hierarchy, shares, orders, device)

    def memory(self, work: Workload) -> MemoryPlan:
        return passes_memory(work, self.config, self.config.components)


def label_prior(adjacency: SparseMatrix, labelled: Labelled, n_classes: int) -> Tensor:
    """Return log Q, the training labels propagated along the edges by Â; (n, classes).

        F ← α Â F + (1 - α) Y,  ten times from F = Y        Y holds a 1 for the class of each training node
        G_ic = F_ic / Σ_j F_jc                              gives every class the same mass over the graph
        Q_ic = (1 - ϵ) G_ic / Σ_d G_id + ϵ / C              all classes are equal if no label reaches the node

    With G, a label on a hub does not drown the others (class mass normalisation of Zhu, Ghahramani & Lafferty, ICML
    2003, with equal classes).
    """
    alpha, epsilon, tiny = 0.5, 0.01, 1e-12
    one = torch.ones((), device=labelled.nodes.device)
    Y = torch.zeros(adjacency.shape[0], n_classes, device=labelled.nodes.device)
    Y = Y.index_put((labelled.nodes, labelled.classes), one)
    F = Y
    for _ in range(10):
        F = alpha * propagate(adjacency, F) + (1.0 - alpha) * Y
    G = F / F.sum(dim=0).clamp_min(tiny)
    Q = G / G.sum(dim=1, keepdim=True).clamp_min(tiny)
    return ((1.0 - epsilon) * Q + epsilon / n_classes).log()


def balanced(logits: Tensor, probabilities: Tensor, power: float) -> Tensor:
    """Return the logits of probabilities divided by (mean class probability)^power; all (n, classes)."""
    tiny = torch.finfo(probabilities.dtype).tiny
    return logits - power * probabilities.mean(dim=0).clamp_min(tiny).log()
