"""What the paper says of Table 3, few labels."""

from hiergcn.paper.names import NAMES
from hiergcn.paper.significance import compare_cells, growth
from hiergcn.paper.verdicts.evidence import NETWORKS, Evidence
from hiergcn.paper.verdicts.verdict import (
    NOT_RUN,
    Finding,
    Lead,
    at_least_as_printed,
    better_everywhere,
    lead_grows,
    points,
)


def outperforms(evidence: Evidence, small: bool = False) -> Finding:
    pairs = []
    for count in evidence.scale.labels:
        column = f"{count} small" if small else str(count)
        for other in NETWORKS:
            printed = _printed_lead(evidence, other, count)
            pairs.append(
                (f"{count} labels, {NAMES[other]}", evidence.few("hgcn", column), evidence.few(other, column), printed)
            )
    return better_everywhere(compare_cells(pairs))


def outperforms_small(evidence: Evidence) -> Finding:
    return outperforms(evidence, small=True)


def margin_grows(evidence: Evidence) -> Finding:
    most, least = str(max(evidence.scale.labels)), str(min(evidence.scale.labels))
    leads = []
    for other in NETWORKS:
        grown = growth(
            (evidence.few("hgcn", most), evidence.few(other, most)),
            (evidence.few("hgcn", least), evidence.few(other, least)),
        )
        leads.append(Lead(NAMES[other], f"with {most} labels", f"with {least}", grown))
    return lead_grows(leads, enough=evidence.scale.draws >= 10)


def five_labels(evidence: Evidence) -> Finding:
    least = min(evidence.scale.labels)
    pairs = [
        (
            NAMES[other],
            evidence.few("hgcn", str(least)),
            evidence.few(other, str(least)),
            _printed_lead(evidence, other, least),
        )
        for other in NETWORKS
    ]
    return at_least_as_printed(compare_cells(pairs))


def declines_slightly(evidence: Evidence) -> Finding:
    """A smaller decline than each baseline's is the same as a lead that grows; the declines themselves are given."""
    most, least = max(evidence.scale.labels), min(evidence.scale.labels)
    declines = []
    for arm in ("hgcn", *NETWORKS):
        first, last = (evidence.few(arm, str(count)).accuracy.mean for count in (most, least))
        if first is not None and last is not None:
            most_printed, least_printed = evidence.printed_few(arm, most), evidence.printed_few(arm, least)
            lost = most_printed.mean - least_printed.mean if most_printed and least_printed else None
            declines.append(f"{NAMES[arm]} {points(first - last, False)} (paper {points(lost, False)})")
    if not declines:
        return NOT_RUN
    return Finding(
        margin_grows(evidence).word, f"From {most} to {least} labels a class, points lost: {'; '.join(declines)}."
    )


def _printed_lead(evidence: Evidence, other: str, count: int) -> float | None:
    ours, theirs = evidence.printed_few("hgcn", count), evidence.printed_few(other, count)
    return ours.mean - theirs.mean if ours and theirs else None
