r"""How far an answer can be trusted: temperature scaling, the weights of several models, and sets that hold the truth.

Temperature scaling (Guo et al., On Calibration of Modern Neural Networks, ICML 2017) divides every logit by T,

.. math:: q = \operatorname{softmax}(z / T), \qquad T = \arg\min_T -\sum_v \log q_{v, y_v}
    - \frac{50}{m} \sum_v \sum_k p_{vk} \log q_{vk},

summed over the m validation nodes v of class y. It changes no predicted class. The second sum is a prior worth 50
nodes whose labels are distributed as the network's probabilities p claim, so it is smallest at T = 1: a few validation
nodes without a mistake do not make the next node certain, however many classes there are. T is used only if it helps on
nodes that it was not fitted to. Each validation node is scored with the T of all others: the mean log loss has to fall
by more than twice its standard error, and the calibration error must not rise.

With many validation nodes, greedy ensemble selection (Caruana et al., ICML 2004) weighs the models: add the one that
lowers the squared error of the mean most, a model perhaps more than once. Of classes, that is the Brier score: unlike
the log loss it is bounded, so a model is not left out for being sure of a few nodes that it gets wrong. With few nodes,
that would follow chance. Then every model that may well be the best is in the mean, weighted by how plausible that is.

Split conformal prediction gives sets of classes, or intervals of numbers, that hold the truth with a chosen
probability. Nodes that neither trained nor selected the model calibrate it: each has a score that is larger the less
the model expected its truth. A value of another node belongs to its set or interval if its score is at most the
:math:`\lceil (m + 1) \cdot coverage \rceil`-th smallest of the m scores. If the calibrating nodes and the other nodes
are exchangeable, the truth belongs to it with probability `coverage` or a little more. Sets of classes use adaptive
scores (Romano, Sesia & Candès, NeurIPS 2020) without the class's own probability: the sum of the probabilities of all
classes that are more likely. The most likely class has score 0, so no set is empty and nothing is drawn at random.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from hiergcn.errors import InputError

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
    nodes = sum(calibration.get("reliability", {}).get("before", {}).get("nodes", [FEWEST]))
    if calibration["temperature"] == 1:
        change = f"is {before}"
        what = f"not calibrated{f', because {note}' if (note := calibration.get('note')) else ''}"
    else:
        fell = calibration["ece_after"] < calibration["ece_before"]
        change = (
            f"{'falls' if fell else 'rises'} from {before} to {after}{'' if fell else ', so it did not help there'}"
        )
        change = f"stays at {before}" if before == after else change
        what = f"calibrated with temperature {calibration['temperature']:.2f}, fitted on validation nodes"
    error = f"; the expected calibration error (ECE) on {calibration['on']} nodes {change}" if nodes >= FEWEST else ""
    return f"Confidence is {what}{error}."


class Reliability(NamedTuple):
    """Confidence and accuracy of each of 15 bins of equal width that has nodes."""

    nodes: NDArray[np.int64]
    confidence: NDArray[np.float64]
    """Mean of the bin."""
    accuracy: NDArray[np.float64]

    @property
    def error(self) -> float:
        """The expected calibration error: the mean distance of confidence and accuracy over the nodes."""
        gap = np.abs(self.confidence - self.accuracy)
        return float((self.nodes * gap).sum() / max(int(self.nodes.sum()), 1))

    def to_dict(self) -> dict[str, list[float]]:
        return {name: values.tolist() for name, values in self._asdict().items()}


def reliability(probabilities: NDArray[np.floating], labels: NDArray[np.integer]) -> Reliability:
    """Return the reliability of the predicted class of each node, in bins (0, 1/15], (1/15, 2/15], ..."""
    confidence = probabilities.max(axis=1).astype(np.float64)
    right = (probabilities.argmax(axis=1) == labels).astype(np.float64)
    bins = np.clip(np.ceil(confidence * BINS).astype(np.int64) - 1, 0, BINS - 1)
    nodes = np.bincount(bins, minlength=BINS)
    filled = nodes > 0
    means = [np.bincount(bins, values, minlength=BINS)[filled] / nodes[filled] for values in (confidence, right)]
    return Reliability(nodes[filled], *means)


def _logits(probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the logits, of which the largest of each node is 0."""
    z = np.log(np.maximum(probabilities.astype(np.float64), _FLOOR))
    z -= z.max(axis=1, keepdims=True)
    return z


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
    each = np.stack([np.asarray(model, dtype=np.float64) for model in outputs])  # (models, v, classes)
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
    best /= best.sum()
    return best


def plausible_weights(each: Floats, labels: NDArray[Any]) -> Floats:
    """Weight each model by exp(-z²/2), where z is its distance to the best in standard errors, on the same nodes.

    The score of a node is 1 if the model is right, less half of its Brier score; of a number, minus the squared error.
    Two nodes are added, one that the best gets wrong and one that the other gets wrong: a dozen nodes on which two
    models differ once or twice say less than their standard error does.
    """
    if each.shape[2] == 1:
        scores, wrong = -((each[:, :, 0] - labels) ** 2), float(np.var(labels))
    else:
        brier = ((each - np.eye(each.shape[2])[labels]) ** 2).sum(axis=2)
        scores, wrong = (each.argmax(axis=2) == labels) - 0.5 * brier, 1.0
    behind = scores[scores.mean(axis=1).argmax()] - scores  # (models, v)
    behind = np.pad(behind, ((0, 0), (1, 1)), constant_values=((0, 0), (-wrong, wrong)))
    error = behind.std(axis=1) / np.sqrt(behind.shape[1])
    mean = behind.mean(axis=1)
    always = np.where(mean > 0, np.inf, 0.0)  # of a model that is as far behind at every node, or equal to the best
    z = np.divide(mean, error, out=always, where=error > 0)
    weights: Floats = np.exp(-0.5 * z**2)
    weights[weights < _LEAST_SHARE * weights.max()] = 0.0
    weights /= weights.sum()
    return weights


