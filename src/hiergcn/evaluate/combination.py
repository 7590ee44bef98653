"""Weights for the mean of several models' probabilities or numbers, from their validation nodes alone.

With many validation nodes, greedy ensemble selection (Caruana et al., ICML 2004) decides: add the model that lowers
the squared error of the mean most, a model perhaps more than once. Of classes, that is the Brier score: unlike the log
loss it is bounded, so a model is not left out for being sure of a few nodes that it gets wrong. With few nodes, that
would follow chance. Then every model that may well be the best is in the mean, weighted by how plausible that is: the
mean loses less than any one pick.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

ENOUGH = 150
"""Validation nodes above which greedy selection is used."""

_STEPS = 20
_LEAST_SHARE = 0.2  # of the largest weight, below which a model is left out
_EQUAL = 12  # decimals up to which losses are compared, relative to the best model's

Floats = NDArray[np.float64]


def combination_weights(outputs: Sequence[NDArray[np.floating]], labels: NDArray[Any]) -> Floats:
    """Return the weight of each model, (models,), summing to 1; most are 0.

    Args:
        outputs: of each model at the validation nodes: probabilities, (v, classes), or numbers, (v, 1).
        labels: classes or numbers of the validation nodes, (v,).
    """
    each = np.stack([np.asarray(one, dtype=np.float64) for one in outputs])  # (models, v, classes)
    return greedy_weights(each, labels) if len(labels) >= ENOUGH else plausible_weights(each, labels)


def greedy_weights(each: Floats, labels: NDArray[Any]) -> Floats:
    """Add models one by one, with replacement, so that the squared error of the mean falls most; keep the best mean.

    With weights w that sum to 1, the error of the mean is wᵀ G w, where G holds the products of the models' errors.
    """
    truth = labels[:, None] if each.shape[2] == 1 else np.eye(each.shape[2])[labels]  # (v, classes)
    errors = (each - truth).reshape(len(each), -1)
    G = errors @ errors.T  # (models, models)
    G /= G.diagonal().min() or 1.0
    counts = np.zeros(len(each))
    best, best_loss = counts, np.inf
    for step in range(1, _STEPS + 1):
        losses = np.round((counts @ G @ counts + 2.0 * G @ counts + G.diagonal()) / step**2, _EQUAL)
        added = int(losses.argmin())
        counts = counts + np.eye(len(each))[added]
        if losses[added] < best_loss:
            best, best_loss = counts, losses[added]
    weights: Floats = best / best.sum()
    return weights


def plausible_weights(each: Floats, labels: NDArray[Any]) -> Floats:
    """Weight each model by exp(-z²/2), where z is its distance to the best in standard errors, on the same nodes.

    Two nodes are added, one that the best gets wrong and one that the other gets wrong: a dozen nodes on which two
    models differ once or twice say less than their standard error does.
    """
    scores = node_scores(each, labels)
    behind = scores[scores.mean(axis=1).argmax()] - scores  # (models, v)
    wrong = 1.0 if each.shape[2] > 1 else float(np.var(labels))
    behind = np.pad(behind, ((0, 0), (1, 1)), constant_values=((0, 0), (-wrong, wrong)))
    error = behind.std(axis=1) / np.sqrt(behind.shape[1])
    mean = behind.mean(axis=1)
    always = np.where(mean > 0, np.inf, 0.0)  # of a model that is as far behind at every node, or equal to the best
    z = np.divide(mean, error, out=always, where=error > 0)
    weights: Floats = np.exp(-0.5 * z**2)
    weights[weights < _LEAST_SHARE * weights.max()] = 0.0
    shares: Floats = weights / weights.sum()
    return shares


def node_scores(each: Floats, labels: NDArray[Any]) -> Floats:
    """Return a model's score at each node, (models, v).

    For classes, it is 1 if the model is right, less half of its Brier score; for numbers, minus the squared error.
    """
    if each.shape[2] == 1:
        errors: Floats = -((each[:, :, 0] - labels) ** 2)
        return errors
    truth = np.eye(each.shape[2])[labels]
    right = each.argmax(axis=2) == labels
    scores: Floats = right - 0.5 * ((each - truth) ** 2).sum(axis=2)
    return scores
