"""The judges of the paper's claims: each gives a verdict with the figures behind it.

The claims are in claims.toml, each with the name of its judge and what that compares.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hiergcn.research import method_title
from hiergcn_experiments.page import packaged, points
from hiergcn_experiments.paper.evidence import (
    BEST,
    LEVEL,
    Compared,
    Evidence,
    Growth,
    Pair,
    compare_cells,
    corrected,
    fitted_exponent,
    growth,
    least_p,
    probability,
)
from hiergcn_experiments.paper.experiments import DATASET_TITLES, NELL

Word = Literal["holds", "does not hold", "undecided", "not run"]
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


def _settled(fails: bool, lines: Sequence[str], missing: Sequence[str] = (), before: str = "") -> Finding:
    """Return a finding of these lines: one failure decides; otherwise missing runs leave the claim undecided."""
    if not lines:
        return NOT_RUN
    word: Word = "does not hold" if fails else "undecided" if missing else "holds"
    return Finding(word, f"{before}{'; '.join(lines)}.{_unrun(missing)}")


def _by_dataset(said: dict[str, tuple[bool, str] | None], before: str = "") -> Finding:
    """Judge by dataset: whether it speaks against the claim, and its figures; None if it was not run."""
    lines = [f"{DATASET_TITLES[name]}{one[1]}" for name, one in said.items() if one]
    missing = [DATASET_TITLES[name] for name, one in said.items() if not one]
    return _settled(any(one[0] for one in said.values() if one), lines, missing, before)


def _by_signs(
    signs: Sequence[int], reading: str, missing: Sequence[str], *, enough: bool, details: Iterable[str]
) -> Finding:
    """Judge by the sign of every difference; 0 means that chance may explain it.

    The claim holds if all are positive. It does not hold if one is negative, or if none is positive although there was
    `enough` to see one. Otherwise, and as long as runs are missing, it is undecided.
    """
    if not signs:
        return NOT_RUN
    word: Word = "undecided"
    reason, level = "", signs.count(0)
    if -1 in signs or (enough and not missing and 1 not in signs):
        word = "does not hold"
    elif not missing and not level:
        word = "holds"
    elif level and 1 in signs:
        reason = f" Undecided because the claim is about all of them, and chance may explain {level}."
    elif level:
        reason = " Undecided because chance may explain every difference, and the runs are too few to rule it out."
    return Finding(word, f"{reading}{_unrun(missing)}{reason}", tuple(details))


def _unrun(names: Sequence[str]) -> str:
    return f" Not run: {'; '.join(names)}." if names else ""


def _figures(one: Compared) -> str:
    printed = "" if one.printed is None else f", paper {points(one.printed)}"
    return f"{points(one.found.mean)} ({probability(one.p)}{printed})"


# Pairs of cells that a claim compares


def methods(
    evidence: Evidence, ours: str, others: Sequence[str], datasets: Sequence[str] | None = None
) -> Iterator[Pair]:
    """Pair a method of Table 2 with others, on all datasets or on some."""
    for dataset in evidence.scale.datasets:
        for other in others if dataset in (datasets or (dataset,)) else ():
            name = method_title(other) if ours == "hgcn" else f"{method_title(ours)} over {method_title(other)}"
            yield f"{DATASET_TITLES[dataset]}, {name}", evidence.table2(ours, dataset), evidence.table2(other, dataset)


def few_labels(evidence: Evidence, others: Sequence[str], end: str = "", fewest: bool = False) -> Iterator[Pair]:
    """Pair H-GCN with networks of Table 3 at every number of labels, or only at the smallest one.

    `end` is that of the columns' names.
    """
    for count in [min(evidence.scale.labels)] if fewest else evidence.scale.labels:
        for other in others:
            cells = evidence.table3("hgcn", f"{count}{end}"), evidence.table3(other, f"{count}{end}")
            yield f"{'' if fewest else f'{count} labels, '}{method_title(other)}", *cells


def ablation(evidence: Evidence, variant: str) -> Iterator[Pair]:
    """Pair H-GCN with an ablated version of Table 4."""
    for dataset in evidence.scale.datasets:
        end = "-nell" if dataset == NELL else ""
        ours, theirs = (evidence.cells["table4"][f"{name}{end}", dataset, ""] for name in ("hgcn", variant))
        yield DATASET_TITLES[dataset], ours, theirs


def best_over(evidence: Evidence, figure: str, other: Literal["smallest", "largest"]) -> Iterator[Pair]:
    """Pair the paper's best value of a varied setting with the smallest or the largest one."""
    for dataset in evidence.scale.datasets:
        cells, value = evidence.varied(figure, dataset), BEST[figure][dataset]
        if value in cells:
            extreme = min(cells) if other == "smallest" else max(cells)
            yield f"{DATASET_TITLES[dataset]}, {value} over {extreme}", cells[value], cells[extreme]