SEPARATOR = " | "
"""Between the classes of a set in `predictions.csv`."""


def check_coverage(coverage: float) -> None:
    """Refuse a coverage that is not a probability between 0 and 1."""
    if not (isinstance(coverage, Real) and 0.0 < coverage < 1.0):
        raise InputError(f"Coverage is {coverage!r}; give a probability between 0 and 1, such as 0.9.")


def fewest_nodes(coverage: float) -> int:
    """Return the fewest calibration nodes that give a finite threshold: 9 for a coverage of 0.9."""
    return math.ceil(coverage / (1.0 - coverage) - 1e-9)


def adaptive_scores(probabilities: NDArray[np.floating]) -> Floats:
    """Return the score of each class at each node, (n, classes): the probability of all more likely classes."""
    p = probabilities.astype(np.float64)
    order = np.argsort(-p, axis=1, kind="stable")
    ranked = np.take_along_axis(p, order, axis=1)
    above = np.cumsum(ranked, axis=1) - ranked
    above[:, 0] = 0.0  # exactly
    scores = np.empty_like(p)
    np.put_along_axis(scores, order, above, axis=1)
    return scores


@dataclass(frozen=True)
class _Promise:
    """What holds the truth with a chosen probability."""

    coverage: float
    """The probability that was asked for."""
    bound: float
    """Threshold of the scores; infinite if there were too few calibrating nodes."""
    nodes: int
    """Number of calibrating nodes."""

    bound_name: ClassVar[str]
    """Name of the bound in `metrics.json`."""

    @classmethod
    def from_scores(cls, scores: NDArray[np.floating], coverage: float) -> Self:
        """Return what the scores of the calibrating nodes, (m,), give."""
        check_coverage(coverage)
        rank = math.ceil((len(scores) + 1) * coverage - 1e-9)
        return cls(coverage, float(np.sort(scores)[rank - 1]) if rank <= len(scores) else math.inf, len(scores))

    def to_dict(self) -> dict[str, Any]:
        bound = self.bound if math.isfinite(self.bound) else None  # JSON has no infinity
        return {"coverage": self.coverage, self.bound_name: bound, "calibration_nodes": self.nodes}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any] | None) -> Self | None:
        if saved is None:
            return None
        bound = saved[cls.bound_name]
        return cls(saved["coverage"], math.inf if bound is None else float(bound), saved["calibration_nodes"])


class PredictionIntervals(_Promise):
    """What turns numbers into intervals. The score is the distance from the predicted number: half an interval."""

    bound_name = "half_width"

    @classmethod
    def calibrated(cls, predicted: Floats, truth: Floats, coverage: float) -> Self:
        """Return the intervals that the calibrating nodes give: predicted and true numbers, (m,) each."""
        return cls.from_scores(np.abs(truth - predicted), coverage)

    def ends(self, predicted: Floats) -> tuple[Floats, Floats]:
        """Return the lower and the upper end for each node, (n,)."""
        return predicted - self.bound, predicted + self.bound


class PredictionSets(_Promise):
    """What turns probabilities into sets of classes. With an infinite bound, every class is in."""

    bound_name = "threshold"

    @classmethod
    def calibrated(cls, probabilities: NDArray[np.floating], labels: NDArray[np.integer], coverage: float) -> Self:
        """Return the sets that the calibrating nodes give: probabilities (m, classes), labels (m,)."""
        return cls.from_scores(adaptive_scores(probabilities)[np.arange(len(labels)), labels], coverage)

    def members(self, probabilities: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return whether each class is in the set of each node, (n, classes); the most likely one always is."""
        inside: NDArray[np.bool_] = adaptive_scores(probabilities) <= self.bound
        return inside

    def names(self, probabilities: NDArray[np.floating], class_names: Sequence[str]) -> NDArray[Any]:
        """Return the classes of each node's set in one text, the most likely first, (n,)."""
        rows = zip(np.argsort(-probabilities, axis=1, kind="stable"), self.members(probabilities), strict=True)
        return np.array([SEPARATOR.join(class_names[k] for k in row[: held.sum()]) for row, held in rows], dtype=object)


def describe_promise(promise: Mapping[str, Any]) -> str:
    """Describe nominal and measured coverage of `prediction_sets` or `prediction_intervals` in `metrics.json`."""
    is_sets = PredictionSets.bound_name in promise
    kind, labels, truth = ("sets", "labels", "class") if is_sets else ("intervals", "values", "value")
    asked = f"{'Prediction sets' if is_sets else 'Intervals'} of {100 * promise['coverage']:g} %"
    bound = promise["threshold" if is_sets else "half_width"]
    if bound is None:
        return (
            f"{asked} need at least {fewest_nodes(promise['coverage'])} {labels} that neither train nor validate, and "
            f"there are too few {labels} for that: {'every set holds every class' if is_sets else 'they have no ends'}."
        )
    held = (
        f"hold {promise['mean_size']:.2f} classes on average" if is_sets else f"are the predicted value ± {bound:.3g}"
    )
    said = f"{asked} {held}, calibrated on {promise['calibration_nodes']:,} nodes"
    if promise["measured_coverage"] is None:
        return f"{said}; there are no test nodes to measure their coverage on."
    return f"{said}; {100 * promise['measured_coverage']:.1f} % of the {kind} of test nodes hold the true {truth}."
