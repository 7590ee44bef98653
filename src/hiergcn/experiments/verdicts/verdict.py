"""What becomes of a statement of the paper: a verdict, and the sentence with the figures that it rests on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hiergcn.experiments.significance import LEVEL, Compared, least_p

Word = Literal["holds", "does not hold", "not decided", "not run"]


@dataclass(frozen=True)
class Verdict:
    """A statement of the paper and what our runs say of it."""

    place: str
    quote: str
    word: Word
    reading: str


@dataclass(frozen=True)
class Finding:
    """Verdict and reading, before they are put beside the statement."""

    word: Word
    reading: str


NOT_RUN = Finding("not run", "The runs that would tell are not in the store.")


def better_everywhere(compared: Sequence[Compared]) -> Finding:
    """For "ours is better than each of these"."""
    run = [one for one in compared if one.run]
    if not run:
        return NOT_RUN
    signs = [one.sign for one in run]
    count = f"Better in {signs.count(1)} of {len(run)}, worse in {signs.count(-1)}, level in {signs.count(0)}"
    enough = all(len(run) * least_p(one.found.units) < LEVEL for one in run)
    return by_signs(signs, [f"{count}: {listed(run)}"], [one.name for one in compared if not one.run], enough)


def by_signs(signs: Sequence[int], lines: Sequence[str], missing: Sequence[str], enough: bool = True) -> Finding:
    """By which way each difference points, 0 being a matter of chance.

    Holds where every one is above 0; does not hold where one is below 0, or where none is above although there were
    `enough` runs to see it; not decided in between, and as long as runs are missing.
    """
    if not signs:
        return NOT_RUN
    if -1 in signs or (enough and not missing and 1 not in signs):
        word: Word = "does not hold"
    else:
        word = "holds" if not missing and all(sign == 1 for sign in signs) else "not decided"
    return Finding(word, f"{'; '.join(lines)}.{unrun(missing)}")


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
    return "; ".join(_words(one) for one in compared)


def unrun(names: Sequence[str]) -> str:
    return f" Not run: {'; '.join(names)}." if names else ""


def points(fraction: float | None, sign: bool = True) -> str:
    """In points of a per cent."""
    return "–" if fraction is None else f"{100 * fraction:{'+' if sign else ''}.1f}"


def probability(p: float | None) -> str:
    return "p –" if p is None else "p < 0.001" if p < 1e-3 else f"p = {p:.3f}"


def _words(one: Compared) -> str:
    printed = "" if one.printed is None else f", paper {points(one.printed)}"
    return f"{one.name} {points(one.found.mean)} ({probability(one.p)}{printed})"
