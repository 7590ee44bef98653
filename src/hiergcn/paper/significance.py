"""Is a difference more than chance? Ours against the paper's figure, and two of our cells against each other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from hiergcn.evaluate.paired import PairedDifference, Scores, holm, paired_difference, unit_differences
from hiergcn.paper.collect import CellResult
from hiergcn.paper.published import Printed

LEVEL = 0.05
TO_PAPER = (
    "to the paper's figure: Welch's t-test where the paper gives a spread over a known number of runs (H-GCN in Table "
    "2), else a one-sample t-test, which takes the paper's figure as exact; both two-sided"
)
BETWEEN_OURS = (
    "between two of ours: Wilcoxon's signed-rank test, two-sided, exact, over pairs of the same seed on one split, of "
    "the same split where there are several (each the mean of its seeds); Holm's correction within a statement"
)


@dataclass(frozen=True)
class ToPaper:
    """How our mean differs from the paper's; in fractions of 1."""

    difference: float
    p: float | None


def to_paper(result: CellResult, printed: Printed | None) -> ToPaper | None:
    """None where either is missing."""
    values = _units(result)
    if printed is None or len(values) == 0:
        return None
    difference = float(values.mean()) - printed.mean
    if len(values) < 2 or values.std(ddof=1) == 0:
        return ToPaper(difference, None)
    if printed.std is not None and printed.runs is not None:
        p = stats.ttest_ind_from_stats(
            values.mean(), values.std(ddof=1), len(values), printed.mean, printed.std, printed.runs, equal_var=False
        ).pvalue
    else:
        p = stats.ttest_1samp(values, printed.mean).pvalue
    return ToPaper(difference, float(p))


def least_p(units: int) -> float:
    """The least p that the signed-rank test can give with so many pairs."""
    return 2.0 ** (1 - units)


@dataclass(frozen=True)
class Compared:
    """One of our cells against another, by name, with what the paper says of the difference."""

    name: str
    ours: CellResult
    theirs: CellResult
    found: PairedDifference
    printed: float | None = None
    """The difference in the paper."""

    @property
    def run(self) -> bool:
        return self.found.units > 1

    @property
    def p(self) -> float | None:
        return self.found.p_holm

    @property
    def sign(self) -> int:
        """1 where ours is better, -1 where it is worse, 0 where chance may be all there is."""
        if self.p is None or self.found.mean is None or self.p >= LEVEL:
            return 0
        return 1 if self.found.mean > 0 else -1


def compare_cells(pairs: Sequence[tuple[str, CellResult, CellResult, float | None]]) -> list[Compared]:
    """Every pair (name, ours, theirs, difference in the paper), with Holm's correction over them all."""
    found = [Compared(name, ours, theirs, _difference(ours, theirs), printed) for name, ours, theirs, printed in pairs]
    adjusted = iter(holm([one.found.p for one in found if one.found.p is not None]))
    return [
        one if one.found.p is None else replace(one, found=replace(one.found, p_holm=next(adjusted))) for one in found
    ]


def _difference(ours: CellResult, theirs: CellResult) -> PairedDifference:
    mine, other = _common(_means(ours), _means(theirs))
    return paired_difference(ours.cell.arm, mine, theirs.cell.arm, other)


@dataclass(frozen=True)
class Grown:
    """A difference of differences: how much larger our lead is at one column than at another."""

    at_first: float
    at_second: float
    p: float | None

    @property
    def growth(self) -> float:
        return self.at_second - self.at_first


def growth(first: tuple[CellResult, CellResult], second: tuple[CellResult, CellResult]) -> Grown | None:
    """Each pair is (ours, theirs); Welch's t-test between the differences of either pair, unit by unit."""
    leads = [unit_differences(*_common(_means(ours), _means(theirs)))[0] for ours, theirs in (first, second)]
    if min(len(lead) for lead in leads) == 0:
        return None
    p = None
    if min(len(lead) for lead in leads) > 1 and max(lead.std() for lead in leads) > 0:
        p = float(stats.ttest_ind(leads[1], leads[0], equal_var=False).pvalue)
    return Grown(float(leads[0].mean()), float(leads[1].mean()), None if p is None or math.isnan(p) else p)


def corrected(found: Sequence[Grown]) -> list[Grown]:
    """With Holm's correction over them all; each must have a p."""
    adjusted = holm([one.p for one in found if one.p is not None])
    return [replace(one, p=p) for one, p in zip(found, adjusted, strict=True)]


def fitted_exponent(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """The slope of log y over log x by least squares, and the half-width of its 95 % interval."""
    fit = stats.linregress(np.log(np.asarray(x)), np.log(np.asarray(y)))
    half = stats.t.ppf(0.975, len(x) - 2) * fit.stderr if len(x) > 2 else math.nan
    return float(fit.slope), float(half)


def _means(result: CellResult) -> Scores:
    """By (split, seed) on one split; by split, each the mean of its seeds, where there are several."""
    if result.splits == 1:
        return result.scores
    return {(split, 0): float(np.mean(values)) for split, values in result.by_split.items()}


def _common(ours: Scores, theirs: Scores) -> tuple[Scores, Scores]:
    both = ours.keys() & theirs.keys()
    return {key: ours[key] for key in both}, {key: theirs[key] for key in both}


def _units(result: CellResult) -> np.ndarray:
    """What was drawn independently: seeds on one split, else the means of the splits."""
    return np.array([value for value in _means(result).values() if value is not None], dtype=np.float64)
