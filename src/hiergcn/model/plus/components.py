"""Principal components of propagated features, which replace the features.

With five labels per class, a network cannot tell which of 500 columns matter, but the graph can: columns shared by
neighbours survive propagation, and differences between single nodes are averaged away. V holds the first principal
components of P (X - 1 m), where m is the mean row of X. X becomes (X - 1 m) V, scaled so that propagated rows have a
mean length of 1. V is found by subspace iteration, so that sparse features stay sparse. m and V are saved with the
model's weights and apply to other graphs too.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from hiergcn.model.method import Features, NodeModel, Weights
from hiergcn.model.ops.sparse import SparseMatrix

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
    directions = _with_fixed_signs(basis @ turned.T)
    length = (seen @ turned.T).norm(dim=1).mean()
    return Components(centre, directions / length.clamp_min(torch.finfo(length.dtype).tiny))


def _with_fixed_signs(directions: Tensor) -> Tensor:
    """Make the largest entry of each positive: the SVD leaves the sign open, and rounding would decide it."""
    largest = directions.gather(0, directions.abs().argmax(dim=0, keepdim=True))
    return directions * largest.sign()


def _transposed(features: Features, dense: Tensor) -> Tensor:
    """Return Xᵀ H; (n, d) -> (f, d)."""
    if isinstance(features, SparseMatrix):
        return features.transpose_product(dense.contiguous())
    return features.T @ dense
