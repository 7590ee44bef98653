"""The paper's claims, which are in claims.toml, and the judge of each: a verdict with the figures behind it.

`better`, `at_least_as_printed`, `grows` and `best_value` serve several claims; the other judges serve one claim each.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hiergcn.research import method_title
from hiergcn_experiments.page import packaged, points
from hiergcn_experiments.paper.evidence import (
    BEST_CHANNELS,
    BEST_LEVELS,
    LEVEL,
    Compared,
    Evidence,
    Grown,
    Pair,
    compare_cells,
    corrected,
    fitted_exponent,
    growth,
    least_p,
    probability,
    to_paper,
)
from hiergcn_experiments.paper.experiments import CITATION, DATASET_TITLES, NELL

Word = Literal["holds", "does not hold", "undecided", "not run"]
CLAIMED_GIB = 64
UP_TO = 0.059
"""The largest lead that the abstract claims."""
SAME = 0.15
"""Exponents that differ by less count as equal."""
LINEAR = 1.2
"""An exponent below it counts as O(n log n): over three decades n log n itself is fitted by 1.1."""


@dataclass(frozen=True)
class Finding:
    """A verdict and the sentence with its figures."""

    word: Word
    reading: str
    details: tuple[str, ...] = ()
    """Lines below the reading: every comparison that it counts."""


NOT_RUN = Finding("not run", "The runs needed for this claim are not in the store.")

# Judges that several claims share


def better(pairs: Iterable[Pair]) -> Finding:
    """Judge "ours is better than each of these".

    Runs without a difference speak against the claim if there are enough of them. If the paper prints differences, most
    of our 95 % intervals must lie below them. Otherwise there must be enough runs to see a difference that has the same
    sign in every pair.
    """
    compared = compare_cells(pairs)
    run = [one for one in compared if one.run]
    signs = [one.sign for one in run]
    count = f"Better in {signs.count(1)} of {len(run)}, worse in {signs.count(-1)}, level in {signs.count(0)}."
    missing = [one.name for one in compared if not one.run]
    printed = [(one.found.high, one.printed) for one in run if one.printed is not None]
    enough = all(len(run) * least_p(one.found.units) < LEVEL for one in run)
    if printed:
        enough = 2 * sum(high is not None and high < theirs for high, theirs in printed) > len(printed)
    details = []
    for sign, word in ((1, "Better"), (-1, "Worse"), (0, "Level")):
        groups: dict[str, list[str]] = {}  # the part of a name before its comma is written once
        for one in run:
            if one.sign == sign:
                head, _, rest = one.name.partition(", ")
                groups.setdefault(head, []).append(f"{rest} {_figures(one)}".strip())
        texts = [f"{head} {', '.join(texts)}" for head, texts in groups.items()]
        details += [f"{word}: {'; '.join(texts)}."] if texts else []
    return _by_signs(signs, count, missing, enough=enough, details=tuple(details))


def _by_signs(
    signs: Sequence[int], reading: str, missing: Sequence[str], *, enough: bool, details: tuple[str, ...]
) -> Finding:
    """Judge by the sign of every difference; 0 means that chance may explain it.

    The claim holds if all are positive. It does not hold if one is negative, or if none is positive although there was
    `enough` to see one. Otherwise, and as long as runs are missing, it is undecided.
    """
    if not signs:
        return NOT_RUN
    if -1 in signs or (enough and not missing and 1 not in signs):
        return Finding("does not hold", f"{reading}{_unrun(missing)}", details)
    if not missing and all(sign == 1 for sign in signs):
        return Finding("holds", reading, details)
    level = signs.count(0)
    if not level:
        reason = ""
    elif 1 in signs:
        reason = f" Undecided because the claim is about all of them, and chance may explain {level}."
    else:
        reason = " Undecided because chance may explain every difference, and the runs are too few to rule it out."
    return Finding("undecided", f"{reading}{_unrun(missing)}{reason}", details)


def at_least_as_printed(pairs: Iterable[Pair]) -> Finding:
    """Judge "ours is better by this much": the 95 % interval of the difference must reach the printed figure."""
    compared = compare_cells(pairs)
    run = [one for one in compared if one.run and one.found.high is not None and one.printed is not None]
    missing = [one.name for one in compared if one not in run]
    reached = [(one.found.high or 0.0) >= (one.printed or 0.0) for one in run]
    return _settled(not all(reached), [f"{one.name} {_figures(one)}" for one in run], missing)


@dataclass(frozen=True)
class Lead:
    """Our lead over a method in a first and a second place; `grown` is None if runs are missing."""

    name: str
    first: str
    second: str
    grown: Grown | None


def grows(leads: Iterable[Lead], *, enough: bool) -> Finding:
    """Judge "our lead is larger in the second place than in the first"."""
    every = list(leads)
    run = [one for one in every if one.grown is not None and one.grown.p is not None]
    known = corrected([one.grown for one in run if one.grown is not None])
    signs = [0 if one.p is None or one.p >= LEVEL else 1 if one.at_second > one.at_first else -1 for one in known]
    count = f"Grows in {signs.count(1)} of {len(run)}, shrinks in {signs.count(-1)}, chance in {signs.count(0)}."
    details = tuple(
        f"over {one.name} from {points(grown.at_first)} {one.first} to {points(grown.at_second)} {one.second} "
        f"({probability(grown.p)})"
        for one, grown in zip(run, known, strict=True)
    )
    missing = [f"{one.name} {one.first}" for one in every if one not in run]
    return _by_signs(signs, count, missing, enough=enough, details=details)


def best_value(evidence: Evidence, experiment: str, best: dict[str, int]) -> Finding:
    """Judge "this value is the best": no other may be significantly better, and its mean must be the highest."""
    lines, signs, missing = [], [], []
    for dataset in evidence.scale.datasets:
        cells = evidence.varied(experiment, dataset)
        known = {value: cell for value, cell in cells.items() if cell.done > 1}
        claimed = known.get(best[dataset])
        if claimed is None or len(known) < len(cells):
            missing.append(DATASET_TITLES[dataset])
            continue
        highest = max(known, key=lambda value: known[value].accuracy.mean or 0.0)
        others = [(str(value), cell, claimed) for value, cell in known.items() if cell is not claimed]
        beaten = [one.name for one in compare_cells(others) if one.sign == 1]
        signs.append(-1 if beaten else 1 if highest == best[dataset] else 0)
        lines.append(
            f"{DATASET_TITLES[dataset]}: best at {highest} with {points(known[highest].accuracy.mean, False)}, "
            f"at {best[dataset]} {points(claimed.accuracy.mean, False)}"
            + (f", significantly better: {', '.join(beaten)}" if beaten else "")
        )
    found = _settled(-1 in signs, lines, missing)
    if found.word != "holds" or 0 not in signs:
        return found
    reason = "Undecided because other values have higher means, but none significantly."
    return replace(found, word="undecided", reading=f"{found.reading} {reason}")


# Judges of a single claim


def figures(evidence: Evidence) -> Finding:
    """Judge Table 2's figures of H-GCN: ours must not be significantly lower."""
    lines, low, missing = [], False, []
    for dataset in evidence.scale.datasets:
        cell = evidence.table2("hgcn", dataset)
        found, printed = to_paper(cell), cell.printed
        if found is None or found.p is None or printed is None:
            missing.append(DATASET_TITLES[dataset])
            continue
        low |= found.p < LEVEL and found.difference < 0
        lines.append(
            f"{DATASET_TITLES[dataset]} {points(cell.accuracy.mean, False)} against {points(printed.mean, False)} "
            f"({points(found.difference)}, {probability(found.p)})"
        )
    return _settled(low, lines, missing)


