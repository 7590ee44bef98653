"""Reading a file of delimited text into a table, with a sentence for whatever is wrong with the file."""

import csv
import re
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hiergcn.errors import InputError
from hiergcn.graph.tables.text_check import check_text

DELIMITERS = (
    "\t",
    ";",
    "|",
    ",",
    " ",
)  # in the order in which they are preferred; any run of blanks counts as one space
MISSING = ("", "NA", "N/A", "na", "n/a", "NaN", "NAN", "nan", "NULL", "null", "None", "?")
SAMPLE = 20  # lines that the delimiter is told from
LONGEST_LINE = 1 << 24  # characters
MOST_COLUMNS = 20_000


@dataclass(frozen=True)
class Origin:
    """Where a table came from, for messages: the file or the name, and the row that its first entry stands in."""

    name: str | Path
    first_row: int

    def row(self, position: int | np.integer[Any]) -> int:
        """The row, counted from 1 without blank lines, that an entry of the table was read from."""
        return int(position) + self.first_row

    def __str__(self) -> str:
        return str(self.name)


@dataclass(frozen=True)
class Layout:
    """How a file is written, as told from its first lines."""

    path: Path
    delimiter: str
    first: tuple[str, ...]
    """The fields of the first line."""

    @property
    def looks_like_data(self) -> bool:
        """Whether the first line holds numbers and therefore no column names."""
        return all(re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", field.strip(), re.IGNORECASE) for field in self.first)

    def origin(self, *, header: bool) -> Origin:
        return Origin(self.path, 2 if header else 1)


def layout_of(path: str | Path, delimiter: str | None) -> Layout:
    """Look at the beginning of a file; the delimiter is told from it unless given."""
    file = Path(path)
    check_text(file)
    with file.open(encoding="utf-8-sig", newline="") as stream:
        lines = [stream.readline(LONGEST_LINE) for _ in range(SAMPLE)]
    if max(map(len, lines)) == LONGEST_LINE:
        raise InputError(f"{file}: a line is longer than {LONGEST_LINE:,} characters; give a row to each edge or node")
    lines = [line.rstrip("\r\n") for line in lines if line.strip()]
    if not lines:
        raise InputError(f"{file} is empty: give a table with a line of column names")
    if delimiter is not None and len(delimiter) != 1:
        raise InputError(f"the delimiter {delimiter!r:.20} must be a single character, such as a comma")
    try:
        chosen = delimiter or _sniffed(lines)
        first = tuple(_fields(lines[0], chosen))
    except (csv.Error, ValueError) as error:
        raise InputError(f"{file} cannot be read as a table: {error!s:.200}") from error
    if len(first) > MOST_COLUMNS:
        raise InputError(
            f"{file}, row 1: {len(first):,} columns are more than the {MOST_COLUMNS:,} that a CSV file may have; "
            f"give wide features to Graph.from_scipy as a sparse matrix"
        )
    return Layout(file, chosen, first)


def column_names(layout: Layout, *, header: bool = True) -> list[str]:
    """The names in the first line, or "1", "2", .. where it has none."""
    if not header:
        return [str(k + 1) for k in range(len(layout.first))]
    names = [name.strip() for name in layout.first]
    again = pd.Index(names).duplicated()
    if again.any():
        twice = names[int(again.argmax())]
        raise InputError(f"{layout.path}, row 1: two columns are named {twice!r:.80}; give every column its own name")
    return names


def read_table(layout: Layout, columns: Sequence[str], *, header: bool, text: Collection[str]) -> pd.DataFrame:
    """The table under the given column names; `text` columns are kept as written, others become numbers where they can.

    A blank is missing in every column; outside `text` columns so are the usual words for it (NA, nan, null, ..).
    """
    blank = {name: [""] if name in text else list(MISSING) for name in columns}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # it would drop the fields that are too many
            return pd.read_csv(
                layout.path,
                sep=r"\s+" if layout.delimiter == " " else layout.delimiter,
                names=list(columns),
                header=0 if header else None,
                index_col=False,
                dtype=dict.fromkeys(text, str),
                keep_default_na=False,
                na_values=blank,
                encoding="utf-8-sig",
                compression=None,  # whatever the file's name ends in
                low_memory=False,
            )
    except pd.errors.ParserWarning as error:
        raise InputError(f"{layout.path}: rows have more fields than the {len(columns)} columns of row 1") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{layout.path} is not UTF-8 text: save it as CSV in UTF-8") from error
    except (ValueError, OSError) as error:  # what pandas raises for a malformed file is a ValueError
        raise InputError(f"{layout.path} cannot be read as a table: {_reason(error)}") from error


def _sniffed(lines: list[str]) -> str:
    """The first delimiter that cuts every line into the same number of fields, two or more; a comma where none does."""
    for delimiter in DELIMITERS:
        widths = {len(_fields(line, delimiter)) for line in lines}
        if len(widths) == 1 and widths.pop() > 1:
            return delimiter
    # rows of unequal length: the reader will name the row, if only the header tells the delimiter
    return next((delimiter for delimiter in DELIMITERS if len(_fields(lines[0], delimiter)) > 1), ",")


def _fields(line: str, delimiter: str) -> list[str]:
    if delimiter == " ":
        return line.split()
    if delimiter not in line:  # the whole line is a field, and may be longer than the reader takes
        return [line.strip('"')]
    return next(csv.reader([line], delimiter=delimiter))


def _reason(error: Exception) -> str:
    told = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
    if told:
        return "row {1} has {2} fields where {0} are expected; quote fields that hold the delimiter".format(
            *told.groups()
        )
    told = re.search(r"EOF inside string starting at row (\d+)", str(error))
    if told:
        return f"the quote that opens in row {int(told.group(1)) + 1} is never closed; close it or take it out"
    return " ".join(f"{error!s:.200}".split())
