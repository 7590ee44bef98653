"""GRAND, graph random neural networks of Feng et al. (NeurIPS 2020, arXiv 2005.11079), top to bottom.

A pass drops whole nodes, spreads what is left and classifies each node by itself:

    X̃ = diag(ε) X,  ε_i ~ Bernoulli(1 - δ)             DropNode
    X̄ = 1/(K+1) Σ_{k=0..K} Âᵏ X̃                        mixed-order propagation
    Z = softmax(MLP(X̄))                                two layers, dropout on what each takes in

S passes Z¹ .. Z^S make one step. Their mean, sharpened, is the target that all of them are drawn to:

    L = 1/S Σ_s cross-entropy(Zˢ on the training nodes) + λ/S Σ_s mean_i ‖Z̄'_i - Zˢ_i‖²,   Z̄'_ic ∝ (1/S Σ_s Zˢ_ic)^(1/T)

No gradient goes through the target. Prediction is one pass with (1 - δ) X in the place of X̃.

What a pass costs. Dropout stands between propagation and the first weights, so X̄ has to be made in full, (n, f) and
dense: 16 MB a pass on Cora, 39 MB on Pubmed, for each of S passes, and again for what the backward pass keeps. It needs
no gradient, and the columns are propagated in blocks that stay in the cache. Without dropout and batch normalisation on
the input, X̄ W = 1/(K+1) Σ Âᵏ diag(ε) (X W) is the same with `hidden` columns instead of f, and X stays sparse: taken
unless f is smaller. That side is also taken where X̄ cannot be held (NELL: 16 GB a pass); dropout then falls on the
stored entries of X.

The authors' script selects on validation and reads test labels once, at the end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn

from hiergcn.coarsen import Hierarchy
from hiergcn.errors import InputError
from hiergcn.graph.task import Task
from hiergcn.model.baselines.base import AdjacencyMethod
from hiergcn.model.config_checks import check_rates, check_scaling, check_whole
from hiergcn.model.features import Scaling
from hiergcn.model.memory_cost import WORD, MemoryPlan, Workload, tensor_bytes
from hiergcn.model.method import Features, Labelled, NodeModel, Prepared, Weights
from hiergcn.model.ops.dropout import dropout
from hiergcn.model.ops.sparse import SparseFeatures, csr_product, linear_map

MOST_IN_FULL = 2**28  # entries of X̄ that a pass may make: 1 GiB
_BLOCK = 256  # columns that are propagated together on a CPU: twice as fast as 1,433 at once


@dataclass(frozen=True)
class GRANDConfig:
    """The settings; the defaults are the authors' for Cora."""

    hidden: int = 32
    """Width of the hidden layer."""
    order: int = 8
    """Steps K of propagation; powers 0 to K of the normalised adjacency are averaged."""
    passes: int = 4
    """Random passes S in each step of training."""
    drop_node: float = 0.5
    """Rate δ at which whole nodes are dropped."""
    input_dropout: float = 0.5
    """Rate of dropout on what the first layer takes in."""
    hidden_dropout: float = 0.5
    """Rate of dropout on what the second layer takes in."""
    input_dropout_on: Literal["auto", "propagated", "features"] = "auto"
    """Propagated features, as the source has it, or features before propagation; `auto` takes the first up to 2^28
    entries (nodes times columns), the second beyond, where batch normalisation of the input is left out too. Where
    neither falls on them, features are propagated if they have fewer columns than the hidden layer, else X W is."""
    temperature: float = 0.5
    """T of the sharpening: towards 0 the target becomes one class."""
    consistency: float = 1.0
    """Weight λ of the consistency loss."""
    batch_norm: bool = False
    """Batch normalisation of what each layer takes in."""
    rescale: bool = False
    """Divide what DropNode keeps by 1 - δ, as the text does. Reference: no, but multiply by 1 - δ to predict."""
    initial: Literal["shifted_normal", "uniform", "glorot"] = "shifted_normal"
    """Initial weights. Reference: normal of mean -s and deviation s, where s is 1 / √(width of the output); `uniform`:
    torch's own for a linear layer; `glorot`: uniform by both widths, biases 0."""
    scaling: Scaling = "row"
    """Of the features."""
    networks: int = 1
    """Networks that learn each by itself and predict by the mean of their probabilities; see `ensemble`."""

    def __post_init__(self) -> None:
        check_whole(self, hidden=1, order=0, passes=1, networks=1)
        check_rates(self, "drop_node", "input_dropout", "hidden_dropout")
        check_scaling(self)
        if not self.temperature > 0:
            raise InputError(f"temperature is {self.temperature!r}; give a number above 0.")
        if not self.consistency >= 0:
            raise InputError(f"consistency is {self.consistency!r}; give a number of at least 0.")
        for name, choices in (
            ("input_dropout_on", ("auto", "propagated", "features")),
            ("initial", ("shifted_normal", "uniform", "glorot")),
        ):
            if getattr(self, name) not in choices:
                raise InputError(f"{name} is {getattr(self, name)!r}; give one of {', '.join(choices)}.")


