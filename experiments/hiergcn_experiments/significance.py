"""Tests of differences: ours against the paper's figure, and two of our cells against each other."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from hiergcn.evaluate.metrics import Summary
from hiergcn.evaluate.paired import PairedDifference, Scores, holm, holm_corrected, paired_difference, unit_differences
from hiergcn_experiments.collect import CellResult, printed_figure

LEVEL = 0.05


@dataclass(frozen=True)
class ToPaper:
    """Difference of our mean from the paper's, as a fraction of 1."""

    difference: float
    p: float | None


def to_paper(result: CellResult) -> ToPaper | None:
    """Test our cell against the paper's figure; None if either is missing."""
    values, printed = Summary(tuple(_means(result).values())).values, result.printed
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
    """Return the smallest p that the signed-rank test can give with this many pairs."""
    return 2.0 ** (1 - units)


@dataclass(frozen=True)
class Compared:
    """One of our cells compared with another."""

    name: str
    ours: CellResult
    theirs: CellResult
    found: PairedDifference

    @property
    def printed(self) -> float | None:
        """The difference that the paper prints; its Table 3 serves both sizes of validation."""
        ours, theirs = (
            printed_figure(one.experiment, one.arm, one.dataset, one.column.removesuffix(" small"))
            for one in (self.ours.cell, self.theirs.cell)
        )
        return ours.mean - theirs.mean if ours and theirs else None

    @property
    def run(self) -> bool:
        return self.found.units > 1

    @property
    def p(self) -> float | None:
        return self.found.p_holm

    @property
    def sign(self) -> int:
        """1 if ours is significantly better, -1 if significantly worse, otherwise 0."""
        if self.p is None or self.found.mean is None or self.p >= LEVEL:
            return 0
        return 1 if self.found.mean > 0 else -1


def compare_cells(pairs: Iterable[tuple[str, CellResult, CellResult]]) -> list[Compared]:
    """Compare every pair (name, ours, theirs), with Holm's correction over all of them."""
    listed = list(pairs)
    found = [paired_difference(one.cell.arm, _means(one), other.cell.arm, _means(other)) for _, one, other in listed]
    return [Compared(*pair, one) for pair, one in zip(listed, holm_corrected(found), strict=True)]


@dataclass(frozen=True)
class Grown:
    """A difference of differences: how much larger our lead is in a second place than in a first."""

    at_first: float
    at_second: float
    p: float | None


def growth(first: tuple[CellResult, CellResult], second: tuple[CellResult, CellResult]) -> Grown | None:
    """Compare two leads, each a pair (ours, theirs), by Welch's t-test between their paired differences."""
    leads = [unit_differences(_means(ours), _means(theirs))[0] for ours, theirs in (first, second)]
    if min(len(lead) for lead in leads) == 0:
        return None
    p = None
    if min(len(lead) for lead in leads) > 1 and max(lead.std() for lead in leads) > 0:
        p = float(stats.ttest_ind(leads[1], leads[0], equal_var=False).pvalue)
    return Grown(float(leads[0].mean()), float(leads[1].mean()), None if p is None or math.isnan(p) else p)


def corrected(found: Sequence[Grown]) -> list[Grown]:
    """Apply Holm's correction over all of them; each must have a p."""
    adjusted = holm([one.p for one in found if one.p is not None])
    return [replace(one, p=p) for one, p in zip(found, adjusted, strict=True)]


Points = list[tuple[float, float]]


def fitted_exponent(curve: Points) -> tuple[float, float]:
    """Return the least-squares slope of log y over log x, and the half-width of its 95 % interval."""
    fit = stats.linregress(*np.log(np.asarray(curve)).T)
    half = stats.t.ppf(0.975, len(curve) - 2) * fit.stderr if len(curve) > 2 else math.nan
    return float(fit.slope), float(half)


def _means(result: CellResult) -> Scores:
    """Return the independent values: scores by (split, seed) if there is one split, otherwise the splits' means."""
    if result.splits == 1:
        return result.scores
    return {(split, 0): float(np.mean(values)) for split, values in result.by_split.items()}


def points(fraction: float | None, sign: bool = True) -> str:
    """Format a fraction as percentage points; a value that rounds to zero has no sign."""
    if fraction is None:
        return "–"
    text = f"{100 * fraction:{'+' if sign else ''}.1f}"
    return "0.0" if text.strip("+-") == "0.0" else text.replace("-", "−")


def probability(p: float | None) -> str:
    return "p –" if p is None else "p < 0.001" if p < 1e-3 else f"p = {p:.3f}"
