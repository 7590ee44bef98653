r"""H-GCN+: H-GCN's coarsening and refining as a random propagation without parameters, then one small network.

A pass drops whole nodes, propagates the rest through graph and hierarchy, and classifies each node by itself:

    X̃ = diag(ε) X,  ε_i ~ Bernoulli(1 - δ)                 DropNode
    X̄ = P X̃,  P = Σ_l β_l B_l mean_k(Â_lᵏ) B_lᵀ            graph and levels; see below
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

Principal components of the propagated features may replace the features (`components`).

With five labels per class, a network cannot tell which of 500 columns matter, but the graph can: columns shared by
neighbours survive propagation, and differences between single nodes are averaged away. V holds the first principal
components of P (X - 1 m), where m is the mean row of X. X becomes (X - 1 m) V, scaled so that propagated rows have a
mean length of 1. V is found by subspace iteration, so that sparse features stay sparse. m and V are saved with the
model's weights and apply to other graphs too.

P goes through graph and hierarchy as H-GCN's coarsening and refining do, linear and without parameters
(`ops/propagation.py`). B_l = M_{0→l} (M_{0→l}ᵀ M_{0→l})^-1/2, where M_{0→l} groups nodes into the hyper-nodes of level
l: its columns have length 1. So P is symmetric with eigenvalues between -1 and 1, and its gradient is P again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import torch
from torch import Tensor

from hiergcn.coarsening import Hierarchy
from hiergcn.graph.task import Task
from hiergcn.model.baselines.grand import GRAND, GRANDMethod, Propagation, smoothed_features
from hiergcn.model.levels import HierarchyTensors
from hiergcn.model.method import Features, Labelled, Measured, NodeModel, Prepared, Weights
from hiergcn.model.ops.propagation import Spread, SpreadLevel
from hiergcn.model.ops.ranks import Ranks
from hiergcn.model.ops.sparse import SparseMatrix, propagate
from hiergcn.settings.methods import HGCNPlusConfig

CENTRE, DIRECTIONS = "feature_centre", "feature_directions"

_MORE = 8  # further directions in the iteration, which make it converge faster
_ROUNDS = 12
_ROUNDING = 1e-5  # relative to the length of the features: smaller differences are rounding


@dataclass(frozen=True, eq=False)
class Components:
    """The mean row and the directions."""

    centre: Tensor  # m, (f,)
    directions: Tensor  # V, (f, k)

    @classmethod
    def of(cls, weights: Weights, device: torch.device) -> Self:
        """Return those of a saved model."""
        return cls(weights[CENTRE].to(device), weights[DIRECTIONS].to(device))

    def scaled(self, factor: float) -> Self:
        return replace(self, directions=factor * self.directions)

    def __call__(self, features: Features) -> Tensor:
        """Return (X - 1 m) V; (n, f) -> (n, k)."""
        return features @ self.directions - self.centre @ self.directions


class ThroughComponents(NodeModel):
    """A network over components, as a function of the features that they are made of."""

    def __init__(self, model: NodeModel, components: Components) -> None:
        super().__init__()
        self.model, self.components = model, components

    def forward(self, features: Features) -> Tensor:
        logits: Tensor = self.model(self.components(features))
        return logits


@torch.no_grad()
def principal_components(features: Features, spread: Callable[[Tensor], Tensor], count: int) -> Components:
    """Return the first `count` components of P (X - 1 m) for a symmetric P, at most as many as X has columns.

    Directions in which no nodes differ are 0: nodes of another graph may differ there, but nothing was learned of it.
    """
    n, f = features.shape
    values = features.values if isinstance(features, SparseMatrix) else features
    centre = _transposed(features, values.new_ones(n, 1)).squeeze(1) / n  # (f,)
    on_cpu = torch.Generator().manual_seed(0)  # so that every device starts from the same basis
    start = torch.randn(f, min(count + _MORE, f), generator=on_cpu)
    basis = torch.linalg.qr(start.to(centre.device)).Q
    for _ in range(_ROUNDS):
        seen = spread(spread(Components(centre, basis)(features)))  # P P (X - 1 m) B, (n, k)
        basis = torch.linalg.qr(_transposed(features, seen) - torch.outer(centre, seen.sum(dim=0))).Q
    seen = spread(Components(centre, basis)(features))
    small = torch.linalg.qr(seen, mode="r").R  # has the same right singular vectors and singular values
    _, size, turned = torch.linalg.svd(small, full_matrices=False)  # largest first
    turned = (turned * (size > _ROUNDING * values.norm()).unsqueeze(1))[:count]
    directions = basis @ turned.T
    largest = directions.gather(0, directions.abs().argmax(dim=0, keepdim=True))
    directions = directions * largest.sign()  # the SVD leaves the sign open, and rounding would decide it
    length = (seen @ turned.T).norm(dim=1).mean()
    return Components(centre, directions / length.clamp_min(torch.finfo(length.dtype).tiny))


def _transposed(features: Features, dense: Tensor) -> Tensor:
    """Return Xᵀ H; (n, d) -> (f, d)."""
    if isinstance(features, SparseMatrix):
        return features.transpose_product(dense.contiguous())
    return features.T @ dense


def hierarchical_propagation(
    hierarchy: Hierarchy, shares: Sequence[float], orders: Sequence[int], device: torch.device
) -> Spread:
    """Return P of one graph, from the share β_l and the order K_l of each level. A share of 0 leaves a level out."""
    used = max((i for i, share in enumerate(shares) if share), default=0)
    levels = []
    for i, level in enumerate(HierarchyTensors(hierarchy, used).to(device).levels):
        coarser = (level.group, level.gather) if i < used else (None, None)
        levels.append(SpreadLevel(level.adjacency, hierarchy.levels[i].node_weight, shares[i], orders[i], *coarser))
    return Spread(levels)


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

    def target_logits(self, mean: Tensor, labelled: Labelled) -> Tensor:
        """Return those of Z̄': the mean of the passes, sharpened, times the label prior, with class sizes evened out."""
        logits, n_classes = super().target_logits(mean, labelled), mean.shape[1]
        if self.config.label_prior:
            cached = labelled.cached
            prior = label_prior(self.graph.adjacency, labelled, n_classes) if cached is None else cached
            logits = logits + self.config.label_prior * prior
        if self.config.balance_below:
            power = 1.0 - labelled.count() / n_classes / self.config.balance_below
            logits = balanced(logits, mean, max(power, 0.0))
        return logits

    def precompute(self, labelled: Labelled) -> Tensor | None:
        """Return log Q (n, classes); None without a label prior."""
        if not self.config.label_prior or isinstance(labelled, Measured):
            return None
        return label_prior(self.graph.adjacency, labelled, self.second.shape[1])

    def consistency_weight(self) -> Tensor:
        """Return λ of this step. Steps are counted on the device, as a CUDA graph repeats the same step."""
        self.steps += 1.0
        return self.config.consistency * (self.steps / max(self.config.warm_up, 1)).clamp_max(1.0)


class HGCNPlusMethod(GRANDMethod):
    """H-GCN+ as a method: hierarchy and features become tensors once, each seed gets its own network."""

    network = HGCNPlus

    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        if hierarchy is None:
            raise TypeError("H-GCN+ needs the graph's hierarchy.")
        features = self.features(task, device) * self.config.scale
        L, share = min(self.config.levels, hierarchy.depth), self.config.share
        F = min(self.config.first_level, L)
        shares = [1.0 - share] + [0.0] * (F - 1) + [share / (L - F + 1)] * (L - F + 1) if L else [1.0]
        orders = [self.config.order] + [self.config.level_order] * L
        P = hierarchical_propagation(hierarchy, shares, orders, device)
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
