"""The content of a page, before it becomes Markdown or HTML."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.figure import Figure


@dataclass(frozen=True)
class Text:
    """The content of one table cell: the main text, and smaller lines below it."""

    main: str
    below: tuple[str, ...] = ()
    strong: bool = False
    mark: str = ""
    """A verdict, for its colour."""


@dataclass(frozen=True)
class Table:
    """Rows of cells under column names; the first column holds words."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Text, ...], ...]
    caption: str = ""
    wordy: bool = False
    """All columns hold words."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure, the name of its file, and a sentence that describes it."""

    name: str
    figure: Figure
    description: str


@dataclass(frozen=True)
class Section:
    """A part of the page."""

    name: str
    title: str
    about: str
    blocks: Sequence[Table | Picture] = ()
    notes: Sequence[str] = field(default_factory=tuple)


def words(*cells: str) -> tuple[Text, ...]:
    return tuple(Text(cell) for cell in cells)
