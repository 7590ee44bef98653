"""What becomes of a statement of the paper: a verdict, and the sentence with the figures that it rests on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hiergcn.paper.significance import LEVEL, Compared, Grown, corrected, least_p

Word = Literal["holds", "does not hold", "not decided", "not run"]


@dataclass(frozen=True)
class Verdict:
    """A statement of the paper and what our runs say of it."""

    place: str
    quote: str
    word: Word
    reading: str
    details: tuple[str, ...] = ()
    """What the reading counts, in lines."""


@dataclass(frozen=True)
class Finding:
    """Verdict and reading, before they are put beside the statement."""

    word: Word
    reading: str
    details: tuple[str, ...] = ()


NOT_RUN = Finding("not run", "The runs that would tell are not in the store.")


def better_everywhere(compared: Sequence[Compared]) -> Finding:
    """For "ours is better than each of these"."""
    run = [one for one in compared if one.run]
    signs = [one.sign for one in run]
    count = f"Better in {signs.count(1)} of {len(run)}, worse in {signs.count(-1)}, level in {signs.count(0)}."
    missing = [one.name for one in compared if not one.run]
    return by_signs(signs, count, missing, enough=_could_tell(run), details=_by_outcome(run))


def _could_tell(run: Sequence[Compared]) -> bool:
    """Whether runs that show no difference speak against one: where the paper prints how large it is, if most of our
    95 % intervals lie below; else, if a difference of the same sign in every pair would have been seen."""
    printed = [(one.found.high, one.printed) for one in run if one.printed is not None]
    if printed:
        below = [high is not None and high < theirs for high, theirs in printed]
        return 2 * sum(below) > len(below)
    return all(len(run) * least_p(one.found.units) < LEVEL for one in run)


def by_signs(
    signs: Sequence[int], reading: str, missing: Sequence[str], *, enough: bool = True, details: tuple[str, ...] = ()
) -> Finding:
    """By which way each difference points, 0 being a matter of chance.

    Holds where every one is above 0; does not hold where one is below 0, or where none is above although there was
    `enough` to see it; not decided in between, and as long as runs are missing.
    """
    if not signs:
        return NOT_RUN
    if -1 in signs or (enough and not missing and 1 not in signs):
        word: Word = "does not hold"
    else:
        word = "holds" if not missing and all(sign == 1 for sign in signs) else "not decided"
    return Finding(word, f"{reading}{unrun(missing)}", details)


@dataclass(frozen=True)
class Lead:
    """Our lead over somebody, at one place and at another; None where runs are missing."""

    name: str
    first: str
    second: str
    grown: Grown | None


def lead_grows(leads: Sequence[Lead], *, enough: bool) -> Finding:
    """For "our lead is larger at the second place than at the first"."""
    run = [one for one in leads if one.grown is not None and one.grown.p is not None]
    known = corrected([one.grown for one in run if one.grown is not None])
    signs = [0 if one.p is None or one.p >= LEVEL else 1 if one.growth > 0 else -1 for one in known]
    count = f"Grows in {signs.count(1)} of {len(run)}, shrinks in {signs.count(-1)}, chance in {signs.count(0)}."
    details = tuple(
        f"over {one.name} from {points(grown.at_first)} {one.first} to {points(grown.at_second)} {one.second} "
        f"({probability(grown.p)})"
        for one, grown in zip(run, known, strict=True)
    )
    missing = [f"{one.name} {one.first}" for one in leads if one not in run]
    return by_signs(signs, count, missing, enough=enough, details=details)


def at_least_as_printed(compared: Sequence[Compared]) -> Finding:
    """For "ours is better by so much": the 95 % interval of the difference must reach what is printed."""
    run = [one for one in compared if one.run and one.found.high is not None and one.printed is not None]
    if not run:
        return NOT_RUN
    missing = [one.name for one in compared if one not in run]
    reached = [one.found.high is not None and one.printed is not None and one.found.high >= one.printed for one in run]
    word: Word = "does not hold" if not all(reached) else "not decided" if missing else "holds"
    return Finding(word, f"{listed(run)}.{unrun(missing)}")


def listed(compared: Sequence[Compared]) -> str:
    return "; ".join(f"{one.name} {_figures(one)}" for one in compared)


def _by_outcome(compared: Sequence[Compared]) -> tuple[str, ...]:
    """A line each for those that are better, worse and level; what stands before a comma in a name is said once."""
    lines = []
    for sign, word in ((1, "Better"), (-1, "Worse"), (0, "Level")):
        groups: dict[str, list[str]] = {}
        for one in compared:
            if one.sign == sign:
                head, _, rest = one.name.partition(", ")
                groups.setdefault(head, []).append(f"{rest} {_figures(one)}".strip())
        texts = [f"{head} {', '.join(texts)}" for head, texts in groups.items()]
        lines += [f"{word}: {'; '.join(texts)}."] if texts else []
    return tuple(lines)


def unrun(names: Sequence[str]) -> str:
    return f" Not run: {'; '.join(names)}." if names else ""


def points(fraction: float | None, sign: bool = True) -> str:
    """In points of a per cent."""
    if fraction is None:
        return "–"
    text = f"{100 * fraction:{'+' if sign else ''}.1f}"
    return "0.0" if text.strip("+-") == "0.0" else text.replace("-", "−")


def probability(p: float | None) -> str:
    return "p –" if p is None else "p < 0.001" if p < 1e-3 else f"p = {p:.3f}"


def _figures(one: Compared) -> str:
    printed = "" if one.printed is None else f", paper {points(one.printed)}"
    return f"{points(one.found.mean)} ({probability(one.p)}{printed})"