def mixed_order(adjacency: Tensor, order: int, dense: Tensor) -> Tensor:
    """1/(K+1) Σ_{k=0..K} Âᵏ H for a fixed symmetric Â; (n, d) -> (n, d)."""
    mixed = partial(_mixed_order, adjacency, order)  # symmetric too, so the backward pass is the same product
    return linear_map(dense, mixed, mixed)


def _mixed_order(adjacency: Tensor, order: int, dense: Tensor) -> Tensor:
    if dense.device.type != "cpu" or dense.shape[1] <= _BLOCK:
        return _horner(adjacency, order, dense)
    result = torch.empty_like(dense)
    for start in range(0, dense.shape[1], _BLOCK):
        columns = slice(start, start + _BLOCK)
        result[:, columns] = _horner(adjacency, order, dense[:, columns])
    return result


def _horner(adjacency: Tensor, order: int, dense: Tensor) -> Tensor:
    total = dense
    for _ in range(order):
        total = csr_product(adjacency, total, plus=dense)
    return total / (order + 1)


def sharpened(mean: Tensor, temperature: float) -> Tensor:
    """p_c^(1/T) / Σ p^(1/T) of each row; from logarithms, since 1/T may be large."""
    return torch.softmax(mean.clamp_min(torch.finfo(mean.dtype).tiny).log() / temperature, dim=1)


def consistency_loss(probabilities: Tensor, target: Tensor) -> Tensor:
    """Mean squared distance of the S passes (S, n, classes) to what they shall agree on, (n, classes).

    Reference: a mean over the nodes; the text writes a sum.
    """
    return (probabilities - target).square().sum(dim=2).mean()


@dataclass(frozen=True, eq=False)
class Propagation:
    """The graph as GRAND wants it."""

    n_nodes: int
    spread: Callable[[Tensor], Tensor]  # H -> P H, P the mean of powers of Â
    smoothed: Tensor | None  # P X, dense (n, f), which every prediction begins from; None where X W is propagated


def propagates_features(n: int, f: int, config: GRANDConfig) -> bool:
    """Return whether X̄ is made in full (n, f): it needs dropout or normalising or is narrower than X W, and it fits."""
    wanted = config.input_dropout > 0 or config.batch_norm or f < config.hidden
    fits = config.input_dropout_on == "propagated" or (config.input_dropout_on == "auto" and n * f <= MOST_IN_FULL)
    return wanted and fits


def smoothed_features(
    features: Features, spread: Callable[[Tensor], Tensor], config: GRANDConfig
) -> tuple[Features, Tensor | None]:
    """Return X and P X, both dense, if X̄ is made in full; else X as it is and None."""
    n, f = features.shape
    if not propagates_features(n, f, config):
        return features, None
    X = features if isinstance(features, Tensor) else features.to_dense()
    return X, spread(X)


