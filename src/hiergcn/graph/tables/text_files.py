"""Text files, plain or gzipped: is a path one, and how is it opened?

If a file begins with `#`, as every edge list of SNAP does, all its lines that begin so are comments.
"""

import codecs
import gzip
import io
import re
import stat
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hiergcn.errors import InputError

CHUNK = 1 << 22  # bytes
COMMENT = re.compile(rb"^#.*", re.MULTILINE)
GZIP = b"\x1f\x8b"
GRAPHML = ("GraphML", "give it alone, under a name that ends in .graphml, or to Graph.from_graphml in Python")
NUMPY_ARCHIVE = ("an archive of NumPy arrays", "give a graph of Graph.to_npz alone, under a name that ends in .npz")
OTHER_FORMATS = (  # first bytes of files that are given for CSV by mistake, what they are, and what to do
    (b"PK\x03\x04", "a zip archive or an Excel workbook", "save the sheet as CSV in UTF-8, or unpack the archive"),
    (b"PAR1", "a Parquet file", "write it as CSV, or give pandas.read_parquet(..) to Graph.from_pandas in Python"),
    (b"\x93NUMPY", "a NumPy array", "give an adjacency to Graph.from_scipy in Python, or write a list of edges as CSV"),
    (b"BZh", "a bzip2 file", "unpack it, or compress it with gzip"),
    (b"\xfd7zXZ", "an xz file", "unpack it, or compress it with gzip"),
    (b"(\xb5/\xfd", "a zstd file", "unpack it, or compress it with gzip"),
    (b"\xff\xfe", "UTF-16 text", "save it as CSV in UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "save it as CSV in UTF-8"),
    (b"<graphml", *GRAPHML),
    (b"<?xml", "XML", "write a CSV table"),
    (b"<!doctype", "a web page", "download the table itself"),
    (b"<html", "a web page", "download the table itself"),
    (b"{", "JSON", "write it as a CSV table"),
    (b"[", "JSON", "write it as a CSV table"),
)


@dataclass(frozen=True)
class TextFile:
    """A file of UTF-8 text, which `checked_text` has looked at."""

    path: Path
    gzipped: bool = False
    comments: int = 0
    """Lines that begin with `#`, if the first line does."""
    has_quotes: bool = False

    def open(self) -> io.BufferedIOBase:
        """Open the text as bytes. Comment lines are empty, so that line numbers stay those of the file."""
        stream = _open(self.path, self.gzipped)
        return io.BufferedReader(_WithoutComments(stream), CHUNK) if self.comments else stream

    def lines(self) -> io.TextIOWrapper:
        """Open the text as it is, comments included; every kind of line end is kept."""
        return io.TextIOWrapper(io.BufferedReader(_open(self.path, self.gzipped)), encoding="utf-8-sig", newline="")


class _WithoutComments(io.RawIOBase):
    """The bytes of a text, with its comment lines emptied."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self._stream = stream
        self._pending = b""
        self._began = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if not self._pending:
            chunk = self._stream.read(CHUNK) + self._stream.readline()  # whole lines
            if not self._began:
                chunk, self._began = chunk.removeprefix(codecs.BOM_UTF8), True
            self._pending = COMMENT.sub(b"", chunk) if chunk.startswith(b"#") or b"\n#" in chunk else chunk
        size = min(len(buffer), len(self._pending))
        buffer[:size], self._pending = self._pending[:size], self._pending[size:]
        return size

    def close(self) -> None:
        self._stream.close()
        super().close()


def checked_text(path: Path) -> TextFile:
    """Refuse anything but a file of UTF-8 text, plain or gzipped. Takes one pass over its bytes and little memory."""
    _check_regular(path)
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, comments, last, quotes = 1, 0, b"", False
    try:
        with path.open("rb") as stream:
            gzipped = stream.read(len(GZIP)) == GZIP
        with _open(path, gzipped) as stream:
            chunk = stream.read(CHUNK)
            _check_format(path, chunk)
            if chunk.removeprefix(codecs.BOM_UTF8).startswith(b"#"):
                comments = 1
            while chunk:
                _check_characters(path, chunk, decoder, line)
                line += chunk.count(b"\n")
                quotes = quotes or b'"' in chunk
                if comments:
                    comments += chunk.count(b"\n#") + (last + chunk[:1] == b"\n#")
                    last = chunk[-1:]
                chunk = stream.read(CHUNK)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}, line {line}: the text breaks off inside a character; save it again.") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is a damaged gzip file ({error!s:.100}); get it again.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}); give the path of a CSV file.") from error
    return TextFile(path, gzipped, comments, quotes)


def _open(path: Path, gzipped: bool) -> io.BufferedIOBase:
    return gzip.GzipFile(path) if gzipped else path.open("rb")


def _check_regular(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path!s:.300} cannot be read ({reason}); give the path of a CSV file.") from error
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a directory; give the path of a CSV file.")
    if not stat.S_ISREG(mode):  # opening a pipe could block for ever, a device may have no end
        raise InputError(f"{path} is a pipe or a device; write its content to a file and give the path of that.")


def _check_format(path: Path, head: bytes) -> None:
    begin = head[:64].removeprefix(codecs.BOM_UTF8).lstrip().lower() if head[:1] not in b"\xff\xfe" else head
    found = next((rest for magic, *rest in OTHER_FORMATS if head.startswith(magic) or begin.startswith(magic)), None)
    if head[257:262] == b"ustar":
        found = ["a tar archive", "unpack it and give a file of it"]
    if found is None:
        return
    what, remedy = found
    if head.startswith(b"PK") and _holds_arrays(path):
        what, remedy = NUMPY_ARCHIVE
    elif what == "XML" and b"<graphml" in head[:1024]:
        what, remedy = GRAPHML
    raise InputError(f"{path} is {what}, not a CSV file; {remedy}.")


def _holds_arrays(path: Path) -> bool:
    """Return whether an archive was written by numpy.savez."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            return bool(names) and all(name.endswith(".npy") for name in names)
    except zipfile.BadZipFile:
        return path.suffix == ".npz"


def _check_characters(path: Path, chunk: bytes, decoder: codecs.IncrementalDecoder, line: int) -> None:
    """Refuse a chunk of a file, whose first byte is in `line`, if it is not text."""
    nul = chunk.find(b"\0")
    if nul >= 0:
        line += chunk.count(b"\n", 0, nul)
        raise InputError(f"{path}, line {line}: a NUL byte, so this is not text; save the table as CSV in UTF-8.")
    pending = len(decoder.getstate()[0])  # bytes of a character that began in the previous chunk
    try:
        decoder.decode(chunk)
    except UnicodeDecodeError as error:
        line += chunk.count(b"\n", 0, max(error.start - pending, 0))
        wrong = error.object[error.start]
        raise InputError(
            f"{path}, line {line}: byte 0x{wrong:02x} is not UTF-8 text (perhaps Latin-1 or Windows-1252, or no text "
            f"at all); save the table as CSV in UTF-8."
        ) from error
