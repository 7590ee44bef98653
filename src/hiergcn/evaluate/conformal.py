r"""Split conformal prediction: sets of classes, or intervals of numbers, that hold the truth with a chosen probability.

Nodes that neither trained nor selected the model calibrate it: each has a score that is larger the less the model
expected its truth. The threshold q is the :math:`\lceil (m + 1) \cdot coverage \rceil`-th smallest of the m scores.
A value of another node belongs to its set or interval if its score is at most q. If the calibrating nodes and the other
nodes are exchangeable, the truth belongs to it with probability `coverage` or a little more.

Sets of classes use adaptive scores (Romano, Sesia & Candès, NeurIPS 2020): the probability of all classes that are more
likely, and a random share of the class's own. The share makes the coverage exact.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.errors import InputError

Floats = NDArray[np.float64]


def check_coverage(coverage: float) -> None:
    """Refuse a coverage that is not a probability between 0 and 1."""
    if not 0.0 < coverage < 1.0:
        raise InputError(f"Coverage is {coverage:g}; give a probability between 0 and 1, such as 0.9.")


def fewest_nodes(coverage: float) -> int:
    """Return the number of calibrating nodes from which on the threshold is finite: 9 for a coverage of 0.9."""
    return math.ceil(coverage / (1.0 - coverage) - 1e-9)


def conformal_threshold(scores: NDArray[np.floating], coverage: float) -> float:
    """Return the threshold of the calibrating nodes' scores, (m,); infinity if they are fewer than `fewest_nodes`."""
    check_coverage(coverage)
    rank = math.ceil((len(scores) + 1) * coverage - 1e-9)
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else math.inf


def random_shares(ids: NDArray[Any]) -> Floats:
    """Return a number between 0 and 1 for each node, (n,), from a hash of its id: always the same for a node."""
    hashed = pd.util.hash_array(ids.astype(str).astype(object), categorize=False)
    return hashed.astype(np.float64) / 2.0**64


def adaptive_scores(probabilities: NDArray[np.floating], shares: Floats) -> Floats:
    """Return the score of each class at each node, (n, classes).

    Args:
        probabilities: (n, classes).
        shares: of the class's own probability that counts, between 0 and 1, (n,); see `random_shares`.
    """
    p = probabilities.astype(np.float64)
    order = np.argsort(-p, axis=1, kind="stable")
    ranked = np.take_along_axis(p, order, axis=1)
    above = np.cumsum(ranked, axis=1) - ranked  # probability of all classes that are more likely
    scores = np.empty_like(p)
    np.put_along_axis(scores, order, above + shares[:, None] * ranked, axis=1)
    return scores


@dataclass(frozen=True)
class PredictionSets:
    """What turns probabilities into sets of classes."""

    coverage: float
    """The probability that was asked for."""
    threshold: float
    """Largest score of a class in the set; infinite if there were too few calibrating nodes: every class is in."""
    nodes: int
    """Number of calibrating nodes."""

    @classmethod
    def calibrated(
        cls, probabilities: NDArray[np.floating], labels: NDArray[np.integer], shares: Floats, coverage: float
    ) -> "PredictionSets":
        """Return the sets that the calibrating nodes give: probabilities (m, classes), labels and shares (m,)."""
        scores = adaptive_scores(probabilities, shares)[np.arange(len(labels)), labels]
        return cls(coverage, conformal_threshold(scores, coverage), len(labels))

    def exact(self, probabilities: NDArray[np.floating], shares: Floats) -> NDArray[np.bool_]:
        """Return whether each class is in the set of each node, (n, classes). A set may be empty.

        That happens if the predicted class alone is right more often than `coverage`.
        """
        inside: NDArray[np.bool_] = adaptive_scores(probabilities, shares) <= self.threshold
        return inside

    def of(self, probabilities: NDArray[np.floating], shares: Floats) -> NDArray[np.bool_]:
        """Return the same, with the predicted class in every set: none is empty."""
        inside = self.exact(probabilities, shares)
        inside[np.arange(len(inside)), probabilities.argmax(axis=1)] = True
        return inside
