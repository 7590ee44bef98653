"""Paired tests of two methods over the same splits and seeds.

The unit of a test is what was drawn independently. On one split these are the seeds, and a difference is about that
split only. On several random splits these are the splits, each with the mean difference of its seeds: seeds that share
a split tell nothing more about other splits. Pairs in which a method failed are left out and counted.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

TEST = "Wilcoxon signed-rank test, two-sided, exact, zero differences left out"
CONFIDENCE = 0.95

Scores = Mapping[tuple[int, int], float | None]
"""Test accuracy by (split, seed); None if the seed failed."""

_SAME = 12  # decimals to which differences are rounded, so that equal ones tie in spite of floating point


@dataclass(frozen=True)
class PairedDifference:
    """The difference of `model` minus `against`, in fractions of 1."""

    model: str
    against: str
    units: int
    """Number of independent pairs: seeds on one split, else splits."""
    left_out: int
    """Number of (split, seed) in which one of the two failed."""
    mean: float | None
    low: float | None = None
    """Lower end of the 95 % interval of the mean difference, by Student's t."""
    high: float | None = None
    p: float | None = None
    """p-value of the signed-rank test; None for fewer than two units."""
    p_holm: float | None = None
    """p-value after Holm's correction for the number of comparisons."""


def compare_all(scores: Mapping[str, Scores], against: str) -> tuple[PairedDifference, ...]:
    """Compare every other model with one, with Holm's correction over all comparisons."""
    others = [name for name in scores if name != against]
    return tuple(holm_corrected([paired_difference(name, scores[name], against, scores[against]) for name in others]))


def holm_corrected(differences: Sequence[PairedDifference]) -> list[PairedDifference]:
    """Return the differences with their p-values after Holm's correction over all that have one."""
    adjusted = iter(holm([each.p for each in differences if each.p is not None]))
    return [each if each.p is None else replace(each, p_holm=next(adjusted)) for each in differences]


def paired_difference(model: str, ours: Scores, against: str, theirs: Scores) -> PairedDifference:
    """Return the mean difference of two models with its interval and p-value."""
    differences, left_out = unit_differences(ours, theirs)
    n = len(differences)
    mean = float(differences.mean()) if n else None
    if mean is None or n == 1:
        return PairedDifference(model, against, n, left_out, mean)
    half = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2) * differences.std(ddof=1) / math.sqrt(n))
    return PairedDifference(model, against, n, left_out, mean, mean - half, mean + half, signed_rank_p(differences))


def unit_differences(ours: Scores, theirs: Scores) -> tuple[NDArray[np.float64], int]:
    """Return the difference of each unit, and the number of (split, seed) left out because one of the two failed."""
    by_split: dict[int, list[float]] = {}
    left_out = 0
    for key in sorted(ours.keys() | theirs.keys()):
        our, their = ours.get(key), theirs.get(key)
        if our is None or their is None:
            left_out += 1
        else:
            by_split.setdefault(key[0], []).append(our - their)
    splits = {split for split, _ in ours.keys() | theirs.keys()}
    units = [*by_split.values()] if len(splits) > 1 else [[each] for pairs in by_split.values() for each in pairs]
    return np.array([float(np.mean(pairs)) for pairs in units], dtype=np.float64), left_out


def signed_rank_p(differences: ArrayLike) -> float:
    """Return the exact two-sided p-value of Wilcoxon's signed-rank test, ties included.

    Under the null hypothesis every sign is a fair coin. Adding one rank after another gives the distribution of the
    rank sum of the positive differences. Ties get their mean rank; twice the ranks are whole numbers, which keeps the
    count exact. scipy's exact method needs untied ranks, but accuracies on 1,000 test nodes tie often.
    """
    rounded = np.round(np.asarray(differences, dtype=np.float64), _SAME)
    nonzero = rounded[rounded != 0]
    if nonzero.size == 0:
        return 1.0
    ranks = (2 * pd.Series(np.abs(nonzero)).rank().to_numpy()).astype(np.int64)
    probability = np.zeros(int(ranks.sum()) + 1)
    probability[0] = 1.0
    for rank in ranks:
        half = 0.5 * probability
        probability = half.copy()
        probability[rank:] += half[: probability.size - rank]
    reached = int(ranks[nonzero > 0].sum())
    tail = min(probability[: reached + 1].sum(), probability[reached:].sum())
    return float(min(1.0, 2.0 * tail))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values after Holm's step-down correction: the smallest times m, the next times m - 1, and so on."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)), 1.0)
    return [float(value) for value in adjusted]