PAIRS: dict[str, Callable[..., Iterator[Pair]]] = {
    pairs.__name__: pairs for pairs in (methods, few_labels, ablation, best_over)
}


# Judges that serve several claims


def better(evidence: Evidence, pairs: str, **about: Any) -> Finding:
    """Judge "ours is better than each of these".

    Runs without a difference speak against the claim if there are enough of them. If the paper prints differences, most
    of our 95 % intervals must lie below them. Otherwise there must be enough runs to see a difference that has the same
    sign in every pair.
    """
    compared = compare_cells(PAIRS[pairs](evidence, **about))
    run = [one for one in compared if one.run]
    signs = [one.sign for one in run]
    printed = [(one.found.high, one.printed) for one in run if one.printed is not None]
    enough = all(len(run) * least_p(one.found.units) < LEVEL for one in run)
    if printed:
        enough = 2 * sum(high is not None and high < theirs for high, theirs in printed) > len(printed)
    details = []
    for sign, word in ((1, "Better"), (-1, "Worse"), (0, "Level")):
        groups: dict[str, list[str]] = {}  # the part of a name before its comma is written once
        for one in (one for one in run if one.sign == sign):
            head, _, rest = one.name.partition(", ")
            groups.setdefault(head, []).append(f"{rest} {_figures(one)}".strip())
        texts = [f"{head} {', '.join(texts)}" for head, texts in groups.items()]
        details += [f"{word}: {'; '.join(texts)}."] if texts else []
    count = f"Better in {signs.count(1)} of {len(run)}, worse in {signs.count(-1)}, level in {signs.count(0)}."
    return _by_signs(signs, count, [one.name for one in compared if not one.run], enough=enough, details=details)


def at_least_as_printed(evidence: Evidence, pairs: str, **about: Any) -> Finding:
    """Judge "ours is better by this much": the 95 % interval of the difference must reach the printed figure."""
    compared = compare_cells(PAIRS[pairs](evidence, **about))
    run = [one for one in compared if one.run and one.printed is not None]
    fails = any((one.found.high or 0.0) < (one.printed or 0.0) for one in run)
    return _settled(
        fails, [f"{one.name} {_figures(one)}" for one in run], [one.name for one in compared if one not in run]
    )


def grows(leads: Iterable[Growth], *, enough: bool) -> Finding:
    """Judge "our lead is larger in the second place than in the first"."""
    every = list(leads)
    known = corrected(every)
    signs = [0 if one.p is None or one.p >= LEVEL else 1 if one.at_second > one.at_first else -1 for one in known]
    count = f"Grows in {signs.count(1)} of {len(known)}, shrinks in {signs.count(-1)}, chance in {signs.count(0)}."
    details = (
        f"over {one.name} from {points(one.at_first)} {one.first} to {points(one.at_second)} {one.second} "
        f"({probability(one.p)})"
        for one in known
    )
    missing = [f"{one.name} {one.first}" for one in every if one.p is None]
    return _by_signs(signs, count, missing, enough=enough, details=details)


def best_value(evidence: Evidence, figure: str) -> Finding:
    """Judge "this value is the best": no other may be significantly better, and its mean must be the highest."""
    said: dict[str, tuple[bool, str] | None] = dict.fromkeys(evidence.scale.datasets)
    higher = False
    for dataset in said:
        best, cells = BEST[figure][dataset], evidence.varied(figure, dataset)
        if best not in cells or any(cell.done < 2 for cell in cells.values()):
            continue
        means = {value: cell.accuracy.mean or 0.0 for value, cell in cells.items()}
        highest = max(means, key=means.__getitem__)
        others = [(str(value), cell, cells[best]) for value, cell in cells.items() if value != best]
        beaten = [one.name for one in compare_cells(others) if one.sign == 1]
        higher |= highest != best
        line = f": best at {highest} with {points(cells[highest].accuracy.mean, False)}, at {best} "
        line += points(cells[best].accuracy.mean, False)
        said[dataset] = bool(beaten), line + (f", significantly better: {', '.join(beaten)}" if beaten else "")
    found = _by_dataset(said)
    if found.word != "holds" or not higher:
        return found
    reason = "Undecided because other values have higher means, but none significantly."
    return replace(found, word="undecided", reading=f"{found.reading} {reason}")


