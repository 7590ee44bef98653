"""What the paper says of Table 2."""

from collections.abc import Sequence

from hiergcn.paper.experiments import NELL
from hiergcn.paper.names import NAMES, TITLES
from hiergcn.paper.published import TABLE2
from hiergcn.paper.significance import LEVEL, Compared, compare_cells, growth, to_paper
from hiergcn.paper.verdicts.evidence import NETWORKS, WALKERS, Evidence
from hiergcn.paper.verdicts.verdict import (
    NOT_RUN,
    Finding,
    Lead,
    Word,
    at_least_as_printed,
    better_everywhere,
    lead_grows,
    listed,
    points,
    probability,
    unrun,
)

CLAIMED_GIB = 64


def _against(evidence: Evidence, others: Sequence[str], datasets: Sequence[str] | None = None) -> list[Compared]:
    pairs = []
    for dataset in datasets or evidence.scale.datasets:
        for other in others:
            theirs, mine = TABLE2[other].get(dataset), TABLE2["hgcn"][dataset]
            printed = None if theirs is None else mine.mean - theirs.mean
            pairs.append(
                (f"{TITLES[dataset]}, {NAMES[other]}", evidence.ours(dataset), evidence.other(other, dataset), printed)
            )
    return compare_cells(pairs)


def figures(evidence: Evidence) -> Finding:
    """The figures themselves: does ours differ from what is printed by more than chance?"""
    lines, low, missing = [], 0, []
    for dataset in evidence.scale.datasets:
        found = to_paper(evidence.ours(dataset), TABLE2["hgcn"][dataset])
        if found is None or found.p is None:
            missing.append(TITLES[dataset])
            continue
        low += found.p < LEVEL and found.difference < 0
        mean, printed = evidence.ours(dataset).accuracy.mean, TABLE2["hgcn"][dataset].mean
        lines.append(
            f"{TITLES[dataset]} {points(mean, False)} against {points(printed, False)} "
            f"({points(found.difference)}, {probability(found.p)})"
        )
    if not lines:
        return NOT_RUN
    word: Word = "does not hold" if low else "not decided" if missing else "holds"
    return Finding(word, f"{'; '.join(lines)}.{unrun(missing)}")


def outperforms(evidence: Evidence) -> Finding:
    return better_everywhere(_against(evidence, (*WALKERS, *NETWORKS)))


def up_to(evidence: Evidence) -> Finding:
    """The largest lead over the best of the others, on any dataset."""
    leads, missing = [], []
    for dataset in evidence.scale.datasets:
        others = [evidence.other(name, dataset) for name in (*WALKERS, *NETWORKS)]
        known = [one for one in others if one.accuracy.mean is not None]
        missing += [f"{TITLES[dataset]}, {NAMES[one.cell.arm]}" for one in others if one not in known]
        if known and evidence.ours(dataset).accuracy.mean is not None:
            best = max(known, key=lambda one: one.accuracy.mean or 0.0)
            leads.append((f"{TITLES[dataset]}, {NAMES[best.cell.arm]}", evidence.ours(dataset), best, None))
    if not leads:
        return NOT_RUN
    compared = compare_cells(leads)
    largest = max(compared, key=lambda one: one.found.mean or -1.0)
    reached = largest.found.high is not None and largest.found.high >= 0.059
    word: Word = "does not hold" if not reached else "not decided" if missing else "holds"
    text = f"Against the best of the paper's baselines on each dataset: {listed(compared)}."
    return Finding(word, text + unrun(missing))


def larger_on_nell(evidence: Evidence) -> Finding:
    if NELL not in evidence.scale.datasets:
        return NOT_RUN
    leads = []
    for other in ("gcn", "dgcn"):
        for dataset in evidence.scale.citation:
            grown = growth(
                (evidence.ours(dataset), evidence.other(other, dataset)),
                (evidence.ours(NELL), evidence.other(other, NELL)),
            )
            leads.append(Lead(NAMES[other], f"on {TITLES[dataset]}", "on NELL", grown))
    return lead_grows(leads, enough=evidence.scale.seeds >= 10)


def exceeds_on_nell(evidence: Evidence) -> Finding:
    if NELL not in evidence.scale.datasets:
        return NOT_RUN
    return at_least_as_printed(_against(evidence, ("gcn", "dgcn"), (NELL,)))


def _between(evidence: Evidence, better: str, worse: Sequence[str]) -> list[Compared]:
    pairs = []
    for dataset in evidence.scale.datasets:
        for other in worse:
            ours, theirs = TABLE2[better].get(dataset), TABLE2[other].get(dataset)
            printed = ours.mean - theirs.mean if ours and theirs else None
            name = f"{TITLES[dataset]}, {NAMES[better]} over {NAMES[other]}"
            pairs.append((name, evidence.other(better, dataset), evidence.other(other, dataset), printed))
    return compare_cells(pairs)


def walkers_are_poor(evidence: Evidence) -> Finding:
    return better_everywhere(_between(evidence, "gcn", WALKERS))


def gat_over_gcn(evidence: Evidence) -> Finding:
    return better_everywhere(_between(evidence, "gat", ("gcn",)))


def gat_on_nell(evidence: Evidence) -> Finding:
    if NELL not in evidence.scale.datasets:
        return NOT_RUN
    found = evidence.other("gat", NELL)
    if not found.done:
        return NOT_RUN
    text = f"GAT ran on NELL, {found.done} seeds, with attention over the edges alone"
    text += f": {points(found.accuracy.mean, False)} %."
    taken = next(iter(evidence.measured("table2")), None)
    if taken is None or taken["bytes"] is None:
        return Finding("not decided", f"{text}{unrun(['its memory'])}")
    size = taken["bytes"] / 2**30
    return Finding(
        "does not hold" if size < CLAIMED_GIB else "holds",
        f"{text} Training takes {size:.1f} GiB above what the process holds with the graph read.",
    )
