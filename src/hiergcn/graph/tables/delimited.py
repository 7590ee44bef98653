"""Delimited text files: their layout, and reading them into pandas frames."""

import csv
import io
import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from hiergcn.errors import InputError
from hiergcn.graph.tables.text_columns import column_names
from hiergcn.graph.tables.text_files import TextFile, checked_text

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

DELIMITERS = ("\t", ";", "|", ",", " ")
"""In order of preference; any run of blanks counts as one space."""

DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "blanks": " "}
"""Words for delimiters that are hard to type."""

MISSING = ("", "NA", "N/A", "na", "n/a", "NaN", "NAN", "nan", "NULL", "null", "None", "?")
SAMPLE = 20  # lines that the delimiter is guessed from
LONGEST_LINE = 1 << 24  # characters
LONGEST_NAME = 1000  # characters of a column name in a comment
MOST_COLUMNS = 20_000
csv.field_size_limit(LONGEST_LINE)  # a cell may hold the text of a book

LONG = 1 << 24
"""Bytes from which pyarrow reads a file of edges, on all cores; below, pandas is as fast."""
PACKED = 4
"""Bytes of text per byte of a compressed file, about."""
MOST_LINES = 20  # of a record, if it is to be recognised in the sample


@dataclass(frozen=True)
class Origin:
    """Where a table came from, for messages."""

    name: str | Path

    def row(self, position: int | np.integer[Any]) -> int:
        """Return the row, counted from 1, of an entry of the table."""
        return int(position) + 1

    def at(self, position: int | np.integer[Any], column: object) -> str:
        """Name an entry of the table: its file, row and column."""
        return f"{self}, row {self.row(position)}, column {str(column)!r:.80}"

    @property
    def inline(self) -> str:
        """The name inside a sentence."""
        return self.name[:1].lower() + self.name[1:] if isinstance(self.name, str) else str(self.name)

    def __str__(self) -> str:
        return str(self.name)


@dataclass(frozen=True)
class Layout(Origin):
    """How a file is written, as its first lines show."""

    file: TextFile
    delimiter: str
    first: tuple[str, ...]
    """The fields of the first line that is neither blank nor a comment."""
    first_line: int
    """The number of that line."""
    comments_above: int
    comment: str
    """The last comment above it, without its marker; SNAP writes the names of the columns there."""
    header: bool = True
    """Whether the first line holds the names of the columns."""

    @property
    def path(self) -> Path:
        return self.file.path

    @property
    def looks_like_data(self) -> bool:
        """Whether the first line holds numbers alone, and therefore no column names."""
        return all(map(_is_number, self.first))

    @property
    def names(self) -> list[str]:
        """The names of the columns: from the first line, from the comment above it, or "1", "2", .."""
        if not self.header:
            return self.commented_names or [str(k + 1) for k in range(len(self.first))]
        return column_names(self.first, f"{self}, row {self.first_line}")

    @property
    def commented_names(self) -> list[str] | None:
        """The names in the comment above the first line, if it has a different word for each column."""
        names: list[str] = []
        with suppress(csv.Error):  # a word longer than the module takes
            names = [name.strip() for name in _fields(self.comment.strip(), self.delimiter)]
        sound = len(names) == len(self.first) == len(set(names)) and all(
            0 < len(name) <= LONGEST_NAME for name in names
        )
        return names if sound and not any(map(_is_number, names)) else None

    def row(self, position: int | np.integer[Any]) -> int:
        """Return the line of the file that an entry of the table is in. Reads the file again, for a message."""
        lines = (line for line, is_blank in self._records() if line >= self.first_line and not is_blank)
        return next(islice(lines, int(position) + self.header, None), self.first_line + self.header + int(position))

    def line_of_record(self, number: int) -> int:
        """Return the line in which the record of that number begins; blank lines are records, too."""
        return next((line for line, _ in islice(self._records(), number - 1, None)), number)

    def _records(self) -> Iterator[tuple[int, bool]]:
        """Yield the first line of each record, which may have line breaks in quotes, and whether it is blank."""
        with self.file.lines() as lines:
            marker = self.file.marker
            shown = ("\n" if self.file.comments and line.startswith(marker) else line for line in lines)
            reader = csv.reader(shown, delimiter=self.delimiter, skipinitialspace=self.delimiter == " ")
            began = 1
            with suppress(csv.Error):  # a field longer than the module takes
                for fields in reader:
                    yield began, not fields or (len(fields) == 1 and fields[0].isspace())
                    began = reader.line_num + 1


