r"""Temperature scaling and expected calibration error.

Temperature scaling (Guo et al., On Calibration of Modern Neural Networks, ICML 2017) divides every logit by T,

.. math:: q = \operatorname{softmax}(z / T), \qquad T = \arg\min_T -\sum_v \log q_{v, y_v}
    - \frac{50}{m} \sum_v \sum_k p_{vk} \log q_{vk},

summed over the m validation nodes v of class y. It changes no predicted class. The second sum is a prior worth 50
nodes whose labels are distributed as the network's probabilities p claim, so it is smallest at T = 1. It does not
depend on the number of classes, and a few validation nodes without a mistake do not make the next node certain.

T is used only if it helps on nodes that it was not fitted to. Each validation node is scored with the T of all others.
The mean log loss has to fall by more than twice its standard error, and the calibration error must not rise.

The expected calibration error is the mean distance between confidence and accuracy over 15 bins of equal width,
weighted by their numbers of nodes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

BINS = 15
FEWEST = 20
"""Fewest validation nodes for fitting a temperature."""
PRIOR = 50
"""Weight of the prior at T = 1, in nodes."""
CANDIDATES = 10.0 ** np.linspace(-1, 1, 101)
"""Temperatures to choose from, in steps of 5 %."""
_UNCHANGED = 50  # the place of T = 1
_FLOOR = 1e-8  # of a probability, whose logarithm is the logit; in single precision, 1 - 1e-8 is 1


@dataclass(frozen=True)
class Temperature:
    """The divisor of the logits; 1 leaves them as they are."""

    value: float = 1.0
    note: str | None = None
    """Why it was left at 1."""

    def scale(self, probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the scaled probabilities, (n, classes)."""
        if self.value == 1:
            return probabilities.astype(np.float64)
        scaled: NDArray[np.float64] = softmax(_logits(probabilities) / self.value, axis=1)
        return scaled


def fit_temperature(probabilities: NDArray[np.floating], labels: NDArray[np.integer]) -> Temperature:
    """Return the temperature that suits validation nodes, or 1 if none helps; probabilities are (m, classes)."""
    m = labels.size
    if m < FEWEST:
        return Temperature(note=f"{m} validation nodes are too few")
    if np.unique(labels).size < 2:
        return Temperature(note="all validation nodes are of one class")
    z, nodes = _logits(probabilities), np.arange(m)
    normaliser = np.stack([np.log(np.exp(z / T).sum(axis=1)) for T in CANDIDATES], axis=1)
    losses = normaliser - z[nodes, labels, None] / CANDIDATES  # (m, candidates)
    claimed = normaliser - (softmax(z, axis=1) * z).sum(axis=1, keepdims=True) / CANDIDATES
    total = losses.sum(axis=0) + PRIOR * claimed.mean(axis=0)
    without = (total - losses).argmin(axis=1)  # the best candidate for all nodes but this one
    gain = losses[:, _UNCHANGED] - losses[nodes, without]
    scaled = softmax(z / CANDIDATES[without, None], axis=1)
    standard_error = gain.std(ddof=1) / np.sqrt(m)
    if (
        gain.mean() <= 2 * standard_error
        or reliability(scaled, labels).error > reliability(probabilities, labels).error
    ):
        return Temperature(note="no temperature improves it on validation nodes by more than chance")
    return Temperature(float(CANDIDATES[total.argmin()]))


def describe_calibration(calibration: Mapping[str, Any]) -> str:
    """Describe the calibration and its effect in one sentence, from `calibration` in `metrics.json`."""
    before, after = (f"{100 * calibration[f'ece_{when}']:.1f} %" for when in ("before", "after"))
    error = f"the expected calibration error (ECE) on {calibration['on']} nodes"
    nodes = sum(calibration.get("reliability", {}).get("before", {}).get("nodes", [FEWEST]))
    if calibration["temperature"] == 1:
        why = f", because {note}" if (note := calibration.get("note")) else ""
        return f"Confidence is not calibrated{why}{f'; {error} is {before}' if nodes >= FEWEST else ''}."
    if before == after:
        change = f"stays at {before}"
    elif calibration["ece_after"] < calibration["ece_before"]:
        change = f"falls from {before} to {after}"
    else:
        change = f"rises from {before} to {after}, so it did not help there"
    done = f"Confidence is calibrated with temperature {calibration['temperature']:.2f}, fitted on validation nodes"
    return f"{done}{f'; {error} {change}' if nodes >= FEWEST else ''}."


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
    """Return the logits, of which the largest of each node is 0."""
    z = np.log(np.maximum(probabilities.astype(np.float64), _FLOOR))
    z -= z.max(axis=1, keepdims=True)
    return z