def largest_lead(evidence: Evidence, others: Sequence[str]) -> Finding:
    """Judge the largest lead over the best of the other methods, on any dataset."""
    leads: list[Pair] = []
    missing = []
    for dataset in evidence.scale.datasets:
        ours, theirs = evidence.table2("hgcn", dataset), [evidence.table2(name, dataset) for name in others]
        names = {one: f"{DATASET_TITLES[dataset]}, {method_title(one.cell.variant)}" for one in theirs}
        missing += [names[one] for one in theirs if not one.done]
        if ours.done and any(one.done for one in theirs):
            best = max(theirs, key=lambda one: one.accuracy.mean or 0.0)
            leads.append((names[best], ours, best))
    compared = compare_cells(leads)
    largest = max(compared, key=lambda one: one.found.mean or -1.0, default=None)
    reached = largest is not None and (largest.found.high or 0.0) >= UP_TO
    lines = [f"{one.name} {points(one.found.mean)} ({probability(one.p)})" for one in compared]
    return _settled(not reached, lines, missing, "Against the best of the paper's baselines on each dataset: ")


def gat_on_nell(evidence: Evidence) -> Finding:
    found = evidence.table2("gat", NELL) if NELL in evidence.scale.datasets else None
    if found is None or not found.done:
        return NOT_RUN
    accuracy = points(found.accuracy.mean, False)
    text = f"GAT ran on NELL, {found.done} seeds, with attention over the edges alone: {accuracy} %"
    taken = next(iter(evidence.measured("table2")), None)
    if taken is None or taken["bytes"] is None:
        return _settled(False, [text], ["its memory"])
    size = taken["bytes"] / 2**30
    text += f". Training takes {size:.1f} GiB more than the process holds after reading the graph"
    return _settled(size < CLAIMED_GIB, [text])


