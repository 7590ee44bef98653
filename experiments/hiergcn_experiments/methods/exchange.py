r"""H-GCN with exchange between levels after every layer, as in IM-MPNN (Finder et al., ICML 2025, arXiv 2505.23185).

The paper's network goes down the hierarchy once and up once. Here all levels 0..L convolve side by side:

    first layer        G on the input graph by Eq. 1, pooled to every level: H_0 = G, H_{i+1} = pool(H_i)
    layer t = 1..T     G_i = H_i + convolution of [H_i ‖ S_i] on A_i (Eq. 1 and 7)
                       H_i = G_i + pool(G_{i-1}) U_i + M_i G_{i+1} D_i        not after the last layer
    output             Eq. 8 of Σ_i G_i, where each G_i is passed down to the input graph by M (as in Eq. 6)

IM-MPNN coarsens by Graclus and its output is a perceptron over the concatenation of all levels. Here the hierarchy and
the output layer are those of H-GCN.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from hiergcn.extend import (
    HGCN,
    Count,
    Features,
    Field,
    GraphConvolution,
    HGCNConfig,
    HGCNMethod,
    InputConfig,
    LevelTensors,
    Pooling,
    dense_product,
    glorot,
    setting,
)


@dataclass(frozen=True)
class ExchangeConfig(HGCNConfig):
    """Settings of the network: those of H-GCN, and the number of layers."""

    removed: ClassVar[dict[str, Any]] = InputConfig.removed
    exchange: Count = setting(4, "Layers in which all levels convolve and then exchange.")


class ExchangeLayer(nn.Module):
    """A graph convolution for each level, and the weights of the exchange between neighbouring levels."""

    def __init__(self, n_levels: int, config: ExchangeConfig, exchanges: bool) -> None:
        super().__init__()
        d, p = config.hidden, config.weight_embedding
        self.pooling: Pooling = config.pooling
        self.convolutions = nn.ModuleList(GraphConvolution(d + p, d, config.channels, config) for _ in range(n_levels))
        steps = n_levels - 1 if exchanges else 0
        self.coarser, self.finer = (  # U of levels 1..L and D of levels 0..L-1
            nn.ParameterList(torch.empty(d, d) for _ in range(steps)) for _ in range(2)
        )

    def reset_parameters(self, generator: torch.Generator | None) -> None:
        """Draw all weights, and from now on the dropout masks, from the generator."""
        for layer in self.convolutions:
            assert isinstance(layer, GraphConvolution)
            layer.reset_parameters(generator)
        for weight in (*self.coarser, *self.finer):
            glorot(weight, weight.shape[0], weight.shape[1], generator)

    def forward(self, levels: list[LevelTensors], H: list[Tensor], S: list[Tensor | None]) -> list[Tensor]:
        G = [H[i] + self.convolutions[i](levels[i], H[i], S[i]) for i in range(len(levels))]  # (n_i, d)
        H = list(G)
        for i, (U, D) in enumerate(zip(self.coarser, self.finer, strict=True)):  # between levels i and i + 1
            H[i + 1] = H[i + 1] + dense_product(levels[i].pool(G[i], self.pooling), U)
            H[i] = H[i] + levels[i].unpool(dense_product(G[i + 1], D))
        return H


class ExchangeHGCN(HGCN):
    """H-GCN whose hidden layers are a graph convolution of the features and T exchange layers."""

    config: ExchangeConfig

    def hidden_layers(self, n_features: int) -> list[nn.Module]:
        config, n_levels = self.config, self.hierarchy.depth + 1
        fan_in = n_features + config.weight_embedding * config.embed_input
        first = GraphConvolution(fan_in, config.hidden, config.channels, config, on_features=True)
        last = config.exchange - 1
        return [first, *(ExchangeLayer(n_levels, config, exchanges=t < last) for t in range(config.exchange))]

    @property
    def refined_levels(self) -> int:
        return 1  # coarser levels also exchange with finer ones

    def last_outputs(self, features: Features, field: Field) -> tuple[Tensor, Tensor]:
        """Return the terms of Σ_i G_i: that of all hyper-nodes, on level 1, and that of the input graph's own level."""
        self.check_shape(features)
        levels, (first, *layers) = self.hierarchy.levels, self.layers
        S: list[Any] = [None] * len(levels) if self.V is None else self.hierarchy.weight_embeddings(self.V)  # (n_i, p)
        H = [first(levels[0], features, S[0] if self.config.embed_input else None)]  # (n, d)
        for level in levels[:-1]:
            H.append(level.pool(H[-1], self.config.pooling))  # (n_{i+1}, d)
        for layer in layers:
            H = layer(levels, H, S)
        coarse = H[-1]
        for i in reversed(range(1, len(levels) - 1)):
            coarse = levels[i].unpool_onto(coarse, H[i])
        rows = field[0].inputs
        return coarse, H[0] if rows is None else H[0].index_select(0, rows.index)


class ExchangeMethod(HGCNMethod):
    """The network as a method."""

    config: ExchangeConfig
    network = ExchangeHGCN

    def inner_levels(self, levels: Sequence[Any]) -> list[Any]:
        return [*levels] * self.config.exchange
