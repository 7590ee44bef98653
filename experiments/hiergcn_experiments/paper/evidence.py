"""The cells and measurements of the paper's experiments and H-GCN+'s, beside the paper's figures; and tests of both."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from hiergcn.research import PairedDifference, Summary, holm, holm_corrected, unit_differences
from hiergcn_experiments.experiment import Cell, Experiment
from hiergcn_experiments.page import packaged
from hiergcn_experiments.paper.experiments import DEGREE, NELL, Scale, paper_experiments, plus_experiments
from hiergcn_experiments.results import CellResult, Results
from hiergcn_experiments.store import Record

LEVEL = 0.05
BEST_LEVELS = {"cora": 4, "citeseer": 4, "pubmed": 4, "nell": 5}
BEST_CHANNELS = dict.fromkeys(BEST_LEVELS, 4)


@dataclass(frozen=True)
class Printed:
    """A figure of the paper."""

    mean: float
    std: float | None = None
    runs: int | None = None
    """Number of runs, if the paper says so."""


_TABLES = packaged("paper/published.toml")
TABLE1: dict[str, dict[str, float]] = _TABLES["table1"]
TABLE2, TABLE3, TABLE4 = (
    {method: {key: Printed(*figure) for key, figure in row.items()} for method, row in _TABLES[name].items()}
    for name in ("table2", "table3", "table4")
)
TABLE4["hgcn"] = TABLE2["hgcn"]


def printed_figure(cell: Cell, condition: str) -> Printed | None:
    """Return the paper's figure for a cell of an experiment, if it prints one."""
    row = cell.variant.removesuffix("-nell")
    if cell.experiment == "table3":
        return TABLE3.get(row, {}).get(condition) if cell.dataset == "pubmed" else None
    return {"table2": TABLE2, "table4": TABLE4}.get(cell.experiment, {}).get(row, {}).get(cell.dataset)


class PaperCell(CellResult):
    """A cell of which the paper may print a figure."""

    @property
    def printed(self) -> Printed | None:
        return printed_figure(self.cell, self.cell.condition)


class Evidence:
    """The cells and measurements of all experiments at one scale.

    On NELL H-GCN is judged by our recipe, which learns, and not by the paper's settings, which do not. That favours
    the paper.
    """

    def __init__(self, results: Results, scale: Scale) -> None:
        self.results, self.scale = results, scale
        self.paper, self.plus = paper_experiments(scale), plus_experiments(scale)
        self.cells = {
            name: {cell.key: PaperCell(cell, results.cell(cell).records) for cell in one.cells()}
            for name, one in self.experiments.items()
        }
        """By experiment, then by (variant, dataset, condition)."""

    @property
    def experiments(self) -> dict[str, Experiment]:
        return self.paper | self.plus

    def table2(self, variant: str, dataset: str) -> PaperCell:
        name = "hgcn-nell" if (variant, dataset) == ("hgcn", NELL) else variant
        return self.cells["table2"][name, dataset, ""]

    def table3(self, variant: str, condition: str) -> PaperCell:
        return self.cells["table3"][variant, self.scale.few_labels_on, condition]

    def table4(self, variant: str, dataset: str) -> PaperCell:
        return self.cells["table4"][f"{variant}-nell" if dataset == NELL else variant, dataset, ""]

    def varied(self, experiment: str, dataset: str) -> dict[int, PaperCell]:
        """Return the cells of a figure by the value of the varied setting."""
        return {int(value): cell for (_, name, value), cell in self.cells[experiment].items() if name == dataset}

    def measured(self, experiment: str) -> list[dict[str, Any] | None]:
        """Return the figures of an experiment's measurements in order; None for a missing one."""
        found = map(self.results.find, self.experiments[experiment].measurements)
        return [record.result if record else None for record in found]

    def by_dataset(self, experiment: str) -> dict[str, dict[str, Any] | None]:
        """Return the figures of an experiment that measures once per dataset."""
        return dict(zip(self.scale.datasets, self.measured(experiment), strict=True))

    def seconds(self, what: str) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        """Return (nodes, seconds) at average degree 10, and (degree, seconds) at one number of nodes."""
        found = [one for one in self.measured("complexity") if one is not None and what in one]
        of_size = [one for one in found if one["degree"] == DEGREE and one["nodes"] in self.scale.sizes]
        by_degree = sorted((one["degree"], one[what]) for one in found if one["nodes"] == self.scale.degrees_at)
        return sorted((one["nodes"], one[what]) for one in of_size), by_degree

    def used(self, experiments: Iterable[str]) -> list[Record]:
        """Return every record that these experiments rest on, once."""
        jobs = (job for name in experiments for job in self.experiments[name].jobs())
        found = (record for job in jobs if (record := self.results.find(job)))
        return list({record.about: record for record in found}.values())


# Tests of differences: ours against the paper's figure, and two of our cells against each other


@dataclass(frozen=True)
class ToPaper:
    """Difference of our mean from the paper's, as a fraction of 1."""

    difference: float
    p: float | None


def to_paper(result: PaperCell) -> ToPaper | None:
    """Test our cell against the paper's figure; None if either is missing."""
    values, printed = Summary(tuple(result.independent.values())).values, result.printed
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
    ours: PaperCell
    theirs: PaperCell
    found: PairedDifference

    @property
    def printed(self) -> float | None:
        """The difference that the paper prints; its Table 3 serves both sizes of validation."""
        ours, theirs = (
            printed_figure(one.cell, one.cell.condition.removesuffix(" small")) for one in (self.ours, self.theirs)
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


Pair = tuple[str, PaperCell, PaperCell]
"""Name, our cell, and the cell it is compared with."""


def compare_cells(pairs: Iterable[Pair]) -> list[Compared]:
    """Compare every pair, with Holm's correction over all of them."""
    listed = list(pairs)
    found = holm_corrected([ours.minus(theirs) for _, ours, theirs in listed])
    return [Compared(*pair, one) for pair, one in zip(listed, found, strict=True)]


@dataclass(frozen=True)
class Grown:
    """A difference of differences: how much larger our lead is in a second place than in a first."""

    at_first: float
    at_second: float
    p: float | None


def growth(first: tuple[CellResult, CellResult], second: tuple[CellResult, CellResult]) -> Grown | None:
    """Compare two leads, each a pair (ours, theirs), by Welch's t-test between their paired differences."""
    leads = [unit_differences(ours.independent, theirs.independent)[0] for ours, theirs in (first, second)]
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


def fitted_exponent(curve: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the least-squares slope of log y over log x, and the half-width of its 95 % interval."""
    fit = stats.linregress(*np.log(np.asarray(curve)).T)
    half = stats.t.ppf(0.975, len(curve) - 2) * fit.stderr if len(curve) > 2 else math.nan
    return float(fit.slope), float(half)


def probability(p: float | None) -> str:
    return "p –" if p is None else "p < 0.001" if p < 1e-3 else f"p = {p:.3f}"