def declines_slightly(evidence: Evidence, others: Sequence[str], margin: Finding) -> Finding:
    """Judge the loss of accuracy with fewer labels: a smaller loss than each baseline's is a margin that grows."""
    most, least = max(evidence.scale.labels), min(evidence.scale.labels)
    lines = []
    for method in ("hgcn", *others):
        cells = [evidence.table3(method, str(count)) for count in (most, least)]
        first, last = (cell.accuracy.mean for cell in cells)
        if first is not None and last is not None:
            printed = [cell.printed.mean for cell in cells if cell.printed]
            lost = printed[0] - printed[1] if len(printed) == 2 else None
            lines.append(f"{method_title(method)} {points(first - last, False)} (paper {points(lost, False)})")
    found = _settled(False, lines, before=f"From {most} to {least} labels per class, points lost: ")
    word = margin.word
    reason = " Undecided because the margin over some of them may have grown by chance." if word == "undecided" else ""
    return replace(found, word=word, reading=found.reading + reason) if lines else found


def toy_graph(evidence: Evidence) -> Finding:
    found = evidence.measured("figure-coarsening")[0]
    if found is None:
        return NOT_RUN
    groups = sorted(members(found["names"], found["groups"]))
    return _settled(groups != ["A", "BD", "CE"], [f"Our coarsening groups it as {', '.join(groups)}"])


def members(names: Sequence[str], groups: Sequence[int]) -> list[str]:
    """Return the names of each group as one word, in the order of the groups."""
    found: dict[int, str] = {}
    for name, group in zip(names, groups, strict=True):
        found[group] = found.get(group, "") + name
    return [found[group] for group in sorted(found)]


def larger_receptive_field(evidence: Evidence) -> Finding:
    """Judge the receptive field with the paper's number of levels against a GCN's."""
    lines, smaller, missing = [], False, []
    for dataset, found in evidence.by_dataset("figure-receptive-field").items():
        if found is None:
            missing.append(DATASET_TITLES[dataset])
            continue
        level = min(BEST_LEVELS[dataset], found["depth"])
        medians = found["hgcn"][level]["median"], found["gcn"]["median"], found["flat"][level]["median"]
        smaller |= medians[0] <= medians[1]
        shares = (100 * median / found["nodes"] for median in medians)
        ours, gcn, flat = (f"{share:.2g} %" if share < 10 else f"{share:.0f} %" for share in shares)
        lines.append(
            f"{DATASET_TITLES[dataset]} {ours} with {level} levels, {gcn} for a GCN of 2 layers, {flat} for one of "
            f"{2 * level + 1}"
        )
    return _settled(smaller, lines, missing, "Median share of the nodes: ")


def farther_on_nell(evidence: Evidence) -> Finding:
    """Judge the distance of test nodes to training nodes on NELL against the citation networks."""
    fields = evidence.by_dataset("figure-receptive-field")
    found = {dataset: one["distance"] for dataset, one in fields.items() if one is not None}
    if NELL not in found or len(found) < 2:
        return NOT_RUN
    nearer = any(found[NELL]["mean"] <= one["mean"] for dataset, one in found.items() if dataset != NELL)
    lines = [
        f"{DATASET_TITLES[dataset]} {one['mean']:.2f} (more than 2 for {100 * one['beyond_two']:.0f} %)"
        for dataset, one in found.items()
    ]
    missing = [DATASET_TITLES[dataset] for dataset in CITATION if dataset not in found]
    return _settled(nearer, lines, missing, "Mean steps from a test node to the nearest training node: ")


def preprocessing(evidence: Evidence) -> Finding:
    """Judge O(n log n) + O(mn): nearly linear in the nodes and at most linear in the average degree."""
    by_nodes, by_degree = evidence.seconds("coarsen")
    if len(by_nodes) < 3:
        return NOT_RUN
    nodes, half = fitted_exponent(by_nodes)
    reference, _ = fitted_exponent([(n, n * math.log(n)) for n, _ in by_nodes])
    text = f"Seconds grow as n^{nodes:.2f} (± {half:.2f}); n log n would show as n^{reference:.2f}"
    if len(by_degree) > 2:
        text += f". With the average degree they grow as m^{fitted_exponent(by_degree)[0]:.2f}"
    return _settled(nodes - half > LINEAR, [text])