# Judges of a single claim


def figures(evidence: Evidence) -> Finding:
    """Judge Table 2's figures of H-GCN: ours must not be significantly lower."""

    def say(cell: Any) -> tuple[bool, str] | None:
        found, printed = cell.to_paper, cell.printed
        if found is None or found.p is None:
            return None
        text = f" {points(cell.accuracy.mean, False)} against {points(printed.mean, False)} "
        text += f"({points(found.difference)}, {probability(found.p)})"
        return found.p < LEVEL and found.difference < 0, text

    return _by_dataset({name: say(evidence.table2("hgcn", name)) for name in evidence.scale.datasets})


def largest_lead(evidence: Evidence, others: Sequence[str], least: float) -> Finding:
    """Judge the largest lead over the best of the other methods, on any dataset."""
    leads: list[Pair] = []
    missing = []
    for dataset in evidence.scale.datasets:
        ours = evidence.table2("hgcn", dataset)
        theirs = {f"{DATASET_TITLES[dataset]}, {method_title(name)}": evidence.table2(name, dataset) for name in others}
        missing += [name for name, cell in theirs.items() if not cell.done]
        if ours.done and any(cell.done for cell in theirs.values()):
            means = {name: cell.accuracy.mean or 0.0 for name, cell in theirs.items()}
            best = max(means, key=means.__getitem__)
            leads.append((best, ours, theirs[best]))
    compared = compare_cells(leads)
    largest = max(compared, key=lambda one: one.found.mean or -1.0, default=None)
    reached = largest is not None and (largest.found.high or 0.0) >= least
    lines = [f"{one.name} {points(one.found.mean)} ({probability(one.p)})" for one in compared]
    return _settled(not reached, lines, missing, "Against the best of the paper's baselines on each dataset: ")


def gat_on_nell(evidence: Evidence, gigabytes: float) -> Finding:
    """Judge the memory that GAT takes on NELL."""
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
    return _settled(size < gigabytes, [text])


def larger_on_nell(evidence: Evidence, others: Sequence[str]) -> Finding:
    """Judge our leads on NELL against those on the citation networks."""

    def lead(name: str, other: str, dataset: str) -> Any:
        return name, evidence.table2("hgcn", dataset), evidence.table2(other, dataset)

    leads = (
        growth(method_title(other), lead(f"on {DATASET_TITLES[name]}", other, name), lead("on NELL", other, NELL))
        for other in (others if NELL in evidence.scale.datasets else ())
        for name in evidence.scale.citation
    )
    return grows(leads, enough=evidence.scale.seeds >= 10)


def margin_grows(evidence: Evidence, others: Sequence[str]) -> Finding:
    """Judge our leads with the fewest labels against those with the most."""
    most, least = str(max(evidence.scale.labels)), str(min(evidence.scale.labels))

    def lead(name: str, other: str, count: str) -> Any:
        return name, evidence.table3("hgcn", count), evidence.table3(other, count)

    leads = (
        growth(method_title(other), lead(f"with {most} labels", other, most), lead(f"with {least}", other, least))
        for other in others
    )
    return grows(leads, enough=evidence.scale.draws >= 10)


def declines_slightly(evidence: Evidence, others: Sequence[str]) -> Finding:
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
    word = margin_grows(evidence, others).word
    reason = " Undecided because the margin over some of them may have grown by chance." if word == "undecided" else ""
    return replace(found, word=word, reading=found.reading + reason) if lines else found


def toy_graph(evidence: Evidence, groups: Sequence[str]) -> Finding:
    """Judge the groups of the toy graph."""
    found = evidence.measured("figure-coarsening")[0]
    if found is None:
        return NOT_RUN
    ours = sorted(members(found["names"], found["groups"]))
    return _settled(ours != groups, [f"Our coarsening groups it as {', '.join(ours)}"])


