"""Files of delimited text, plain or compressed, in UTF-8 or UTF-16: their layout, as the first lines show it, and rows.

If a file begins with `#`, as every edge list of SNAP does, or with `%`, as those of KONECT do, all its lines that begin
so are comments. What is wrong with the bytes is said, and where, before a reader's own complaint counts.
"""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import stat
import warnings
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]

from hiergcn.errors import InputError
from hiergcn.graph.tables.text_columns import MISSING, Origin, column_names

CHUNK = 1 << 22  # bytes
LONG = 1 << 24
"""Bytes from which pyarrow reads a file, on all cores; below, pandas is as fast."""
DELIMITERS = ("\t", ";", "|", ",", " ")
"""In order of preference; any run of blanks counts as one space."""
DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "blanks": " "}
"""Words for delimiters that are hard to type."""
SAMPLE = 20  # lines that the delimiter is guessed from
MOST_LINES = 20  # of a record, if it is to be recognised in the sample
LONGEST_LINE = 1 << 24  # characters
LONGEST_NAME = 1000  # characters of a column name in a comment
MOST_COLUMNS = 20_000
csv.field_size_limit(LONGEST_LINE)  # a cell may hold the text of a book

COMMENTS = (b"#", b"%")
ENCODINGS = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
"""First bytes of texts that are not UTF-8."""
GRAPHML = ("GraphML", "give it alone, under a name that ends in .graphml, or to Graph.from_graphml in Python")
OTHER_FORMATS = (  # first bytes of files that are given for tables by mistake, what they are, and what to do
    (b"PK\x03\x04", "a zip archive or an Excel workbook", "save the sheet as CSV in UTF-8, or unpack the archive"),
    (b"PAR1", "a Parquet file", "write it as CSV, or unpack it if it is compressed as a whole"),
    (b"\x93NUMPY", "a NumPy array", "give an adjacency to Graph.from_scipy in Python, or write a list of edges as CSV"),
    (b"<graphml", *GRAPHML),
    (b"<?xml", "XML", "write a CSV table"),
    (b"<!doctype", "a web page", "download the table itself"),
    (b"<html", "a web page", "download the table itself"),
    (b"{", "JSON", "write a CSV table"),
    (b"[", "JSON", "write an object per line (JSON lines), or a CSV table"),
)


def _zstd(path: Path) -> Any:
    return io.BufferedReader(pa.input_stream(str(path), compression="zstd"), CHUNK)


COMPRESSIONS: tuple[tuple[bytes, str, Callable[[Path], Any]], ...] = (
    (b"\x1f\x8b", "gzip", gzip.GzipFile),
    (b"(\xb5/\xfd", "zstd", _zstd),
    (b"BZh", "bzip2", bz2.BZ2File),
    (b"\xfd7zXZ", "xz", lzma.LZMAFile),
)
"""First bytes of compressed files, their names, and what opens them."""


def compression_of(path: Path) -> tuple[str, Callable[[Path], Any]] | None:
    """Return the name of the compression of a file, and what opens it."""
    with path.open("rb") as stream:
        head = stream.read(8)
    return next((rest for magic, *rest in COMPRESSIONS if head.startswith(magic)), None)  # type: ignore[return-value]


def opened(path: Path) -> tuple[io.BufferedIOBase, str]:
    """Open a file, unpacked if it is compressed and as UTF-8 if it is UTF-16, and name its encoding."""
    compression = compression_of(path)
    stream: Any = path.open("rb") if compression is None else compression[1](path)
    head = stream.peek(4)
    encoding = next((name for mark, name in ENCODINGS.items() if head.startswith(mark)), "UTF-8")
    if encoding != "UTF-8":
        with stream:
            try:
                stream = io.BytesIO(stream.read().decode(encoding).encode())
            except UnicodeDecodeError:
                raise InputError(f"{path} is damaged {encoding} text; save it again, in UTF-8.") from None
    return stream, encoding


