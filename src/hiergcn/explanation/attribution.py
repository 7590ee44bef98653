r"""Attribution of a score to the entries of the features, by integrated gradients.

Sundararajan et al., Axiomatic Attribution for Deep Networks (ICML 2017). The score of class c at a node is its logit
minus the mean of all logits, which is what softmax sees. Along the straight line from zero features to X,

.. math:: a_e = X_e \int_0^1 \frac{\partial s(\alpha X)}{\partial X_e} \, d\alpha, \qquad \sum_e a_e = s(X) - s(0),

so the contributions add up to the effect of all features. Nothing is random. Sparse features stay sparse: entries that
are not stored are zero along the whole line and contribute nothing.

A method of labels alone has no features. Its shares of the classes at a node are a weighted mean of the training
labels, so a label of class k contributes its weight, less the mean over all classes, to the score of class k.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hiergcn.errors import InputError
from hiergcn.graph.target import Scale
from hiergcn.model.baselines.base import LabelModel
from hiergcn.model.method import Features, NodeModel
from hiergcn.model.ops.sparse import SparseMatrix

FEWEST_STEPS, MOST_STEPS = 32, 512
CLOSE = 0.01
"""Relative error of the sum above which the number of steps is doubled."""


@dataclass(frozen=True, eq=False)
class Attribution:
    """The contribution of each stored entry of the features (n, f) to the score."""

    row: NDArray[np.int64]  # (entries,)
    column: NDArray[np.int64]  # (entries,)
    share: NDArray[np.float64]  # (entries,)
    shape: tuple[int, int]
    score: float
    without: float
    """The score if all features were zero."""

    @property
    def missed(self) -> float:
        """The part of the score that the contributions miss, because the number of steps is finite."""
        return self.score - self.without - float(self.share.sum())

    def in_unit(self, scale: Scale) -> "Attribution":
        """Return the same for standardised numbers in the unit of the target."""
        score, without = (float(scale.restored(np.array(value))) for value in (self.score, self.without))
        return replace(self, share=self.share * scale.std, score=score, without=without)

    def by_node(self) -> NDArray[np.float64]:
        return np.bincount(self.row, self.share, minlength=self.shape[0]).astype(np.float64, copy=False)

    def by_feature(self) -> NDArray[np.float64]:
        return np.bincount(self.column, self.share, minlength=self.shape[1]).astype(np.float64, copy=False)


def attribute(model: NodeModel, features: Features, node: int, class_: int) -> Attribution:
    """Attribute the score of a class at a node. The model is left in evaluation mode, its weights without gradients."""
    model.eval().requires_grad_(False)
    if isinstance(features, SparseMatrix):
        values, pattern = features.values.detach(), features.pattern
        row, column = pattern.rows().cpu().numpy(), pattern.column.cpu().numpy()
    else:
        values, (n, f) = features.detach(), features.shape
        row, column = np.repeat(np.arange(n), f), np.tile(np.arange(f), n)

    def score(at: Tensor) -> Tensor:
        changed = replace(features, values=at) if isinstance(features, SparseMatrix) else at
        logits: Tensor = model(changed)[node].double()
        return logits[class_] - logits.mean() if len(logits) > 1 else logits[0]  # a single one is a number

    whole, nothing = score(values).item(), score(torch.zeros_like(values)).item()
    steps = FEWEST_STEPS
    while True:
        total = torch.zeros_like(values, dtype=torch.float64)
        for step in range(steps):  # the gradient at the middle of each step
            at = (values * ((step + 0.5) / steps)).requires_grad_()
            reached = score(at)
            if not reached.requires_grad:
                raise InputError(
                    "This model does not compute its predictions from the features; "
                    "explain a model such as hgcn, gcn or mlp."
                )
            total += torch.autograd.grad(reached, at)[0]
        share = values.double() * (total / steps)
        missed = whole - nothing - share.sum().item()
        if abs(missed) <= CLOSE * abs(whole - nothing) or steps >= MOST_STEPS:
            break
        steps *= 2
    return Attribution(
        row, column, share.flatten().cpu().numpy(), (features.shape[0], features.shape[1]), whole, nothing
    )


def attribute_labels(model: LabelModel, node: int, class_: int, n_classes: int) -> Attribution:
    """Attribute the share of a class at a node, less the mean of all classes, to the training labels.

    The columns are the classes of the labels. Without any label, all classes have the same share. Numbers have one
    column, and their score is the number.
    """
    labelled = torch.nonzero(model.is_known).squeeze(1)
    weights = model.label_weights(node).double().cpu().numpy()
    total = weights.sum()
    classes = model.known[labelled].cpu().numpy()
    weights = weights / (total if total > 0 else 1.0)
    if n_classes == 1:
        shape, columns = (len(model.known), 1), np.zeros(len(weights), dtype=np.int64)
        return Attribution(labelled.cpu().numpy(), columns, weights * classes, shape, float(weights @ classes), 0.0)
    share = weights * ((classes == class_) - 1.0 / n_classes)
    return Attribution(labelled.cpu().numpy(), classes, share, (len(model.known), n_classes), float(share.sum()), 0.0)
