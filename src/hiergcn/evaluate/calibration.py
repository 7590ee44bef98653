r"""Temperature scaling and expected calibration error.

Temperature scaling (Guo et al., On Calibration of Modern Neural Networks, ICML 2017) divides every logit by T,

.. math:: q = \operatorname{softmax}(z / T), \qquad T = \arg\min_T -\sum_v \sum_k t_{vk} \log q_{vk},

summed over validation nodes v. It changes no predicted class. The target t is (m + 1) / (m + K) for the true class and
1 / (m + K) for the K - 1 others, as in Platt's scaling: m nodes without a mistake do not make the next one certain.
The expected calibration error is the mean distance between confidence and accuracy over 15 bins of equal width,
weighted by their numbers of nodes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS = 15
FEWEST = 20
"""Fewest validation nodes to fit a temperature to."""
COLDEST, HOTTEST = 0.05, 20.0
_FLOOR = 1e-30  # of a probability, whose logarithm is the logit; single precision ends at about 1e-38


@dataclass(frozen=True)
class Temperature:
    """The divisor of the logits; 1 leaves them as they are."""

    value: float = 1.0
    note: str | None = None
    """Why it was left at 1."""

    def of(self, probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the scaled probabilities, (n, classes)."""
        scaled = _logits(probabilities) / self.value
        scaled = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        calibrated: NDArray[np.float64] = scaled / scaled.sum(axis=1, keepdims=True)
        return calibrated


def fit_temperature(probabilities: NDArray[np.floating], labels: NDArray[np.integer]) -> Temperature:
    """Return the temperature that makes the labels of validation nodes most likely; probabilities are (m, classes)."""
    if labels.size < FEWEST:
        return Temperature(note=f"Confidence is not calibrated: {labels.size} validation nodes are too few.")
    if np.unique(labels).size < 2:
        return Temperature(note="Confidence is not calibrated: all validation nodes are of one class.")
    z = _logits(probabilities)
    m, K = z.shape
    wanted = (m * z[np.arange(m), labels] + z.sum(axis=1)).mean() / (m + K)
    low, high = 1 / HOTTEST, 1 / COLDEST
    for _ in range(60):  # the loss is convex in 1 / T: its slope is the mean logit under q minus that under t
        middle = (low + high) / 2
        q = np.exp(middle * (z - z.max(axis=1, keepdims=True)))
        expected = ((q * z).sum(axis=1) / q.sum(axis=1)).mean()
        low, high = (low, middle) if expected > wanted else (middle, high)
    return Temperature(float(2 / (low + high)))


@dataclass(frozen=True, eq=False)
class Reliability:
    """Confidence and accuracy of each bin that has nodes."""

    nodes: NDArray[np.int64]
    confidence: NDArray[np.float64]
    """Mean of the bin."""
    accuracy: NDArray[np.float64]

    @property
    def error(self) -> float:
        """The expected calibration error."""
        gap = np.abs(self.confidence - self.accuracy)
        return float((self.nodes * gap).sum() / max(int(self.nodes.sum()), 1))

    def to_dict(self) -> dict[str, list[float]]:
        return {name: getattr(self, name).tolist() for name in ("nodes", "confidence", "accuracy")}


def reliability(probabilities: NDArray[np.floating], labels: NDArray[np.integer]) -> Reliability:
    """Return the reliability of the predicted class of each node, in bins (0, 1/15], (1/15, 2/15], ..."""
    confidence = probabilities.max(axis=1).astype(np.float64)
    right = probabilities.argmax(axis=1) == labels
    bins = np.clip(np.ceil(confidence * BINS).astype(np.int64) - 1, 0, BINS - 1)
    nodes = np.bincount(bins, minlength=BINS)
    filled = nodes > 0

    def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.bincount(bins, values, minlength=BINS)[filled] / nodes[filled]
        return found

    return Reliability(nodes[filled], mean(confidence), mean(right.astype(np.float64)))


def _logits(probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the logits up to a constant for each node, which softmax ignores."""
    found: NDArray[np.float64] = np.log(np.maximum(probabilities.astype(np.float64), _FLOOR))
    return found
