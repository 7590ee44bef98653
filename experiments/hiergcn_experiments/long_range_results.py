"""Results of the benchmark of graphs of large diameter: cells, choices on validation, leads, verdicts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from hiergcn.evaluate.paired import PairedDifference, paired_difference
from hiergcn_experiments.collect import CellResult, Results
from hiergcn_experiments.experiment import Arm
from hiergcn_experiments.long_range import (
    ACCURACY,
    APART,
    BASE,
    BLOCKED,
    BY_LEVELS,
    CHOSEN_ON,
    COST,
    ELSEWHERE_FEATURES,
    ELSEWHERE_HOPS,
    FLAT_ARMS,
    GAPS,
    INFLUENCE,
    LARGE,
    NAME,
    RANDOM,
    TEXTS,
    WITH_HOPS,
    dataset_title,
    range_experiments,
)
from hiergcn_experiments.store import Record
from hiergcn_experiments.verdicts import Word

DRAWN = ("tenths-", "blocked-", "apart-")
FAR = 16
"""Hops that the deepest flat networks see."""
ALIKE = 1.25
"""Growth of the ratio of two costs that still counts as none."""


def range_records(records: Iterable[Record]) -> list[Record]:
    """Return the records of this benchmark."""
    return [one for one in records if _is_ours(one)]


def _is_ours(record: Record) -> bool:
    if record.key["kind"] == "training":
        return str(record.key["split"]).startswith(DRAWN)
    return str(record.key["name"]).startswith(f"{NAME}-")


class Lead(NamedTuple):
    """The lead of one arm over another on a graph and a kind of split."""

    dataset: str
    kind: str
    found: PairedDifference

    @property
    def sign(self) -> int:
        """1 if the 95 % interval over the splits lies above 0, -1 if below, else 0."""
        low, high = self.found.low, self.found.high
        return 0 if low is None or high is None else 1 if low > 0 else -1 if high < 0 else 0


@dataclass(frozen=True, eq=False)
class RangeResults:
    """All results of the benchmark."""

    records: Sequence[Record]
    quick: bool = False

    @cached_property
    def _experiments(self) -> dict[str, Any]:
        return {one.name: one for one in range_experiments(self.quick)}

    @property
    def datasets(self) -> tuple[str, ...]:
        found: tuple[str, ...] = self._experiments[ACCURACY].datasets
        return found

    @cached_property
    def cells(self) -> dict[tuple[str, str, str], CellResult]:
        """Cells by (arm, dataset, column). The city has main arms twice, with fewer and more seeds: more runs count."""
        results = Results(self.records)
        found: dict[tuple[str, str, str], CellResult] = {}
        for cell in self._experiments[ACCURACY].cells():
            one = results.cell(cell)
            before = found.get(cell.place)
            if before is None or one.done > before.done:
                found[cell.place] = one
        return found

    def cell(self, arm: str, dataset: str, kind: str) -> CellResult | None:
        """Return a cell that has runs."""
        found = self.cells.get((arm, dataset, kind))
        return found if found is not None and found.done else None

    def mean(self, arm: str, dataset: str, kind: str) -> float | None:
        """Return the mean test accuracy."""
        found = self.cell(arm, dataset, kind)
        return found.accuracy.mean if found else None

    def validation(self, arm: str, dataset: str, kind: str) -> float | None:
        """Return the mean validation accuracy."""
        found = self.cell(arm, dataset, kind)
        return found.summary("validation_accuracy").mean if found else None

    def chosen(self, arms: Iterable[Arm], dataset: str, kind: str) -> str | None:
        """Return the arm of the highest mean validation accuracy on a graph."""
        known = {arm.name: value for arm in arms if (value := self.validation(arm.name, dataset, kind)) is not None}
        return max(known, key=lambda name: known[name], default=None)

    def winner(self, arms: Sequence[Arm], kind: str) -> str | None:
        """Return the arm of the highest mean validation accuracy, of those with runs on every graph to choose on."""
        graphs = [at for at in self.datasets if at in CHOSEN_ON or self.quick]
        found = {arm.name: [self.validation(arm.name, at, kind) for at in graphs] for arm in arms}
        means = {name: float(np.mean(values)) for name, values in found.items() if None not in values}  # type: ignore[arg-type]
        return max(means, key=lambda name: means[name], default=None)

    @property
    def long_range(self) -> str:
        """The arm that the preset `long-range` was chosen to be, by validation on random splits."""
        return self.winner(GAPS, RANDOM) or GAPS[0].name

    @property
    def elsewhere(self) -> str:
        """The arm that the preset `elsewhere` was chosen to be, by validation nodes apart from training nodes."""
        return self.winner(ELSEWHERE_FEATURES, APART) or ELSEWHERE_FEATURES[0].name

    @property
    def elsewhere_hops(self) -> str:
        """The arm with hop columns that the same rule chooses."""
        return self.winner(ELSEWHERE_HOPS, APART) or ELSEWHERE_HOPS[0].name

    def best_flat(self, dataset: str, kind: str, hops: bool = False) -> str | None:
        """Return the flat network of the highest mean test accuracy, known only afterwards: the strictest rival.

        Args:
            dataset: the graph.
            kind: of split.
            hops: of those with hop columns; else of those without.
        """
        arms = WITH_HOPS if hops else FLAT_ARMS
        known = {arm.name: mean for arm in arms if (mean := self.mean(arm.name, dataset, kind)) is not None}
        return max(known, key=lambda name: known[name], default=None)

    def lead(self, arm: str, over: str | None, dataset: str, kind: str) -> Lead | None:
        """Return the difference of two arms, paired by split; None if one has no runs."""
        ours, theirs = self.cell(arm, dataset, kind), over and self.cell(over, dataset, kind)
        if not ours or not theirs:
            return None
        means = [{(k, 0): float(np.mean(values)) for k, values in one.by_split.items()} for one in (ours, theirs)]
        return Lead(dataset, kind, paired_difference(arm, means[0], over or "", means[1]))

    def measured(self, name: str) -> list[Record]:
        """Return the latest results of a measurement."""
        ours = [one for one in self.records if one.key.get("name") == name and not one.result.get("failure")]
        return list({one.about: one for one in sorted(ours, key=lambda one: one.finished)}.values())

    @property
    def influence(self) -> dict[tuple[str, str], list[float]]:
        """Influence by hops of (dataset, arm)."""
        return {
            (one.key["arguments"]["dataset"], one.key["arguments"]["arm"]): one.result["influence"]
            for one in self.measured(INFLUENCE)
        }

    @property
    def cost(self) -> dict[str, dict[str, Any]]:
        """Seconds of an epoch and bytes by dataset."""
        return {one.key["arguments"]["dataset"]: one.result for one in self.measured(COST)}

    @property
    def large(self) -> list[Record]:
        return self.measured(LARGE)


# Verdicts on the paper's claims


@dataclass(frozen=True)
class RangeClaim:
    """A claim of the paper that these graphs can test."""

    judge: str
    """Its name in claims.toml."""
    citation: Word
    """The verdict on citation networks and NELL, as in docs/results/verdicts.json."""
    about: str
    """What is compared here."""
    ours: str = BASE.name
    theirs: str = ""
    """The arm to be better than; empty: the best flat network."""


CLAIMS = tuple(RangeClaim(**one) for one in TEXTS["claim"])


class RangeVerdict(NamedTuple):
    """Verdicts on a claim by kind of split, with the leads behind them."""

    claim: RangeClaim
    word: dict[str, str]
    leads: list[Lead]


def verdict_on(results: RangeResults, claim: RangeClaim) -> RangeVerdict:
    """Judge a claim on every graph: it holds on those where the interval of the lead lies above 0."""
    leads, words = [], {}
    for kind in (RANDOM, BLOCKED):
        found = []
        for dataset in results.datasets:
            other = claim.theirs or results.best_flat(dataset, kind)
            lead = results.lead(claim.ours, other, dataset, kind)
            found += [lead] if lead is not None else []
        signs = [lead.sign for lead in found]
        words[kind] = _word(signs)
        leads += found
    return RangeVerdict(claim, words, leads)


def _word(signs: Sequence[int]) -> str:
    """Return the verdict by the signs of the leads on the graphs."""
    if not signs:
        return "not run"
    if all(sign == 1 for sign in signs):
        return "holds"
    better, worse = signs.count(1), signs.count(-1)
    if not better:
        return "does not hold"
    return f"holds on {better} of {len(signs)}" + (f", worse on {worse}" if worse else "")


def farther(results: RangeResults) -> tuple[str, tuple[str, ...]]:
    """Judge "coarsening enlarges the receptive field" by the influence from beyond 16 hops."""
    shares: dict[str, dict[str, float]] = {}
    for (dataset, arm), influence in results.influence.items():
        shares.setdefault(dataset, {})[arm] = sum(influence[FAR + 1 :]) / (sum(influence) or 1.0)
    known = {dataset: found for dataset, found in shares.items() if BASE.name in found and len(found) > 1}
    if not known:
        return "not run", ()
    signs, details = [], []
    for dataset, found in known.items():
        flat = max(value for arm, value in found.items() if arm in {one.name for one in FLAT_ARMS})
        signs.append(1 if found[BASE.name] > flat else 0)
        ours, theirs = (f"{100 * value:.2g} %" for value in (found[BASE.name], flat))
        details.append(f"{dataset_title(dataset)}: {ours} against {theirs}")
    return _word(signs), tuple(details)


def efficient(results: RangeResults) -> tuple[str, tuple[str, ...]]:
    """Judge "as asymptotically efficient as GCN" by how an epoch grows from the smaller to the larger graph."""
    ratios = {dataset: one["epoch"][BASE.name] / one["epoch"]["gcn-2"] for dataset, one in results.cost.items()}
    if len(ratios) < 2:
        return "not run", ()
    first, *_, last = ratios.values()
    details = tuple(f"{dataset_title(dataset)}: {ratio:.2f} times GCN's epoch" for dataset, ratio in ratios.items())
    return ("holds" if last <= ALIKE * first else "does not hold"), details


def best_levels(results: RangeResults, dataset: str, kind: str) -> str | None:
    """Return the number of levels with the highest mean test accuracy."""
    known = {arm.name: mean for arm in BY_LEVELS if (mean := results.mean(arm.name, dataset, kind)) is not None}
    return max(known, key=lambda name: known[name]).removeprefix("hgcn-") if len(known) > 2 else None
