"""The paper's claims, which are in claims.toml, and the judge of each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from hiergcn.settings.registry import method_title
from hiergcn_experiments import verdicts
from hiergcn_experiments.collect import BEST_CHANNELS, BEST_LEVELS, Evidence
from hiergcn_experiments.experiments import DATASET_TITLES, NELL, packaged
from hiergcn_experiments.significance import growth
from hiergcn_experiments.verdicts import Finding, Lead, Pair, at_least_as_printed, best_value, better, grows

WALKERS = ("deepwalk", "planetoid-t", "planetoid-i")
NETWORKS = ("gcn", "gat", "dgcn")


# Pairs of cells that a claim compares


def methods(
    evidence: Evidence, ours: str, others: Sequence[str], datasets: tuple[str, ...] | None = None
) -> Iterator[Pair]:
    """Pair a method of Table 2 with others, on all datasets or on some."""
    for dataset in evidence.scale.datasets:
        for other in others if dataset in (datasets or (dataset,)) else ():
            name = method_title(other) if ours == "hgcn" else f"{method_title(ours)} over {method_title(other)}"
            yield f"{DATASET_TITLES[dataset]}, {name}", evidence.table2(ours, dataset), evidence.table2(other, dataset)


def few_labels(evidence: Evidence, end: str = "") -> Iterator[Pair]:
    """Pair H-GCN with the networks of Table 3 at every number of labels; `end` is that of the columns' names."""
    for count in evidence.scale.labels:
        for other in NETWORKS:
            cells = evidence.table3("hgcn", f"{count}{end}"), evidence.table3(other, f"{count}{end}")
            yield f"{count} labels, {method_title(other)}", *cells


def fewest_labels(evidence: Evidence) -> Iterator[Pair]:
    """Pair H-GCN with the networks of Table 3 at the smallest number of labels."""
    least = str(min(evidence.scale.labels))
    return ((method_title(other), evidence.table3("hgcn", least), evidence.table3(other, least)) for other in NETWORKS)


def ablation(evidence: Evidence, arm: str) -> Iterator[Pair]:
    """Pair H-GCN with an ablated version of Table 4."""
    for dataset in evidence.scale.datasets:
        yield DATASET_TITLES[dataset], evidence.table4("hgcn", dataset), evidence.table4(arm, dataset)


def best_over(
    evidence: Evidence, experiment: str, best: dict[str, int], extreme: Callable[[Iterable[int]], int]
) -> Iterator[Pair]:
    """Pair the paper's best value of a varied setting with the smallest or the largest one."""
    for dataset in evidence.scale.datasets:
        cells, value = evidence.varied(experiment, dataset), best[dataset]
        if value in cells:
            other = extreme(cells)
            yield f"{DATASET_TITLES[dataset]}, {value} over {other}", cells[value], cells[other]


# Leads that a claim says to grow


def citation_to_nell(evidence: Evidence) -> Iterator[Lead]:
    for other in ("gcn", "dgcn") if NELL in evidence.scale.datasets else ():
        for dataset in evidence.scale.citation:
            first, second = (
                (evidence.table2("hgcn", where), evidence.table2(other, where)) for where in (dataset, NELL)
            )
            yield Lead(method_title(other), f"on {DATASET_TITLES[dataset]}", "on NELL", growth(first, second))


def many_to_few_labels(evidence: Evidence) -> Iterator[Lead]:
    most, least = str(max(evidence.scale.labels)), str(min(evidence.scale.labels))
    for other in NETWORKS:
        first, second = ((evidence.table3("hgcn", count), evidence.table3(other, count)) for count in (most, least))
        yield Lead(method_title(other), f"with {most} labels", f"with {least}", growth(first, second))


def _margin_grows(evidence: Evidence) -> Finding:
    return grows(many_to_few_labels(evidence), enough=evidence.scale.draws >= 10)


_ALL_OTHERS = (*WALKERS, *NETWORKS)
JUDGES: dict[str, Callable[[Evidence], Finding]] = {
    "largest-lead": lambda runs: verdicts.largest_lead(runs, _ALL_OTHERS),
    "receptive-field": verdicts.larger_receptive_field,
    "toy-graph": verdicts.toy_graph,
    "preprocessing": verdicts.preprocessing,
    "epochs": verdicts.epochs,
    "figures": verdicts.figures,
    "gat-memory": verdicts.gat_on_nell,
    "outperforms": lambda runs: better(methods(runs, "hgcn", _ALL_OTHERS)),
    "larger-on-nell": lambda runs: grows(citation_to_nell(runs), enough=runs.scale.seeds >= 10),
    "exceeds-on-nell": lambda runs: at_least_as_printed(methods(runs, "hgcn", ("gcn", "dgcn"), (NELL,))),
    "walkers-are-poor": lambda runs: better(methods(runs, "gcn", WALKERS)),
    "gat-over-gcn": lambda runs: better(methods(runs, "gat", ("gcn",))),
    "farther-on-nell": verdicts.farther_on_nell,
    "outperforms-with-few-labels": lambda runs: better(few_labels(runs)),
    "outperforms-with-small-validation": lambda runs: better(few_labels(runs, " small")),
    "margin-grows": _margin_grows,
    "five-labels": lambda runs: at_least_as_printed(fewest_labels(runs)),
    "declines-slightly": lambda runs: verdicts.declines_slightly(runs, NETWORKS, _margin_grows(runs)),
    "coarsening-helps": lambda runs: better(ablation(runs, "no-coarsening")),
    "embedding-helps": lambda runs: better(ablation(runs, "no-embedding")),
    "best-levels": lambda runs: best_value(runs, "figure-levels", BEST_LEVELS),
    "too-many-levels": lambda runs: better(best_over(runs, "figure-levels", BEST_LEVELS, max)),
    "more-channels": lambda runs: better(best_over(runs, "figure-channels", BEST_CHANNELS, min)),
    "best-channels": lambda runs: best_value(runs, "figure-channels", BEST_CHANNELS),
    "too-many-channels": lambda runs: better(best_over(runs, "figure-channels", BEST_CHANNELS, max)),
}


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper that claims a result."""

    place: str
    quote: str
    judge: str
    """Its name in JUDGES."""


CLAIMS = tuple(Claim(**claim) for claim in packaged("claims.toml")["claim"])


@dataclass(frozen=True)
class Verdict:
    """A claim and what our runs say about it."""

    claim: Claim
    finding: Finding


def verdicts_on(evidence: Evidence) -> list[Verdict]:
    return [Verdict(claim, JUDGES[claim.judge](evidence)) for claim in CLAIMS]