@contextmanager
def naming_failure(path: Path, kind: str = "") -> Iterator[None]:
    """Turn errors of reading a file, or of unpacking it if no kind of table is named, into a sentence."""
    try:
        yield
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(f"{path} claims more than the memory of this machine holds; get the original.") from error
    except (pa.ArrowException, EOFError, zlib.error, lzma.LZMAError, OSError, ValueError, OverflowError) as error:
        if kind:
            raise InputError(f"{path} cannot be read as {kind} ({error!s:.150}); write it again.") from error
        reason = getattr(error, "strerror", None) or error
        packed = None if isinstance(error, PermissionError) else compression_of(path)
        if packed is None:
            raise InputError(f"{path} cannot be read ({reason!s:.200}); give the path of a table.") from error
        raise InputError(f"{path} is a damaged {packed[0]} file ({reason!s:.100}); get it again.") from error


def check_regular(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path!s:.300} cannot be read ({reason}); give the path of a CSV file.") from error
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a directory; give the path of a CSV file.")
    if not stat.S_ISREG(mode):  # opening a pipe could block for ever, a device may have no end
        raise InputError(f"{path} is a pipe or a device; write its content to a file and give the path of that.")


def _check_text(path: Path, text: bytes) -> None:
    """Refuse bytes that are no text, or another format."""
    head, words, where = text[:1024], text[:64].lstrip().lower(), f"{path}, line"
    what = next((rest for magic, *rest in OTHER_FORMATS if head.startswith(magic) or words.startswith(magic)), None)
    if head[257:262] == b"ustar":
        what = ["a tar archive", "unpack it and give a file of it"]
    elif head.startswith(b"PK\x03\x04") and (path.suffix == ".npz" or b".npy" in head):
        what = ["an archive of NumPy arrays", "give a graph of Graph.to_npz alone, under a name that ends in .npz"]
    elif words.startswith(b"<?xml") and b"<graphml" in head:
        what = list(GRAPHML)
    if what is not None:
        raise InputError(f"{path} is {what[0]}, not a CSV file; {what[1]}.")
    if (nul := text.find(b"\0")) >= 0:
        line = 1 + text.count(b"\n", 0, nul)
        raise InputError(f"{where} {line}: a NUL byte, so this is not text; save the table as CSV in UTF-8.")
    try:
        if not text.isascii():
            text.decode()
    except UnicodeDecodeError as error:
        line, wrong = 1 + text.count(b"\n", 0, error.start), text[error.start]
        if error.reason == "unexpected end of data":
            raise InputError(f"{where} {line}: the text breaks off inside a character; save it again.") from error
        raise InputError(
            f"{where} {line}: byte 0x{wrong:02x} is not UTF-8 text (perhaps Latin-1 or Windows-1252, or no text at "
            f"all); save the table as CSV in UTF-8."
        ) from error