def epochs(evidence: Evidence) -> Finding:
    """Judge "as efficient as GCN asymptotically" by equal exponents, and "more efficient than GAT" by seconds."""
    lines = []
    exponents: dict[str, float] = {}
    times = {name: evidence.seconds(f"{name}_epoch")[0] for name in ("hgcn", "gcn", "gat")}
    for name, by_nodes in times.items():
        large = [point for point in by_nodes if point[0] >= 10_000] if len(by_nodes) > 4 else by_nodes
        if len(large) > 1:
            exponents[name], _ = fitted_exponent(large)
            nodes, longest = large[-1]
            lines.append(f"{method_title(name)} n^{exponents[name]:.2f}, {longest:.2g} s at {nodes:,.0f} nodes")
    if "hgcn" not in exponents or "gcn" not in exponents:
        return NOT_RUN
    slower = exponents["hgcn"] > max(exponents["gcn"], 1.0) + SAME
    text = f"An epoch, from 10,000 nodes on: {'; '.join(lines)}"
    if slower or not times["gat"]:
        return _settled(slower, [text], [] if times["gat"] else ["GAT"])
    size, theirs = times["gat"][-1]
    ours = dict(times["hgcn"])[size]
    text += f". At {size:,.0f} nodes H-GCN takes {ours:.2g} s and GAT {theirs:.2g} s"
    return _settled(ours >= theirs, [text])


# Words


def _settled(fails: bool, lines: Sequence[str], missing: Sequence[str] = (), before: str = "") -> Finding:
    """Return a finding of these lines: one failure decides; otherwise missing runs leave the claim undecided."""
    if not lines:
        return NOT_RUN
    word: Word = "does not hold" if fails else "undecided" if missing else "holds"
    return Finding(word, f"{before}{'; '.join(lines)}.{_unrun(missing)}")


def _unrun(names: Sequence[str]) -> str:
    return f" Not run: {'; '.join(names)}." if names else ""


def _figures(one: Compared) -> str:
    printed = "" if one.printed is None else f", paper {points(one.printed)}"
    return f"{points(one.found.mean)} ({probability(one.p)}{printed})"


# The claims

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


def few_labels(evidence: Evidence, end: str = "", fewest: bool = False) -> Iterator[Pair]:
    """Pair H-GCN with the networks of Table 3 at every number of labels, or only at the smallest one.

    `end` is that of the columns' names.
    """
    for count in [min(evidence.scale.labels)] if fewest else evidence.scale.labels:
        for other in NETWORKS:
            cells = evidence.table3("hgcn", f"{count}{end}"), evidence.table3(other, f"{count}{end}")
            yield f"{'' if fewest else f'{count} labels, '}{method_title(other)}", *cells


def ablation(evidence: Evidence, variant: str) -> Iterator[Pair]:
    """Pair H-GCN with an ablated version of Table 4."""
    for dataset in evidence.scale.datasets:
        yield DATASET_TITLES[dataset], evidence.table4("hgcn", dataset), evidence.table4(variant, dataset)


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


def _margin_grows(evidence: Evidence) -> Finding:
    most, least = str(max(evidence.scale.labels)), str(min(evidence.scale.labels))
    leads = []
    for other in NETWORKS:
        first, second = ((evidence.table3("hgcn", count), evidence.table3(other, count)) for count in (most, least))
        leads.append(Lead(method_title(other), f"with {most} labels", f"with {least}", growth(first, second)))
    return grows(leads, enough=evidence.scale.draws >= 10)


_ALL_OTHERS = (*WALKERS, *NETWORKS)
JUDGES: dict[str, Callable[[Evidence], Finding]] = {
    "largest-lead": lambda runs: largest_lead(runs, _ALL_OTHERS),
    "receptive-field": larger_receptive_field,
    "toy-graph": toy_graph,
    "preprocessing": preprocessing,
    "epochs": epochs,
    "figures": figures,
    "gat-memory": gat_on_nell,
    "outperforms": lambda runs: better(methods(runs, "hgcn", _ALL_OTHERS)),
    "larger-on-nell": lambda runs: grows(citation_to_nell(runs), enough=runs.scale.seeds >= 10),
    "exceeds-on-nell": lambda runs: at_least_as_printed(methods(runs, "hgcn", ("gcn", "dgcn"), (NELL,))),
    "walkers-are-poor": lambda runs: better(methods(runs, "gcn", WALKERS)),
    "gat-over-gcn": lambda runs: better(methods(runs, "gat", ("gcn",))),
    "farther-on-nell": farther_on_nell,
    "outperforms-with-few-labels": lambda runs: better(few_labels(runs)),
    "outperforms-with-small-validation": lambda runs: better(few_labels(runs, " small")),
    "margin-grows": _margin_grows,
    "five-labels": lambda runs: at_least_as_printed(few_labels(runs, fewest=True)),
    "declines-slightly": lambda runs: declines_slightly(runs, NETWORKS, _margin_grows(runs)),
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


CLAIMS = tuple(Claim(**claim) for claim in packaged("paper/claims.toml")["claim"])


@dataclass(frozen=True)
class Verdict:
    """A claim and what our runs say about it."""

    claim: Claim
    finding: Finding


def verdicts_on(evidence: Evidence) -> list[Verdict]:
    return [Verdict(claim, JUDGES[claim.judge](evidence)) for claim in CLAIMS]