def members(names: Sequence[str], groups: Sequence[int]) -> list[str]:
    """Return the names of each group as one word, in the order of the groups."""
    found: dict[int, str] = {}
    for name, group in zip(names, groups, strict=True):
        found[group] = found.get(group, "") + name
    return [found[group] for group in sorted(found)]


def larger_receptive_field(evidence: Evidence) -> Finding:
    """Judge the receptive field with the paper's number of levels against a GCN's."""

    def say(dataset: str, found: dict[str, Any] | None) -> tuple[bool, str] | None:
        if found is None:
            return None
        level = min(BEST["figure-levels"][dataset], found["depth"])
        medians = found["hgcn"][level]["median"], found["gcn"]["median"], found["flat"][level]["median"]
        shares = (100 * median / found["nodes"] for median in medians)
        ours, gcn, flat = (f"{share:.2g} %" if share < 10 else f"{share:.0f} %" for share in shares)
        text = f" {ours} with {level} levels, {gcn} for a GCN of 2 layers, {flat} for one of {2 * level + 1}"
        return medians[0] <= medians[1], text

    fields = evidence.by_dataset("figure-receptive-field")
    return _by_dataset({name: say(name, found) for name, found in fields.items()}, "Median share of the nodes: ")


def farther_on_nell(evidence: Evidence) -> Finding:
    """Judge the distance of test nodes to training nodes on NELL against the citation networks."""
    fields = evidence.by_dataset("figure-receptive-field")
    steps = {name: one["distance"] for name, one in fields.items() if one is not None}
    if NELL not in steps or len(steps) < 2:
        return NOT_RUN
    said = {
        name: (
            name != NELL and steps[NELL]["mean"] <= steps[name]["mean"],
            f" {steps[name]['mean']:.2f} (more than 2 for {100 * steps[name]['beyond_two']:.0f} %)",
        )
        for name in steps
    }
    before = "Mean steps from a test node to the nearest training node: "
    return _by_dataset({name: said.get(name) for name in fields}, before)


def preprocessing(evidence: Evidence) -> Finding:
    """Judge O(n log n) + O(mn): nearly linear in the nodes and at most linear in the average degree."""
    by_nodes, by_degree = evidence.seconds("coarsen")
    if len(by_nodes) < 3:
        return NOT_RUN
    nodes, half = fitted_exponent(by_nodes.items())
    reference, _ = fitted_exponent((n, n * math.log(n)) for n in by_nodes)
    text = f"Seconds grow as n^{nodes:.2f} (± {half:.2f}); n log n would show as n^{reference:.2f}"
    if len(by_degree) > 2:
        text += f". With the average degree they grow as m^{fitted_exponent(by_degree.items())[0]:.2f}"
    return _settled(nodes - half > LINEAR, [text])


def epochs(evidence: Evidence) -> Finding:
    """Judge "as efficient as GCN asymptotically" by equal exponents, and "more efficient than GAT" by seconds."""
    lines = []
    exponents: dict[str, float] = {}
    times = {name: evidence.seconds(f"{name}_epoch")[0] for name in ("hgcn", "gcn", "gat")}
    for name, by_nodes in times.items():
        large = [point for point in by_nodes.items() if point[0] >= 10_000 or len(by_nodes) <= 4]
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
    size, theirs = list(times["gat"].items())[-1]
    ours = times["hgcn"][size]
    text += f". At {size:,.0f} nodes H-GCN takes {ours:.2g} s and GAT {theirs:.2g} s"
    return _settled(ours >= theirs, [text])


JUDGES: dict[str, Callable[..., Finding]] = {
    judge.__name__: judge
    for judge in (
        *(better, at_least_as_printed, best_value, figures, largest_lead, gat_on_nell, larger_on_nell, margin_grows),
        *(declines_slightly, toy_graph, larger_receptive_field, farther_on_nell, preprocessing, epochs),
    )
}


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper that claims a result."""

    name: str
    place: str
    quote: str
    judge: str
    """Its name in JUDGES."""
    about: dict[str, Any] = field(default_factory=dict)
    """What the judge compares."""


CLAIMS = tuple(Claim(**claim) for claim in packaged("paper/claims.toml")["claim"])


@dataclass(frozen=True)
class Verdict:
    """A claim and what our runs say about it."""

    claim: Claim
    finding: Finding


def verdicts_on(evidence: Evidence) -> list[Verdict]:
    return [Verdict(claim, JUDGES[claim.judge](evidence, **claim.about)) for claim in CLAIMS]
