"""The cells and measurements of the paper's experiments and H-GCN+'s, beside the paper's figures; and tests of both."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from hiergcn.research import PairedDifference, Summary, holm, holm_corrected, unit_differences
from hiergcn_experiments.experiment import Cell
from hiergcn_experiments.page import packaged
from hiergcn_experiments.paper.experiments import DEGREE, NELL, Scale, paper_experiments, plus_experiments
from hiergcn_experiments.results import CellResult, Results
from hiergcn_experiments.store import Record

LEVEL = 0.05
BEST = {
    "figure-levels": {"cora": 4, "citeseer": 4, "pubmed": 4, "nell": 5},
    "figure-channels": dict.fromkeys(("cora", "citeseer", "pubmed", "nell"), 4),
}
"""The paper's best value of a setting by figure and dataset."""


class Printed(NamedTuple):
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


class ToPaper(NamedTuple):
    """Difference of our mean from the paper's, as a fraction of 1."""

    difference: float
    p: float | None


class PaperCell(CellResult):
    """A cell of which the paper may print a figure."""

    @property
    def printed(self) -> Printed | None:
        return printed_figure(self.cell, self.cell.condition)

    @property
    def to_paper(self) -> ToPaper | None:
        """The difference from the paper's figure with its p; None if either figure is missing."""
        values, printed = Summary(tuple(self.independent.values())).values, self.printed
        if printed is None or len(values) == 0:
            return None
        difference = float(values.mean()) - printed.mean
        if len(values) < 2 or values.std(ddof=1) == 0:
            return ToPaper(difference, None)
        if printed.std is None or printed.runs is None:
            return ToPaper(difference, float(stats.ttest_1samp(values, printed.mean).pvalue))
        ours, theirs = (values.mean(), values.std(ddof=1), len(values)), (printed.mean, printed.std, printed.runs)
        return ToPaper(difference, float(stats.ttest_ind_from_stats(*ours, *theirs, equal_var=False).pvalue))


class Evidence:
    """The cells and measurements of all experiments at one scale.

    On NELL H-GCN is judged by our recipe, which learns, and not by the paper's settings, which do not. That favours
    the paper.
    """

    def __init__(self, results: Results, scale: Scale) -> None:
        self.results, self.scale = results, scale
        self.paper, self.plus = paper_experiments(scale), plus_experiments(scale)
        self.experiments = self.paper | self.plus
        self.cells = {
            name: {cell.key: PaperCell(cell, results.cell(cell).records) for cell in one.cells()}
            for name, one in self.experiments.items()
        }
        """By experiment, then by (variant, dataset, condition)."""

    def table2(self, variant: str, dataset: str) -> PaperCell:
        name = "hgcn-nell" if (variant, dataset) == ("hgcn", NELL) else variant
        return self.cells["table2"][name, dataset, ""]

    def table3(self, variant: str, condition: str) -> PaperCell:
        return self.cells["table3"][variant, self.scale.few_labels_on, condition]

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

    def seconds(self, what: str) -> tuple[dict[float, float], dict[float, float]]:
        """Return seconds by nodes at average degree 10, and by degree at one number of nodes."""
        found = [one for one in self.measured("complexity") if one is not None and what in one]
        of_size = [one for one in found if one["degree"] == DEGREE and one["nodes"] in self.scale.sizes]
        by_degree = sorted((one["degree"], one[what]) for one in found if one["nodes"] == self.scale.degrees_at)
        return dict(sorted((one["nodes"], one[what]) for one in of_size)), dict(by_degree)

    def used(self, experiments: Iterable[str]) -> list[Record]:
        """Return every record that these experiments rest on, once."""
        jobs = (job for name in experiments for job in self.experiments[name].jobs())
        found = (record for job in jobs if (record := self.results.find(job)))
        return list({record.about: record for record in found}.values())


# Comparisons of two of our cells


def least_p(units: int) -> float:
    """Return the smallest p that the signed-rank test can give with this many pairs."""
    return 2.0 ** (1 - units)


class Compared(NamedTuple):
    """One of our cells compared with another."""

    name: str
    found: PairedDifference
    printed: float | None
    """The difference that the paper prints; its Table 3 serves both sizes of validation."""

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
    compared = []
    for (name, *cells), one in zip(listed, found, strict=True):
        ours, theirs = (printed_figure(cell.cell, cell.cell.condition.removesuffix(" small")) for cell in cells)
        compared.append(Compared(name, one, ours.mean - theirs.mean if ours and theirs else None))
    return compared


class Growth(NamedTuple):
    """How much larger our lead over a method is in a second place than in a first; p is None without a test."""

    name: str
    first: str
    second: str
    at_first: float = math.nan
    at_second: float = math.nan
    p: float | None = None


Lead = tuple[str, PaperCell, PaperCell]
"""A place, our cell there and theirs."""


def growth(name: str, first: Lead, second: Lead) -> Growth:
    """Compare two leads by Welch's t-test between their paired differences."""
    leads = [unit_differences(ours.independent, theirs.independent)[0] for _, ours, theirs in (first, second)]
    if min(map(len, leads)) < 2 or max(lead.std() for lead in leads) == 0:
        return Growth(name, first[0], second[0])
    p = float(stats.ttest_ind(leads[1], leads[0], equal_var=False).pvalue)
    at_first, at_second = (float(lead.mean()) for lead in leads)
    return Growth(name, first[0], second[0], at_first, at_second, None if math.isnan(p) else p)


def corrected(found: Sequence[Growth]) -> list[Growth]:
    """Return those that have a p, with Holm's correction over all of them."""
    tested = [one for one in found if one.p is not None]
    adjusted = holm([one.p for one in tested if one.p is not None])
    return [one._replace(p=p) for one, p in zip(tested, adjusted, strict=True)]


def fitted_exponent(curve: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Return the least-squares slope of log y over log x, and the half-width of its 95 % interval."""
    points = np.log(np.asarray(list(curve)))
    fit = stats.linregress(*points.T)
    half = stats.t.ppf(0.975, len(points) - 2) * fit.stderr if len(points) > 2 else math.nan
    return float(fit.slope), float(half)


def probability(p: float | None) -> str:
    return "p –" if p is None else "p < 0.001" if p < 1e-3 else f"p = {p:.3f}"
