"""Few columns in the place of many: the directions in which propagated features differ most.

With five labels of a class a network cannot tell which of 500 columns matter, but the graph can: what neighbours share
survives propagation, what sets single nodes apart is averaged away. The first principal components V of P (X - 1 m),
m the mean row of X, keep the first; X becomes (X - 1 m) V, in the length that makes propagated rows 1 long in the mean.
They are found by subspace iteration, so that sparse features stay sparse. m and V belong to the model, as its weights
do: another graph is seen along the same directions.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from hiergcn.model.method import Features, NodeModel, Weights
from hiergcn.model.ops.sparse_features import SparseFeatures

CENTRE, DIRECTIONS = "feature_centre", "feature_directions"

_MORE = 8  # directions that are followed besides those that are kept
_ROUNDS = 12
_ROUNDING = 1e-5  # of the length of the features: below, nodes do not differ


@dataclass(frozen=True, eq=False)
class Components:
    centre: Tensor  # m, (f,)
    directions: Tensor  # V, (f, k)

    @classmethod
    def of(cls, weights: Weights, device: torch.device) -> Self:
        """Those of a model that is to be restored."""
        return cls(weights[CENTRE].to(device), weights[DIRECTIONS].to(device))

    def scaled(self, factor: float) -> Self:
        return replace(self, directions=factor * self.directions)

    def __call__(self, features: Features) -> Tensor:
        """(X - 1 m) V; (n, f) -> (n, k)."""
        return features @ self.directions - self.centre @ self.directions


class ThroughComponents(NodeModel):
    """A network that takes in components, as one of the features that they are made of."""

    def __init__(self, model: NodeModel, components: Components) -> None:
        super().__init__()
        self.model, self.components = model, components

    def forward(self, features: Features) -> Tensor:
        logits: Tensor = self.model(self.components(features))
        return logits


@torch.no_grad()
def principal_components(features: Features, spread: Callable[[Tensor], Tensor], count: int) -> Components:
    """The first `count` of P (X - 1 m) for a symmetric P, or as many as X has columns. Where there are fewer directions
    in which nodes differ the others are 0: another graph may differ there, but nothing was learned of it."""
    n, f = features.shape
    values = features.values if isinstance(features, SparseFeatures) else features
    centre = _transposed(features, values.new_ones(n, 1)).squeeze(1) / n  # (f,)
    start = torch.randn(f, min(count + _MORE, f), generator=torch.Generator().manual_seed(0))  # the same on all devices
    basis = torch.linalg.qr(start.to(centre.device)).Q
    for _ in range(_ROUNDS):
        seen = spread(spread(Components(centre, basis)(features)))  # P P (X - 1 m) B, (n, k)
        basis = torch.linalg.qr(_transposed(features, seen) - torch.outer(centre, seen.sum(dim=0))).Q
    seen = spread(Components(centre, basis)(features))
    small = torch.linalg.qr(seen, mode="r").R  # has the same directions and sizes
    _, size, turned = torch.linalg.svd(small, full_matrices=False)  # largest first
    turned = (turned * (size > _ROUNDING * values.norm()).unsqueeze(1))[:count]
    directions = _turned_up(basis @ turned.T)
    length = (seen @ turned.T).norm(dim=1).mean()
    return Components(centre, directions / length.clamp_min(torch.finfo(length.dtype).tiny))


def _turned_up(directions: Tensor) -> Tensor:
    """With the largest entry of each positive: else rounding, and so threads and devices, would say which end is up."""
    largest = directions.gather(0, directions.abs().argmax(dim=0, keepdim=True))
    return directions * largest.sign()


def _transposed(features: Features, dense: Tensor) -> Tensor:
    """Xᵀ H; (n, d) -> (f, d)."""
    if isinstance(features, SparseFeatures):
        return features.pattern.transpose_product(features.values, dense.contiguous())
    return features.T @ dense