@dataclass(frozen=True)
class TextFile(Origin):
    """A file of delimited text, and how it is written, as its first lines show."""

    is_delimited = True
    text: bytes = field(repr=False)
    """All of it, checked, until it is read."""
    compression: str | None
    encoding: str
    marker: str
    """What comments begin with; empty if the first line is none."""
    delimiter: str
    first: tuple[str, ...]
    """The fields of the first line that is neither blank nor a comment, without blanks around them."""
    first_line: int
    """The number of that line."""
    comments_above: int
    comment: str
    """The last comment above it, without its marker; SNAP writes the names of the columns there."""
    header: bool = True
    """Whether the first line holds the names of the columns."""
    comments: int = 0
    """Lines that are comments; known after the file was read."""

    @classmethod
    def from_path(cls, path: str | Path, delimiter: str | None = None) -> "TextFile":
        """Load and check a file; the delimiter is guessed from its first lines unless given."""
        delimiter, file = DELIMITER_NAMES.get(delimiter or "", delimiter), Path(path)
        if delimiter is not None and len(delimiter) != 1:
            raise InputError(f"The delimiter {delimiter!r:.20} must be a single character, such as a comma.")
        check_regular(file)
        with naming_failure(file):
            compression = compression_of(file)
            stream, encoding = opened(file)
            with stream:
                text = stream.read().removeprefix(codecs.BOM_UTF8)
        _check_text(file, text)
        marker = text[:1].decode() if text[:1] in COMMENTS else ""
        lines, first_line, comments = _sample(file, text, marker)
        if not lines:
            remarks = f"has only lines that begin with {marker}, which are comments" if comments else "is empty"
            raise InputError(f"{path} {remarks}; give a table with a line of column names.")
        try:
            if delimiter is None:  # the first that cuts every line into the same number of fields
                widths = {mark: {len(_fields(line, mark)) for line in lines} for mark in DELIMITERS}
                even = [mark for mark in DELIMITERS if len(widths[mark]) == 1 and min(widths[mark]) > 1]
                # rows of unequal length: the reader will name the row, if the header alone shows the delimiter
                cut = (mark for mark in DELIMITERS if len(_fields(lines[0], mark)) > 1)
                delimiter = even[0] if even else next(cut, ",")
            first = tuple(field.strip() for field in _fields(lines[0], delimiter))
        except (csv.Error, ValueError) as error:
            raise InputError(f"{path} cannot be read as a table: {error!s:.200}.") from error
        if len(first) > MOST_COLUMNS:
            raise InputError(
                f"{path}, row {first_line}: {len(first):,} columns, but a CSV file may have {MOST_COLUMNS:,} at "
                f"most; give wide features to Graph.from_scipy as a sparse matrix."
            )
        above, comment = len(comments), (comments or [""])[-1]
        compressed = compression and compression[0]
        return cls(file, text, compressed, encoding, marker, delimiter, first, first_line, above, comment)

    @property
    def looks_like_data(self) -> bool:
        """Whether the first line holds numbers alone, and therefore no column names."""
        return all(map(is_number, self.first))

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
        if len(names) != len(self.first) or len(set(names)) < len(names) or any(map(is_number, names)):
            return None
        return names if all(0 < len(name) <= LONGEST_NAME for name in names) else None

    def row(self, position: int | np.integer[Any]) -> int:
        """Return the line of the file that an entry of the table is in."""
        after = int(position) + self.header
        lines = (line for line, is_blank in self.records() if line >= self.first_line and not is_blank)
        return next(islice(lines, after, None), self.first_line + after)

    def records(self) -> Iterator[tuple[int, bool]]:
        """Yield the first line of each record, which may have line breaks in quotes, and whether it is blank.

        Reads the file again, for a message.
        """
        with io.TextIOWrapper(cast(Any, opened(self.path)[0]), encoding="utf-8-sig", newline="") as lines:
            shown = ("\n" if self.marker and line.startswith(self.marker) else line for line in lines)
            reader = csv.reader(shown, delimiter=self.delimiter, skipinitialspace=self.delimiter == " ")
            began = 1
            with suppress(csv.Error):  # a field longer than the module takes
                for fields in reader:
                    yield began, not fields or (len(fields) == 1 and fields[0].isspace())
                    began = reader.line_num + 1

    def read(self, wanted: Sequence[str], text: Collection[str]) -> "tuple[pa.Table | pd.DataFrame, TextFile]":
        """Return the columns wanted, perhaps with others, and the file with what reading showed.

        Columns in `text` stay as written, others become numbers if they can. A blank is missing in every column;
        outside `text` so are the usual words for it (NA, nan, null, ..). pyarrow reads a long file, on all cores,
        if these others are numbers.
        """
        names, content, comments, marker = self.names, self.text, 0, self.marker.encode()
        if marker:  # comment lines become empty, so that line numbers stay
            content, comments = re.subn(rb"^" + marker + rb".*", b"", content, flags=re.MULTILINE)
        file = replace(self, comments=comments, text=b"")
        if self.delimiter != " " and len(content) >= LONG:
            from pyarrow import csv as arrow_csv

            with suppress(pa.ArrowException, ValueError):  # pandas says what is wrong
                return arrow_csv.read_csv(
                    pa.BufferReader(content),
                    arrow_csv.ReadOptions(column_names=names, skip_rows_after_names=self.first_line - 1 + self.header),
                    # without quotes no cell has line breaks, which take longer to read
                    arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=b'"' in content),
                    arrow_csv.ConvertOptions(
                        column_types={name: pa.string() if name in text else pa.float64() for name in wanted},
                        include_columns=list(wanted),
                        null_values=list(MISSING),
                        strings_can_be_null=False,
                    ),
                ), file
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)  # it would drop the surplus fields of a row
                table = pd.read_csv(
                    io.BytesIO(content),
                    sep=r"\s+" if self.delimiter == " " else self.delimiter,
                    names=names,
                    header=0 if self.header else None,
                    skiprows=self.first_line - 1,
                    index_col=False,
                    dtype=dict.fromkeys(text, str),
                    keep_default_na=False,
                    na_values={name: [""] if name in text else list(MISSING) for name in names},
                    low_memory=False,
                )
                return table, file
        except pd.errors.ParserWarning as error:
            raise InputError(
                f"{self}: rows have more fields than the {len(names)} columns of row {self.first_line}; quote fields "
                f"that hold the delimiter."
            ) from error
        except ValueError as error:  # what pandas raises for a malformed file is one
            reason = " ".join(f"{error!s:.200}".split()).rstrip(".")
            if match := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error)):
                expected, number, fields = map(int, match.groups())
                reason = "row {} has " + f"{fields} fields instead of {expected}; quote fields that hold the delimiter"
            elif match := re.search(r"EOF inside string starting at row (\d+)", str(error)):
                number = int(match.group(1)) + 1
                reason = "the quote that opens in row {} is never closed; close it or take it out"
            if match:  # which counts records: lines, but for those in quotes
                reason = reason.format(next((line for line, _ in islice(self.records(), number - 1, None)), number))
            raise InputError(f"{self} cannot be read as a table: {reason}.") from error


