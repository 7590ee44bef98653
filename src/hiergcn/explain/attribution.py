r"""Which entries of the features spoke for a class: integrated gradients.

Sundararajan et al., Axiomatic Attribution for Deep Networks (ICML 2017). The score of class c at a node is its logit
less the mean of all logits, which is what softmax sees of it. Along the straight way from no features to all of X,

.. math:: a_e = X_e \int_0^1 \frac{\partial s(\alpha X)}{\partial X_e} \, d\alpha, \qquad \sum_e a_e = s(X) - s(0)

so that what the entries get adds up to what the features as a whole have done. Nothing is drawn. Sparse features stay
sparse: what is not stored is zero, on the way as at its end, and gets nothing.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hiergcn.errors import InputError
from hiergcn.model.method import Features, NodeModel
from hiergcn.model.ops.sparse_features import SparseFeatures

FEWEST_STEPS, MOST_STEPS = 32, 512
CLOSE = 0.01
"""Share of the difference of scores that the sum may miss before the steps are doubled."""


@dataclass(frozen=True, eq=False)
class Attribution:
    """What each stored entry of the features (n, f) contributed to the score."""

    row: NDArray[np.int64]  # (entries,)
    column: NDArray[np.int64]  # (entries,)
    share: NDArray[np.float64]  # (entries,)
    shape: tuple[int, int]
    score: float
    without: float
    """The score without any features."""

    @property
    def missed(self) -> float:
        """What the shares leave unexplained, by the finite number of steps."""
        return self.score - self.without - float(self.share.sum())

    def by_node(self) -> NDArray[np.float64]:
        return _sums(self.row, self.share, self.shape[0])

    def by_feature(self) -> NDArray[np.float64]:
        return _sums(self.column, self.share, self.shape[1])


def attribute(model: NodeModel, features: Features, node: int, class_: int) -> Attribution:
    """What made the score of a class at a node; the model is left in evaluation, its weights without gradients."""
    model.eval().requires_grad_(False)
    values = (features.values if isinstance(features, SparseFeatures) else features).detach()

    def score(at: Tensor) -> Tensor:
        logits: Tensor = model(_with_values(features, at))[node].double()
        return logits[class_] - logits.mean()

    whole, nothing = score(values).item(), score(torch.zeros_like(values)).item()
    steps = FEWEST_STEPS
    while True:
        share = values.double() * _mean_gradient(score, values, steps)
        missed = whole - nothing - share.sum().item()
        if abs(missed) <= CLOSE * abs(whole - nothing) or steps >= MOST_STEPS:
            break
        steps *= 2
    row, column = _places(features)
    return Attribution(
        row, column, share.flatten().cpu().numpy(), (features.shape[0], features.shape[1]), whole, nothing
    )


def _sums(place: NDArray[np.int64], share: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    return np.bincount(place, share, minlength=n).astype(np.float64, copy=False)


def _mean_gradient(score: Any, values: Tensor, steps: int) -> Tensor:
    """The mean of the gradients in the middle of each step."""
    total = torch.zeros_like(values, dtype=torch.float64)
    for step in range(steps):
        at = (values * ((step + 0.5) / steps)).requires_grad_()
        reached = score(at)
        if not reached.requires_grad:
            raise InputError(
                "this model does not compute its predictions from the features, so that they cannot be traced back to "
                "them; explain a model such as hgcn, gcn or mlp."
            )
        total += torch.autograd.grad(reached, at)[0]
    return total / steps


def _places(features: Features) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row and column of each stored entry."""
    n, f = features.shape
    if isinstance(features, SparseFeatures):
        return features.pattern.rows().cpu().numpy(), features.pattern.column.cpu().numpy()
    return np.repeat(np.arange(n), f), np.tile(np.arange(f), n)


def _with_values(features: Features, values: Tensor) -> Features:
    return replace(features, values=values) if isinstance(features, SparseFeatures) else values