class GRAND(NodeModel):
    """The network over one graph. In training each call is another random pass."""

    def __init__(
        self, graph: Propagation, n_features: int, n_classes: int, config: GRANDConfig, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.graph, self.config, self.generator = graph, config, generator
        self.first = nn.Parameter(torch.empty(n_features, config.hidden))
        self.first_bias = nn.Parameter(torch.empty(config.hidden))
        self.second = nn.Parameter(torch.empty(config.hidden, n_classes))
        self.second_bias = nn.Parameter(torch.empty(n_classes))
        wide = graph.smoothed is not None
        self.input_norm = nn.BatchNorm1d(n_features) if config.batch_norm and wide else nn.Identity()
        self.hidden_norm = nn.BatchNorm1d(config.hidden) if config.batch_norm else nn.Identity()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for weight, bias in ((self.first, self.first_bias), (self.second, self.second_bias)):
            for parameter in (weight, bias):
                drawn = torch.empty_like(parameter, device=self.generator.device)  # the model is moved later
                with torch.no_grad():
                    parameter.copy_(self._initial(drawn, *weight.shape))

    def _initial(self, drawn: Tensor, width_in: int, width_out: int) -> Tensor:
        if self.config.initial == "shifted_normal":
            s = width_out**-0.5
            return drawn.normal_(-s, s, generator=self.generator)
        if self.config.initial == "glorot" and drawn.dim() == 1:
            return drawn.zero_()
        bound = width_in**-0.5 if self.config.initial == "uniform" else (6.0 / (width_in + width_out)) ** 0.5
        return drawn.uniform_(-bound, bound, generator=self.generator)

    def forward(self, features: Features) -> Tensor:
        return self._dropped(self.embed(features), self.config.hidden_dropout) @ self.second + self.second_bias

    def embed(self, features: Features) -> Tensor:
        """What the second layer takes in; (n, hidden)."""
        keep = self._kept_nodes()
        if self.graph.smoothed is None:
            H = self.graph.spread(self._first_product(features) * keep)
        else:
            H = self._propagated(features, keep) @ self.first
        embedding: Tensor = self.hidden_norm(torch.relu(H + self.first_bias))
        return embedding

    def _kept_nodes(self) -> Tensor | float:
        """The factor ε of each node, (n, 1); to predict, its mean."""
        rate, rescale = self.config.drop_node, self.config.rescale
        if not self.training:
            return 1.0 if rescale else 1.0 - rate
        kept = self._kept(rate)
        return kept if rescale else kept * (1.0 - rate)

    def _kept(self, rate: float) -> Tensor:
        """0 for each node with probability `rate`, else 1 / (1 - rate); (n, 1)."""
        return dropout(torch.ones(self.graph.n_nodes, 1, device=self.first.device), rate, self.generator)

    def _propagated(self, features: Features, keep: Tensor | float) -> Tensor:
        """X̄ as the first layer takes it in; (n, f)."""
        assert isinstance(features, Tensor) and self.graph.smoothed is not None  # noqa: PT018  (prepare's doing)
        X = self.graph.spread(features * keep) if isinstance(keep, Tensor) else self.graph.smoothed * keep
        return self._dropped(self.input_norm(X), self.config.input_dropout)

    def _first_product(self, features: Features) -> Tensor:
        """X W with dropout on X; (n, hidden)."""
        rate = self.config.input_dropout if self.training else 0.0
        if isinstance(features, SparseFeatures):
            return features.dropped(rate, self.generator) @ self.first
        return dropout(features, rate, self.generator) @ self.first

    def _dropped(self, H: Tensor, rate: float) -> Tensor:
        return dropout(H, rate, self.generator) if self.training else H

    def objective(self, features: Features, labelled: Labelled, epoch: int) -> Tensor:
        """Supervised and consistency loss of S passes."""
        logits = torch.stack([self(features) for _ in range(self.config.passes)])  # (S, n, classes)
        supervised = torch.stack([labelled.cross_entropy(one) for one in logits]).mean()
        probabilities = torch.softmax(logits, dim=2)
        target = self.target(probabilities.detach().mean(dim=0), labelled)
        return supervised + self.consistency_weight() * consistency_loss(probabilities, target)

    def target(self, mean: Tensor, labelled: Labelled) -> Tensor:
        """What passes of this mean are drawn to; (n, classes)."""
        return sharpened(mean, self.config.temperature)

    def consistency_weight(self) -> Tensor | float:
        """λ of this step."""
        return self.config.consistency

    def __repr__(self) -> str:
        f, hidden = self.first.shape
        return f"GRAND({f}, {hidden}, {self.second.shape[1]}, order={self.config.order}, passes={self.config.passes})"


class GRANDMethod(AdjacencyMethod):
    """GRAND as a method: the features are smoothed once for prediction, each seed gets its own network."""

    network: type[Any] = GRAND
    replicates = True

    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        spread = partial(mixed_order, self.structure(task, device), self.config.order)
        features, smoothed = smoothed_features(self.features(task, device), spread, self.config)
        return Prepared(features, Propagation(task.n_nodes, spread, smoothed))

    def memory(self, work: Workload) -> MemoryPlan:
        return passes_memory(work, self.config)


def passes_memory(work: Workload, config: GRANDConfig, components: int = 0) -> MemoryPlan:
    """Return the memory of S passes per step, each of which keeps its input if dense and what the ReLU takes and gives.

    Args:
        work: the sizes.
        config: the settings.
        components: columns that replace the features; 0 if none do.
    """
    n, f = work.nodes, min(components or work.n_features, work.n_features)
    in_full = propagates_features(n, f, config)
    sparse = work.stored is not None and not (in_full or components)
    columns, stored = (0, work.stored or 0) if sparse else (f, 0)
    seen = columns * (3 if in_full and config.batch_norm else 1)  # before and after normalising, and the dropout mask
    one = WORD * (n * (seen + 5 * config.hidden + 4 * work.n_classes) + 2 * stored)
    kept = work.networks * config.passes * one // work.batches
    wide = (3 if len(work.levels) == 1 else 5) if in_full else 1  # arrays as wide as the features, while propagating
    step = WORD * n * (wide * columns + 8 * config.hidden) // work.batches
    prepare = 2 * WORD * n * wide * columns if in_full else 0  # P X, once; nothing is kept by then
    structure = tensor_bytes(work.levels) + work.features + (2 * WORD * n * f if in_full else 0)
    return MemoryPlan(structure, kept, max(step, prepare - kept, work.normalise))