def layout_of(path: str | Path, delimiter: str | None) -> Layout:
    """Check a file and return its layout; the delimiter is guessed from the first lines unless given."""
    delimiter = DELIMITER_NAMES.get(delimiter or "", delimiter)
    if delimiter is not None and len(delimiter) != 1:
        raise InputError(f"The delimiter {delimiter!r:.20} must be a single character, such as a comma.")
    file = checked_text(Path(path))
    lines, first_line, comments = _sample(file)
    if not lines:
        found = f"has only lines that begin with {file.marker}, which are comments" if file.comments else "is empty"
        raise InputError(f"{path} {found}; give a table with a line of column names.")
    try:
        chosen = delimiter or _guessed_delimiter(lines)
        first = tuple(_fields(lines[0], chosen))
    except (csv.Error, ValueError) as error:
        raise InputError(f"{path} cannot be read as a table: {error!s:.200}.") from error
    if len(first) > MOST_COLUMNS:
        raise InputError(
            f"{path}, row {first_line}: {len(first):,} columns, but a CSV file may have {MOST_COLUMNS:,} at most; "
            f"give wide features to Graph.from_scipy as a sparse matrix."
        )
    return Layout(Path(path), file, chosen, first, first_line, len(comments), (comments or [""])[-1])


def read_table(layout: Layout, columns: Sequence[str], *, text: Collection[str]) -> pd.DataFrame:
    """Read the table under the given column names; `text` columns stay as written, others become numbers if they can.

    A blank is missing in every column; outside `text` columns so are the usual words for it (NA, nan, null, ..).
    """
    blank = {name: [""] if name in text else list(MISSING) for name in columns}
    try:
        with warnings.catch_warnings(), layout.file.open() as stream:
            warnings.simplefilter("error", pd.errors.ParserWarning)  # it would drop the surplus fields of a row
            return pd.read_csv(
                stream,
                sep=r"\s+" if layout.delimiter == " " else layout.delimiter,
                names=list(columns),
                header=0 if layout.header else None,
                skiprows=layout.first_line - 1,
                index_col=False,
                dtype=dict.fromkeys(text, str),
                keep_default_na=False,
                na_values=blank,
                encoding="utf-8-sig",
                low_memory=False,
            )
    except pd.errors.ParserWarning as error:
        raise InputError(
            f"{layout}: rows have more fields than the {len(columns)} columns of row {layout.first_line}; quote fields "
            f"that hold the delimiter."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{layout} is not UTF-8 text; save it as CSV in UTF-8.") from error
    except (ValueError, OSError) as error:  # what pandas raises for a malformed file is a ValueError
        raise InputError(f"{layout} cannot be read as a table: {_reason(error, layout)}.") from error


def read_long_table(
    layout: Layout, names: list[str], *, text: Collection[str], number: Collection[str]
) -> "pa.Table | None":
    """Read the columns named with pyarrow: `text` as strings, `number` as float64.

    Return None if the file is short or anything is wrong with it: `read_table` reads it then, or says what is wrong.
    """
    types = dict.fromkeys(text, "string") | dict.fromkeys(number, "float64")
    return _read_by_arrow(layout, names, [*text, *number], types)


def read_long_nodes(layout: Layout, names: list[str], *, text: Collection[str]) -> pd.DataFrame | None:
    """Read all columns with pyarrow, on all cores, as `read_table` would.

    Return None if the file is short, anything is wrong with it, or pandas might take a column for something else.
    """
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    table = _read_by_arrow(layout, names, names, dict.fromkeys(text, "string")) if layout.file.trimmed else None
    if table is None:
        return None
    for place, (name, column) in enumerate(zip(names, table.columns, strict=True)):
        if pa.types.is_string(column.type):
            known = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
            first = next(iter(known[:1000].drop_null().to_pylist()), "")
            if name not in text and (not first or _is_number(first)):
                return None
            table = table.set_column(place, name, known)
        elif column.type not in (pa.int64(), pa.float64()):
            return None
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _read_by_arrow(layout: Layout, names: list[str], wanted: Sequence[str], types: dict[str, str]) -> "pa.Table | None":
    size = layout.path.stat().st_size * (PACKED if layout.file.compression else 1)
    if layout.delimiter == " " or size < LONG:
        return None
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    skipped = layout.first_line - 1 + layout.header
    try:
        with layout.file.open() as stream:
            return arrow_csv.read_csv(
                layout.path if layout.file.is_plain else stream,
                read_options=arrow_csv.ReadOptions(column_names=names, skip_rows_after_names=skipped),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=layout.delimiter, newlines_in_values=layout.file.has_quotes
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types={name: pa.type_for_alias(kind) for name, kind in types.items()},
                    include_columns=wanted,
                    null_values=list(MISSING),
                    strings_can_be_null=False,
                ),
            )
    except (pa.ArrowException, ValueError):
        return None