def _sample(path: Path, text: bytes, marker: str) -> tuple[list[str], int, list[str]]:
    """Return the first records that are neither blank nor comments, the line of the first, and the comments above."""
    records: list[str] = []
    comments: list[str] = []
    first_line = 0
    with io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="") as lines:
        numbered = enumerate(iter(lambda: lines.readline(LONGEST_LINE), ""), start=1)
        for number, line in numbered:
            if len(line) == LONGEST_LINE:
                reason = f"a line is longer than {LONGEST_LINE:,} characters"
                raise InputError(f"{path}: {reason}; give a row per edge or node.")
            if marker and line.startswith(marker):
                comments += [] if records else [line.lstrip(marker).rstrip("\r\n")]
            elif line.strip():
                first_line, record, more = first_line or number, line, line
                while more and record.count('"') % 2 and record.count("\n") < MOST_LINES:  # names with line breaks
                    _, more = next(numbered, (0, ""))
                    record += more
                # a quote that is never closed is for the reader to name
                records.append((line if record.count('"') % 2 else record).rstrip("\r\n"))
                if len(records) == SAMPLE:
                    break
    return records, first_line, comments


def _fields(line: str, delimiter: str) -> list[str]:
    if delimiter == " ":
        return line.split()
    if delimiter not in line:  # the whole line is a field, and may be longer than the reader takes
        return [line.strip('"')]
    return next(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter))


def is_number(field: str) -> bool:
    return re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", field.strip(), re.IGNORECASE) is not None


def as_frame(table: "pa.Table | pd.DataFrame", exact: Iterable[str]) -> pd.DataFrame:
    """Return a frame; whole numbers in `exact` columns are kept beside missing ones, though no float holds them."""
    if isinstance(table, pd.DataFrame):
        return table
    frame: pd.DataFrame = table.to_pandas()
    exact = [name for name in exact if table[name].null_count]
    return frame.assign(**{name: table[name].to_pandas(integer_object_nulls=True) for name in exact})
