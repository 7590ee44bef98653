"""What the paper says that can be measured without training: receptive field, cost, the toy graph."""

import math
from collections.abc import Sequence
from typing import Any

from hiergcn.paper.experiments import CITATION, NELL
from hiergcn.paper.names import NAMES, TITLES
from hiergcn.paper.significance import fitted_exponent
from hiergcn.paper.verdicts.evidence import Evidence
from hiergcn.paper.verdicts.verdict import NOT_RUN, Finding, Word, unrun

PAPER_LEVELS = {"cora": 4, "citeseer": 4, "pubmed": 4, "nell": 5}
SAME = 0.15
"""Exponents that differ by less are taken for the same."""
LINEAR = 1.2
"""An exponent below it is taken for O(n log n): over three decades n log n itself is fitted by 1.1."""


def toy(evidence: Evidence) -> Finding:
    found = evidence.measured("figure-coarsening")[0]
    if found is None:
        return NOT_RUN
    names, groups = found["names"], found["groups"]
    parts = ["".join(name for name, one in zip(names, groups, strict=True) if one == group) for group in set(groups)]
    holds = sorted(parts) == ["A", "BD", "CE"]
    return Finding("holds" if holds else "does not hold", f"Our coarsening makes {', '.join(sorted(parts))} of it.")


def larger_receptive_field(evidence: Evidence) -> Finding:
    lines, larger, missing = [], [], []
    for dataset, found in _by_dataset(evidence):
        if found is None:
            missing.append(TITLES[dataset])
            continue
        level = min(PAPER_LEVELS[dataset], found["depth"])
        ours, gcn = found["hgcn"][level]["median"], found["gcn"]["median"]
        flat = found["flat"][level]["median"]
        larger.append(ours > gcn)
        lines.append(
            f"{TITLES[dataset]} {_share(ours, found)} with {level} levels, {_share(gcn, found)} for a GCN of 2 layers, "
            f"{_share(flat, found)} for one of {2 * level + 1}"
        )
    if not lines:
        return NOT_RUN
    word: Word = "does not hold" if not all(larger) else "not decided" if missing else "holds"
    return Finding(word, f"Median share of the nodes that reach a node's output: {'; '.join(lines)}.{unrun(missing)}")


def farther_on_nell(evidence: Evidence) -> Finding:
    found = {dataset: one for dataset, one in _by_dataset(evidence) if one is not None}
    if NELL not in found or len(found) < 2:
        return NOT_RUN
    steps = {dataset: one["distance"]["mean"] for dataset, one in found.items()}
    farthest = all(steps[NELL] > steps[other] for other in steps if other != NELL)
    lines = [
        f"{TITLES[dataset]} {one['distance']['mean']:.2f} (more than 2 for {100 * one['distance']['beyond_two']:.0f} %)"
        for dataset, one in found.items()
    ]
    missing = [TITLES[dataset] for dataset in CITATION if dataset not in found]
    word: Word = "does not hold" if not farthest else "not decided" if missing else "holds"
    return Finding(
        word, f"Mean steps from a test node to the nearest training node: {'; '.join(lines)}.{unrun(missing)}"
    )


def preprocessing(evidence: Evidence) -> Finding:
    """O(n log n) + O(mn): near-linear in nodes and at most linear in the average degree."""
    by_nodes, by_degree = series(evidence, "coarsen")
    if len(by_nodes) < 3:
        return NOT_RUN
    nodes, half = fitted_exponent(*zip(*by_nodes, strict=True))
    reference, _ = fitted_exponent([n for n, _ in by_nodes], [n * math.log(n) for n, _ in by_nodes])
    text = f"Seconds grow as n^{nodes:.2f} (± {half:.2f}) where n log n would show as n^{reference:.2f}"
    if len(by_degree) > 2:
        degree, _ = fitted_exponent(*zip(*by_degree, strict=True))
        text += f", and as m^{degree:.2f} with the average degree"
    return Finding("holds" if nodes - half <= LINEAR else "does not hold", f"{text}.")


def epochs(evidence: Evidence) -> Finding:
    """As efficient as GCN in the limit: the same exponent, near 1, whatever the factor; and quicker than GAT."""
    lines = []
    exponents: dict[str, float] = {}
    seconds: dict[str, dict[float, float]] = {}
    for name in ("hgcn", "gcn", "gat"):
        by_nodes, _ = series(evidence, f"{name}_epoch")
        seconds[name] = dict(by_nodes)
        large = [point for point in by_nodes if point[0] >= 10_000] if len(by_nodes) > 4 else by_nodes
        if len(large) > 1:
            exponents[name], _ = fitted_exponent(*zip(*large, strict=True))
            lines.append(f"{NAMES[name]} n^{exponents[name]:.2f}, {large[-1][1]:.2g} s at {large[-1][0]:,.0f} nodes")
    if "hgcn" not in exponents or "gcn" not in exponents:
        return NOT_RUN
    text = f"An epoch, from 10,000 nodes on: {'; '.join(lines)}."
    if exponents["hgcn"] > max(exponents["gcn"], 1.0) + SAME:
        return Finding("does not hold", text)
    if not seconds["gat"]:
        return Finding("not decided", f"{text}{unrun(['GAT'])}")
    size = max(seconds["gat"])
    quicker = seconds["hgcn"][size] < seconds["gat"][size]
    text += f" At {size:,.0f} nodes H-GCN takes {seconds['hgcn'][size]:.2g} s and GAT {seconds['gat'][size]:.2g} s."
    return Finding("holds" if quicker else "does not hold", text)


def series(evidence: Evidence, what: str) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """(nodes, seconds) at the usual degree, and (degree, seconds) at one size."""
    found = [one for one in evidence.measured("complexity") if one is not None and what in one]
    scale = evidence.scale
    by_nodes = sorted((one["nodes"], one[what]) for one in found if one["degree"] == 10 and one["nodes"] in scale.sizes)
    by_degree = sorted((one["degree"], one[what]) for one in found if one["nodes"] == scale.degrees_at)
    return by_nodes, by_degree


def _by_dataset(evidence: Evidence) -> Sequence[tuple[str, dict[str, Any] | None]]:
    return list(zip(evidence.scale.datasets, evidence.measured("figure-receptive-field"), strict=True))


def _share(count: float, found: dict[str, Any]) -> str:
    share = 100 * count / found["nodes"]
    return f"{share:.2g} %" if share < 10 else f"{share:.0f} %"
