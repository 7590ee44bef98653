"""GRAND, Feng et al., Graph Random Neural Networks for Semi-Supervised Learning on Graphs (NeurIPS 2020).

A pass drops whole nodes, propagates the rest and classifies each node by itself:

    X̃ = diag(ε) X,  ε_i ~ Bernoulli(1 - δ)             DropNode
    X̄ = 1/(K+1) Σ_{k=0..K} Âᵏ X̃                        mixed-order propagation
    Z = softmax(MLP(X̄))                                two layers, dropout on the input of each

A training step takes S passes Z¹ .. Z^S. Their mean, sharpened, is the target of all of them:

    L = 1/S Σ_s cross-entropy(Zˢ on the training nodes) + λ/S Σ_s mean_i ‖Z̄'_i - Zˢ_i‖²,   Z̄'_ic ∝ (1/S Σ_s Zˢ_ic)^(1/T)

No gradient goes through the target. Prediction is one pass with (1 - δ) X in the place of X̃.

Numbers have no softmax and no sharpening: the loss is the squared error, and the target is the mean of the passes.

Cost of a pass: with dropout or batch normalisation on X̄, X̄ is made in full for each of the S passes, dense (n, f): 16
MB on Cora, 39 MB on Pubmed. It needs no gradient. Without them, X̄ W = 1/(K+1) Σ Âᵏ diag(ε) (X W) is the same with
`hidden` columns instead of f, and X stays sparse; that side is taken unless f is smaller. It is also taken if X̄ does
not fit (NELL: 16 GB a pass); dropout is then on the stored entries of X.

A CPU makes all passes at once, with the draws of one pass after the other. Without X̄, they are more columns of one
propagation. With X̄, batch normalisation and dropout are done on the propagated columns while they are in the cache
(`ops.propagation`). X̄ W for X̄ = M (γ x̂ + β), where x̂ has a mean of 0 and a variance of 1 and M is the dropout mask,
is (M x̂) (γ W) + M (β W), so that no gradient as wide as X̄ is needed.

The authors' script selects on validation and reads test labels once, at the end.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from hiergcn.coarsening import Hierarchy
from hiergcn.graph.task import Task
from hiergcn.model.baselines.base import AdjacencyMethod
from hiergcn.model.method import (
    NORMALISE,
    WORD,
    Features,
    Labelled,
    Measured,
    MemoryPlan,
    NodeModel,
    Prepared,
    Weights,
    Workload,
    activated,
    tensor_bytes,
)
from hiergcn.model.ops.dense import dense_product
from hiergcn.model.ops.dropout import Dropout, Mask, draw_mask, dropout
from hiergcn.model.ops.layer import on_cpu_alone
from hiergcn.model.ops.propagation import Spread, SpreadLevel, masked_product, spread_entries, spread_features
from hiergcn.model.ops.replicas import apply
from hiergcn.model.ops.sparse import feature_dropout
from hiergcn.settings.methods import GRANDConfig

MOST_IN_FULL = 2**28  # entries of X̄ that a pass may make: 1 GiB


@dataclass(frozen=True, eq=False)
class Propagation:
    """The tensors of one graph."""

    n_nodes: int
    spread: Spread  # H -> P H, P the mean of powers of Â
    smoothed: Tensor | None  # P X, dense (n, f), for predictions; None if X W is propagated
    features: Features

    @cached_property
    def by_column(self) -> sp.csr_array | None:
        """The entries of Xᵀ, if X̄ is best made of them and of dense P; see `ops.propagation`."""
        assert isinstance(self.features, Tensor)
        if not self.spread.is_cheaper_dense(int(self.features.count_nonzero()), self.features.shape[1]):
            return None
        return sp.csr_array(self.features.numpy().T)


def propagates_features(n: int, f: int, config: GRANDConfig) -> bool:
    """Return whether X̄ is made in full (n, f): it needs dropout or normalising or is narrower than X W, and it fits."""
    needed = config.input_dropout > 0 or config.batch_norm or f < config.hidden
    fits = config.input_dropout_on == "propagated" or (config.input_dropout_on == "auto" and n * f <= MOST_IN_FULL)
    return needed and fits


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
    """The network over one graph. In training, each call is another random pass."""

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

    @torch.no_grad()
    def reset_parameters(self) -> None:
        initial, generator = self.config.initial, self.generator
        for weight, bias in ((self.first, self.first_bias), (self.second, self.second_bias)):
            width_in, width_out = weight.shape
            for parameter in (weight, bias):
                values = torch.zeros_like(parameter, device=generator.device)  # the model is moved later
                if initial == "shifted_normal":
                    values.normal_(-(width_out**-0.5), width_out**-0.5, generator=generator)
                elif initial == "uniform" or parameter is weight:
                    bound = width_in**-0.5 if initial == "uniform" else (6.0 / (width_in + width_out)) ** 0.5
                    values.uniform_(-bound, bound, generator=generator)
                parameter.copy_(values)

    def forward(self, features: Features) -> Tensor:
        return self._dropped(self.embed(features), self.config.hidden_dropout) @ self.second + self.second_bias

    def embed(self, features: Features) -> Tensor:
        """Return the input of the second layer; (n, hidden)."""
        keep = self._kept_nodes()
        if self.graph.smoothed is None:
            rate = self.config.input_dropout if self.training else 0.0
            H = self.graph.spread(feature_dropout(features, rate, self.generator) @ self.first * keep)
        else:
            H = self._propagated(features, keep) @ self.first
        embedding: Tensor = self.hidden_norm(torch.relu(H + self.first_bias))
        return embedding

    def _kept_nodes(self) -> Tensor | float:
        """Return the factor ε of each node, (n, 1); in prediction, its mean."""
        rate, rescale = self.config.drop_node, self.config.rescale
        if not self.training:
            return 1.0 if rescale else 1.0 - rate
        kept = dropout(torch.ones(self.graph.n_nodes, 1, device=self.first.device), rate, self.generator)
        return kept if rescale else kept * (1.0 - rate)

    def _propagated(self, features: Features, keep: Tensor | float) -> Tensor:
        """Return the input of the first layer, X̄ with dropout; (n, f)."""
        assert isinstance(features, Tensor)
        assert self.graph.smoothed is not None
        X = self.graph.spread(features * keep) if isinstance(keep, Tensor) else self.graph.smoothed * keep
        return self._dropped(self.input_norm(X), self.config.input_dropout)

    def _dropped(self, H: Tensor, rate: float) -> Tensor:
        return dropout(H, rate, self.generator) if self.training else H

    def objective(self, features: Features, labelled: Labelled, epoch: int) -> Tensor:
        """Return the supervised and the consistency loss of S passes."""
        logits = self.random_passes(features)  # (S, n, classes)
        supervised = torch.stack([labelled.loss(each) for each in logits]).mean()
        probabilities = activated(logits)
        mean = probabilities.detach().mean(dim=0)
        target = mean if isinstance(labelled, Measured) else activated(self.target_logits(mean, labelled))
        consistency = (probabilities - target).square().sum(dim=2).mean()  # Reference: a mean; the text has a sum
        return supervised + self.consistency_weight() * consistency

    def random_passes(self, features: Features) -> Tensor:
        """Return the logits of S passes, (S, n, classes)."""
        S, in_full = self.config.passes, self.graph.smoothed is not None
        columns = features.shape[1] if in_full else S * self.config.hidden
        if not on_cpu_alone(self.first, self.generator) or not self.graph.spread.is_large(columns):
            return torch.stack([self(features) for _ in range(S)])
        H, masks = (self._propagated_features if in_full else self._propagated_products)(features)
        H = (H + self.first_bias).relu_()
        if self.config.batch_norm:
            H = torch.stack([self.hidden_norm(each) for each in H])
        if masks[0] is not None:  # then all passes have one
            seeds = tuple(seed for mask in masks if mask for seed in mask.seeds)
            H = apply(Dropout, H, replace(masks[0], seeds=seeds))
        logits = dense_product(H.flatten(0, 1), self.second) + self.second_bias  # (S n, classes)
        return logits.view(*H.shape[:2], -1)

    def _propagated_products(self, features: Features) -> tuple[Tensor, list[Mask | None]]:
        """Return P ε X W of every pass, (S, n, hidden), and the dropout masks of the second layer."""
        products: list[Tensor] = []
        masks = []
        for _ in range(self.config.passes):
            keep = self._kept_nodes()
            if self.config.input_dropout or not products:
                product = feature_dropout(features, self.config.input_dropout, self.generator) @ self.first
            products.append(product * keep)
            masks.append(self._hidden_mask())
        return self.graph.spread(torch.stack(products)), masks

    def _propagated_features(self, features: Features) -> tuple[Tensor, list[Mask | None]]:
        """Return X̄ W of every pass, (S, n, hidden), and the dropout masks of the second layer."""
        assert isinstance(features, Tensor)
        norm: Any = self.input_norm
        graph, normalised = self.graph, isinstance(norm, nn.BatchNorm1d)
        weight: Tensor = self.first
        shift = epsilon = None
        if normalised:
            weight, shift, epsilon = norm.weight.unsqueeze(1) * weight, norm.bias.unsqueeze(1) * weight, norm.eps
        by_column = None if normalised else graph.by_column
        products, masks = [], []
        for _ in range(self.config.passes):
            keep = self._kept_nodes()
            assert isinstance(keep, Tensor)
            mask = draw_mask(self.config.input_dropout, features.shape, features.device, self.generator)
            if by_column is not None:
                panels = spread_entries(graph.spread.dense, by_column, keep, mask)
            else:
                panels, mean, variance = spread_features(graph.spread.stacked, features, keep, mask, epsilon)
            if normalised:
                with torch.no_grad():  # the running statistics, as the module itself does
                    n = len(features)
                    norm.running_mean.lerp_(mean, norm.momentum)
                    norm.running_var.lerp_(variance * (n / max(n - 1, 1)), norm.momentum)
                    norm.num_batches_tracked += 1
            if mask is None and shift is not None:
                products.append(masked_product(panels, weight) + shift.sum(dim=0))
            else:
                products.append(masked_product(panels, weight, shift, mask))
            masks.append(self._hidden_mask())
        return torch.stack(products), masks

    def _hidden_mask(self) -> Mask | None:
        shape = self.graph.n_nodes, self.config.hidden
        return draw_mask(self.config.hidden_dropout, shape, self.first.device, self.generator)

    def target_logits(self, mean: Tensor, labelled: Labelled) -> Tensor:
        """Return the logits of the target of passes with this mean; both (n, classes)."""
        return mean.clamp_min(torch.finfo(mean.dtype).tiny).log() / self.config.temperature  # 1/T may be large

    def consistency_weight(self) -> Tensor | float:
        """Return λ of this step."""
        return self.config.consistency

    def __repr__(self) -> str:
        (f, hidden), config = self.first.shape, self.config
        sizes = f"{f}, {hidden}, {self.second.shape[1]}"
        return f"{type(self).__name__}({sizes}, order={config.order}, passes={config.passes})"


class GRANDMethod(AdjacencyMethod):
    """GRAND as a method: the features are smoothed once for prediction, each seed gets its own network."""

    network: type[Any] = GRAND
    replicates = True

    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        spread = Spread([SpreadLevel(self.structure(task, device), np.ones(task.n_nodes), 1.0, self.config.order)])
        features, smoothed = smoothed_features(self.features(task, device), spread, self.config)
        return Prepared(features, Propagation(task.n_nodes, spread, smoothed, features))

    def memory(self, work: Workload) -> MemoryPlan:
        """Return the memory of S passes, each of which keeps its input if dense, and the input and output of the ReLU.

        With batch normalisation this is the memory on a GPU: a CPU makes the propagated columns normalised, and keeps
        them once.
        """
        config, components = self.config, getattr(self.config, "components", 0)  # columns that replace the features
        n, f = work.nodes, min(components or work.n_features, work.n_features)
        in_full = propagates_features(n, f, config)
        sparse = work.stored is not None and not (in_full or components)
        columns, stored = (0, work.stored or 0) if sparse else (f, 0)
        arrays = columns * (3 if in_full and config.batch_norm else 1)  # before and after normalising, and the mask
        each = WORD * (n * (arrays + 5 * config.hidden + 4 * work.n_classes) + 2 * stored)
        kept = work.networks * config.passes * each // work.batches
        wide = (3 if len(work.levels) == 1 else 5) if in_full else 1  # arrays as wide as X, while propagating
        step = WORD * n * (wide * columns + 8 * config.hidden) // work.batches
        prepare = 2 * WORD * n * wide * columns if in_full else 0  # P X, once; nothing is kept by then
        structure = tensor_bytes(work.levels) + work.features + (2 * WORD * n * f if in_full else 0)
        working = max(step, prepare - kept)
        structure = structure if components else work.in_batches(structure)  # components are those of the whole graph
        return MemoryPlan(structure, kept, working, kept + NORMALISE * work.levels[0].entries)
