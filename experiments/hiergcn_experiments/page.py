"""A page: sections of tables and pictures, written as Markdown and HTML; and how figures are formatted."""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Self, TypeVar

from markupsafe import Markup, escape

from hiergcn.research import Figure, Summary, rendered, script, write_text
from hiergcn_experiments.store import Record

T = TypeVar("T")
WIDTH = 900
"""Pixels of a figure's file."""


@dataclass(frozen=True)
class Text:
    """The content of one table cell: the main text, and smaller lines below it."""

    main: str
    below: tuple[str, ...] = ()
    strong: bool = False
    mark: str = ""
    """A verdict, for its colour."""


Row = tuple[Text | str, ...]
Columns = Mapping[str, Callable[[T], Text | str]]
"""What each column says of an item, by its name."""


@dataclass(frozen=True)
class Table:
    """Rows of cells under column names; the first column holds words."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Text, ...], ...]
    caption: str = ""
    wordy: bool = False
    """All columns hold words."""

    @classmethod
    def from_rows(cls, columns: Iterable[str], rows: Iterable[Row], caption: str = "", *, wordy: bool = False) -> Self:
        """Return a table whose plain cells are given as text."""
        cells = (tuple(Text(cell) if isinstance(cell, str) else cell for cell in row) for row in rows)
        return cls(tuple(columns), tuple(cells), caption, wordy)

    @classmethod
    def from_items(cls, items: Iterable[T], columns: Columns[T], caption: str = "", *, wordy: bool = False) -> Self:
        """Return a table with a row for each item."""
        rows = [tuple(text(item) for text in columns.values()) for item in items]
        return cls.from_rows(columns, rows, caption, wordy=wordy)

    def holds_words(self, column: int) -> bool:
        """Return whether a column is read as text, from the left: the first, and those with a word of four letters."""
        return self.wordy or column == 0 or any(re.search(r"[A-Za-z]{4}", row[column].main) for row in self.rows)


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
    """Figures without panels are left out."""
    notes: Sequence[str] = ()
    is_experiment: bool = True
    """Whether `hiergcn reproduce` knows an experiment of that name."""

    def __post_init__(self) -> None:
        kept = [block for block in self.blocks if isinstance(block, Table) or block.figure.panels]
        object.__setattr__(self, "blocks", kept)


@dataclass(frozen=True)
class Page:
    """A page before it is written."""

    title: str
    sections: Sequence[Section]
    provenance: Sequence[str]
    """Runs, machines and commits; they stand at the end."""
    summary: str = ""
    """The result in a sentence."""
    verdicts: Sequence[str] = ()
    """A word for each claim that is judged."""

    @property
    def pictures(self) -> list[Picture]:
        return [block for part in self.sections for block in part.blocks if isinstance(block, Picture)]


def packaged(name: str) -> dict[str, Any]:
    """Read a TOML file of this package."""
    return tomllib.loads((files("hiergcn_experiments") / name).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Texts:
    """Titles and explanations of a page's sections, from a TOML file."""

    values: Mapping[str, Any]

    def section(
        self,
        name: str,
        *blocks: Table | Picture | None,
        notes: Iterable[str] = (),
        key: str = "",
        is_experiment: bool = False,
        **words: Any,
    ) -> Section:
        """Return a section; `words` fill the braces of its texts, which stand under `key` or its name."""
        text = self.values[key or name]
        own = (note.format(**words) for note in text.get("notes", ()))
        shown = [block for block in blocks if block is not None]
        return Section(name, text["title"], text["about"].format(**words), shown, [*own, *notes], is_experiment)


# Figures and verdicts as text


def points(fraction: float | None, sign: bool = True) -> str:
    """Format a fraction as percentage points; a value that rounds to zero has no sign."""
    if fraction is None:
        return "–"
    text = f"{100 * fraction:{'+' if sign else ''}.1f}"
    return "0.0" if text.strip("+-") == "0.0" else text.replace("-", "−")


def mean_and_std(figure: Any) -> str:
    """Format mean ± standard deviation of a `Summary`, or of anything with a mean and a std, in per cent."""
    return points(figure.mean, False) + ("" if figure.std is None else f" ± {points(figure.std, False)}")


def mean(values: Iterable[float]) -> float:
    """Return the mean of values that are all there."""
    return float(Summary(tuple(values)).values.mean())


def verdict(holds: bool | None) -> Text:
    """Return a verdict: it holds, it does not, or None: it is undecided."""
    word = "undecided" if holds is None else "holds" if holds else "does not hold"
    return Text(word, strong=True, mark=word.replace(" ", "-"))


def provenance(used: Iterable[Record]) -> str:
    """Name the commits and processors of results."""
    made = [record.made for record in used]
    if not made:
        return "Nothing has been run yet."
    commits = {str(one.get("commit") or "unknown")[:10] for one in made}
    chips = {str(one.get("processor" if one.get("device") == "cpu" else "gpu") or "unknown") for one in made}
    return f"Commits: {', '.join(sorted(commits))}. Processors: {', '.join(sorted(chips))}."


# Markdown and HTML


def write_page(page: Page, folder: Path, name: str = "README.md") -> Path:
    """Write the page as Markdown and HTML with its figures; return the path of the HTML file."""
    folder.mkdir(parents=True, exist_ok=True)
    for shown in page.pictures:
        (folder / "figures").mkdir(exist_ok=True)
        shown.figure.save(folder / "figures" / f"{shown.name}.svg", WIDTH)
    write_text(folder / name, markdown(page))
    drawn = {shown.name: shown.figure.html(shown.description) for shown in page.pictures}
    values = {"page": page, "drawn": drawn, "count": Counter(page.verdicts), "with_code": with_code}
    html = rendered("paper.html", script=script("page"), package="hiergcn_experiments", **values)
    return write_text(folder / "index.html", html)


def with_code(text: str) -> Markup:
    """Turn text between backticks into <code> and between asterisks into <em> elements; everything is escaped."""

    def marked(part: re.Match[str]) -> str:
        return f"<em>{part[2]}</em>" if part[1] is None else f"<code>{part[1]}</code>"

    return Markup(re.sub(r"`([^`]*)`|\*(\w[^*`]*)\*", marked, str(escape(text))))  # noqa: S704  (just escaped)


def markdown(page: Page) -> str:
    lines = [f"# {page.title}", "", *([page.summary, ""] if page.summary else [])]
    for part in page.sections:
        experiment = f" (`{part.name}`)" if part.is_experiment else ""
        lines += [f"## {part.title}{experiment}", "", part.about, ""]
        for block in part.blocks:
            if isinstance(block, Picture):
                lines += [f"![{block.description}](figures/{block.name}.svg)", ""]
            else:
                lines += [*([block.caption, ""] if block.caption else []), *table_lines(block), ""]
        lines += [f"- {note}" for note in part.notes]
        lines += [""] if part.notes else []
    lines += ["## Where the figures come from", "", *(line for text in page.provenance for line in (text, ""))]
    return "\n".join(lines).rstrip() + "\n"


def table_lines(table: Table) -> list[str]:
    def cell_text(text: Text) -> str:
        main, *below = (
            line.replace("|", "\\|").replace("<", "&lt;").replace(">", "&gt;") for line in (text.main, *text.below)
        )
        return (f"**{main}**" if text.strong else main) + "".join(f"<br><sub>{line}</sub>" for line in below)

    head = "| " + " | ".join(table.columns) + " |"
    rows = ["| " + " | ".join(map(cell_text, row)) + " |" for row in table.rows]
    return [head, "|" + "---|" * len(table.columns), *rows]
