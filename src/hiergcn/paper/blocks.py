"""What a page is made of, before it is Markdown or HTML."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.figure import Figure


@dataclass(frozen=True)
class Text:
    """What stands in one field of a table: the figure, and below it, smaller, what belongs to it."""

    main: str
    below: tuple[str, ...] = ()
    """Lines."""
    strong: bool = False
    mark: str = ""
    """A verdict, for its colour."""


@dataclass(frozen=True)
class Table:
    """Rows of fields under column names; the first column holds words."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Text, ...], ...]
    caption: str = ""
    wordy: bool = False
    """All columns hold words."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure with a file name of its own and a sentence that says what it shows."""

    name: str
    figure: Figure
    description: str


@dataclass(frozen=True)
class Section:
    """A part of the page. Its blocks come in the order in which they were made."""

    name: str
    title: str
    about: str
    blocks: Sequence[Table | Picture] = ()
    notes: Sequence[str] = field(default_factory=tuple)


def words(*cells: str) -> tuple[Text, ...]:
    return tuple(Text(cell) for cell in cells)
