"""The paper's claims, which are in claims.toml, and the judge of each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from hiergcn.model.registry import method_title
from hiergcn.paper import verdicts
from hiergcn.paper.collect import BEST_CHANNELS, BEST_LEVELS, Evidence
from hiergcn.paper.experiments import DATASET_TITLES, NELL, packaged
from hiergcn.paper.significance import growth
from hiergcn.paper.verdicts import Finding, Judge, Lead, Pair, Pairs, at_least_as_printed, best_value, better, grows

WALKERS = ("deepwalk", "planetoid-t", "planetoid-i")
NETWORKS = ("gcn", "gat", "dgcn")


# Pairs of cells that a claim compares


def methods(better: str, worse: Sequence[str], datasets: tuple[str, ...] | None = None) -> Pairs:
    """Pair a method of Table 2 with others, on all datasets or on some."""

    def pairs(evidence: Evidence) -> Iterator[Pair]:
        for dataset in evidence.scale.datasets:
            for other in worse if dataset in (datasets or (dataset,)) else ():
                name = method_title(other) if better == "hgcn" else f"{method_title(better)} over {method_title(other)}"
                cells = evidence.table2(better, dataset), evidence.table2(other, dataset)
                yield f"{DATASET_TITLES[dataset]}, {name}", *cells

    return pairs


def few_labels(end: str = "") -> Pairs:
    """Pair H-GCN with the networks of Table 3 at every number of labels; `end` is that of the columns' names."""

    def pairs(evidence: Evidence) -> Iterator[Pair]:
        for count in evidence.scale.labels:
            for other in NETWORKS:
                cells = evidence.table3("hgcn", f"{count}{end}"), evidence.table3(other, f"{count}{end}")
                yield f"{count} labels, {method_title(other)}", *cells

    return pairs


def fewest_labels(evidence: Evidence) -> Iterator[Pair]:
    """Pair H-GCN with the networks of Table 3 at the smallest number of labels."""
    least = str(min(evidence.scale.labels))
    return ((method_title(other), evidence.table3("hgcn", least), evidence.table3(other, least)) for other in NETWORKS)


def ablation(arm: str) -> Pairs:
    """Pair H-GCN with an ablated version of Table 4."""
    return lambda evidence: (
        (DATASET_TITLES[dataset], evidence.table4("hgcn", dataset), evidence.table4(arm, dataset))
        for dataset in evidence.scale.datasets
    )


def best_over(experiment: str, best: dict[str, int], extreme: Callable[[Iterable[int]], int]) -> Pairs:
    """Pair the paper's best value of a varied setting with the smallest or the largest one."""

    def pairs(evidence: Evidence) -> Iterator[Pair]:
        for dataset in evidence.scale.datasets:
            cells, value = evidence.varied(experiment, dataset), best[dataset]
            if value in cells:
                other = extreme(cells)
                yield f"{DATASET_TITLES[dataset]}, {value} over {other}", cells[value], cells[other]

    return pairs


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


_ALL_OTHERS = (*WALKERS, *NETWORKS)
_margin_grows = grows(many_to_few_labels, lambda evidence: evidence.scale.draws >= 10)

JUDGES: dict[str, Judge] = {
    "largest-lead": partial(verdicts.largest_lead, others=_ALL_OTHERS),
    "receptive-field": verdicts.larger_receptive_field,
    "toy-graph": verdicts.toy_graph,
    "preprocessing": verdicts.preprocessing,
    "epochs": verdicts.epochs,
    "figures": verdicts.figures,
    "gat-memory": verdicts.gat_on_nell,
    "outperforms": better(methods("hgcn", _ALL_OTHERS)),
    "larger-on-nell": grows(citation_to_nell, lambda evidence: evidence.scale.seeds >= 10),
    "exceeds-on-nell": at_least_as_printed(methods("hgcn", ("gcn", "dgcn"), (NELL,))),
    "walkers-are-poor": better(methods("gcn", WALKERS)),
    "gat-over-gcn": better(methods("gat", ("gcn",))),
    "farther-on-nell": verdicts.farther_on_nell,
    "outperforms-with-few-labels": better(few_labels()),
    "outperforms-with-small-validation": better(few_labels(" small")),
    "margin-grows": _margin_grows,
    "five-labels": at_least_as_printed(fewest_labels),
    "declines-slightly": partial(verdicts.declines_slightly, others=NETWORKS, margin=_margin_grows),
    "coarsening-helps": better(ablation("no-coarsening")),
    "embedding-helps": better(ablation("no-embedding")),
    "best-levels": best_value("figure-levels", BEST_LEVELS),
    "too-many-levels": better(best_over("figure-levels", BEST_LEVELS, max)),
    "more-channels": better(best_over("figure-channels", BEST_CHANNELS, min)),
    "best-channels": best_value("figure-channels", BEST_CHANNELS),
    "too-many-channels": better(best_over("figure-channels", BEST_CHANNELS, max)),
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