def _sample(file: TextFile) -> tuple[list[str], int, list[str]]:
    """Return the first records that are neither blank nor comments, the line of the first, and the comments above."""
    found: list[str] = []
    comments: list[str] = []
    first_line = 0
    with file.lines() as lines:
        numbered = enumerate(iter(lambda: lines.readline(LONGEST_LINE), ""), start=1)
        for number, line in numbered:
            if len(line) == LONGEST_LINE:
                reason = f"a line is longer than {LONGEST_LINE:,} characters"
                raise InputError(f"{file.path}: {reason}; give a row per edge or node.")
            if file.comments and line.startswith(file.marker):
                comments += [] if found else [line.lstrip(file.marker).rstrip("\r\n")]
            elif line.strip():
                first_line = first_line or number
                found.append(_whole_record(line, (more for _, more in numbered)).rstrip("\r\n"))
                if len(found) == SAMPLE:
                    break
    return found, first_line, comments


def _whole_record(line: str, further: Iterator[str]) -> str:
    """Return a line, and those after it as long as a quote is open: names of columns may have line breaks, too."""
    record = line
    while record.count('"') % 2 and record.count("\n") < MOST_LINES:
        more = next(further, "")
        if not more:
            return line  # it is never closed, which the reader will say
        record += more
    return record if record.count('"') % 2 == 0 else line


def _guessed_delimiter(lines: list[str]) -> str:
    """Return the first delimiter that cuts every line into the same number of fields, at least two; else a comma."""
    for delimiter in DELIMITERS:
        widths = {len(_fields(line, delimiter)) for line in lines}
        if len(widths) == 1 and widths.pop() > 1:
            return delimiter
    # rows of unequal length: the reader will name the row, if the header alone shows the delimiter
    return next((delimiter for delimiter in DELIMITERS if len(_fields(lines[0], delimiter)) > 1), ",")


def _fields(line: str, delimiter: str) -> list[str]:
    if delimiter == " ":
        return line.split()
    if delimiter not in line:  # the whole line is a field, and may be longer than the reader takes
        return [line.strip('"')]
    return next(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter))


def _is_number(field: str) -> bool:
    return re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", field.strip(), re.IGNORECASE) is not None


def _reason(error: Exception, layout: Layout) -> str:
    """Return why pandas refuses a file, with the line of the file."""
    found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
    if found:
        expected, record, fields = map(int, found.groups())
        row = layout.line_of_record(record)
        return f"row {row} has {fields} fields instead of {expected}; quote fields that hold the delimiter"
    found = re.search(r"EOF inside string starting at row (\d+)", str(error))
    if found:
        row = layout.line_of_record(int(found.group(1)) + 1)
        return f"the quote that opens in row {row} is never closed; close it or take it out"
    return " ".join(f"{error!s:.200}".split()).rstrip(".")
