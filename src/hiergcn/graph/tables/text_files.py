"""Text files, plain or compressed, in UTF-8 or UTF-16: is a path one, and how is it opened?

If a file begins with `#`, as every edge list of SNAP does, or with `%`, as those of KONECT do, all its lines that begin
so are comments.
"""

import bz2
import codecs
import gzip
import io
import lzma
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from hiergcn.errors import InputError

CHUNK = 1 << 22  # bytes
COMMENTS = (b"#", b"%")
GRAPHML = ("GraphML", "give it alone, under a name that ends in .graphml, or to Graph.from_graphml in Python")
NUMPY_ARCHIVE = ("an archive of NumPy arrays", "give a graph of Graph.to_npz alone, under a name that ends in .npz")
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
_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)


def _zstd(path: Path) -> io.BufferedIOBase:
    import pyarrow as pa  # type: ignore[import-untyped]

    return io.BufferedReader(cast(io.RawIOBase, pa.input_stream(str(path), compression="zstd")), CHUNK)


COMPRESSIONS: dict[bytes, tuple[str, Callable[[Path], Any]]] = {
    b"\x1f\x8b": ("gzip", gzip.GzipFile),
    b"(\xb5/\xfd": ("zstd", _zstd),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\xfd7zXZ": ("xz", lzma.LZMAFile),
}
"""First bytes of compressed files, their names, and what opens them."""
ENCODINGS = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
"""First bytes of texts that are not UTF-8."""


@dataclass(frozen=True)
class TextFile:
    """A file of text, which `checked_text` has looked at."""

    path: Path
    compression: str | None = None
    encoding: str = "UTF-8"
    marker: str = "#"
    """What comments begin with."""
    comments: int = 0
    """Lines that begin with the marker, if the first line does."""
    has_quotes: bool = False
    trimmed: bool = False
    """Whether the text is ASCII without spaces or tabs, so that no cell needs trimming."""

    @property
    def is_plain(self) -> bool:
        """Whether the bytes of the file are the rows of the table in UTF-8."""
        return self.compression is None and self.encoding == "UTF-8" and not self.comments

    def open(self) -> io.BufferedIOBase:
        """Open the text as UTF-8 bytes. Comment lines are empty, so that line numbers stay those of the file."""
        stream = opened(self.path)
        if not self.comments:
            return stream
        return io.BufferedReader(_WithoutComments(stream, self.marker.encode()), CHUNK)

    def lines(self) -> io.TextIOWrapper:
        """Open the text as it is, comments included; every kind of line end is kept."""
        return io.TextIOWrapper(io.BufferedReader(cast(Any, opened(self.path))), encoding="utf-8-sig", newline="")


def opened(path: Path) -> io.BufferedIOBase:
    """Open a file, unpacked if it is compressed and as UTF-8 if it is UTF-16."""
    with _unpacked(path) as stream:
        encoding = _encoding(stream.read(4))
    if encoding == "UTF-8":
        return cast(io.BufferedIOBase, _unpacked(path))
    with _unpacked(path) as stream:
        try:
            return io.BytesIO(stream.read().decode(encoding).encode())
        except UnicodeDecodeError:
            raise InputError(f"{path} is damaged {encoding} text; save it again, in UTF-8.") from None


def _unpacked(path: Path) -> Any:
    found = compression_of(path)
    return path.open("rb") if found is None else COMPRESSIONS[found][1](path)


def compression_of(path: Path) -> bytes | None:
    """Return the first bytes that show how a file is compressed."""
    with path.open("rb") as stream:
        head = stream.read(8)
    return next((magic for magic in COMPRESSIONS if head.startswith(magic)), None)


def _encoding(head: bytes) -> str:
    return next((name for mark, name in ENCODINGS.items() if head.startswith(mark)), "UTF-8")


class _WithoutComments(io.RawIOBase):
    """The bytes of a text, with its comment lines emptied."""

    def __init__(self, stream: io.BufferedIOBase, marker: bytes) -> None:
        self._stream, self._marker = stream, marker
        self._comment = re.compile(rb"^" + re.escape(marker) + rb".*", re.MULTILINE)
        self._pending = b""
        self._began = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if not self._pending:
            chunk = self._stream.read(CHUNK) + self._stream.readline()  # whole lines
            if not self._began:
                chunk, self._began = chunk.removeprefix(codecs.BOM_UTF8), True
            has_comments = chunk.startswith(self._marker) or b"\n" + self._marker in chunk
            self._pending = self._comment.sub(b"", chunk) if has_comments else chunk
        size = min(len(buffer), len(self._pending))
        buffer[:size], self._pending = self._pending[:size], self._pending[size:]
        return size

    def close(self) -> None:
        self._stream.close()
        super().close()


def checked_text(path: Path) -> TextFile:
    """Refuse anything but a file of text. Takes one pass over its bytes and, unless it is UTF-16, little memory."""
    check_regular(path)
    with naming_damage(path):
        compression = compression_of(path)
        with _unpacked(path) as stream:
            encoding = _encoding(stream.read(4))
        with opened(path) as stream:
            found = _scanned(path, stream)
    packed = None if compression is None else COMPRESSIONS[compression][0]
    return TextFile(path, packed, encoding, **found)


def _scanned(path: Path, stream: io.BufferedIOBase) -> dict[str, Any]:
    """Read a text file once; refuse other files, and return its comments, quotes and blanks."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, last, comments = 1, b"", 0
    quotes, trimmed = False, True
    chunk = stream.read(CHUNK)
    _check_format(path, chunk)
    marker = chunk.removeprefix(codecs.BOM_UTF8)[:1]
    if marker in COMMENTS:
        comments = 1
    while chunk:
        _check_characters(path, chunk, decoder, line)
        line += chunk.count(b"\n")
        quotes = quotes or b'"' in chunk
        trimmed = trimmed and chunk.isascii() and b" " not in chunk and b"\t" not in chunk
        if comments:
            comments += chunk.count(b"\n" + marker) + (last + chunk[:1] == b"\n" + marker)
            last = chunk[-1:]
        chunk = stream.read(CHUNK)
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}, line {line}: the text breaks off inside a character; save it again.") from error
    mark = marker.decode() if comments else "#"
    return {"marker": mark, "comments": comments, "has_quotes": quotes, "trimmed": trimmed}


@contextmanager
def naming_damage(path: Path) -> Iterator[None]:
    """Turn errors of reading or unpacking a file into a sentence."""
    try:
        yield
    except InputError:
        raise
    except (*_DAMAGED, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        packed = None if isinstance(error, PermissionError) else compression_of(path)
        if packed is None:
            raise InputError(f"{path} cannot be read ({reason!s:.200}); give the path of a table.") from error
        name = COMPRESSIONS[packed][0]
        raise InputError(f"{path} is a damaged {name} file ({reason!s:.100}); get it again.") from error


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


def _check_format(path: Path, head: bytes) -> None:
    begin = head[:64].removeprefix(codecs.BOM_UTF8).lstrip().lower()
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
    if not pending and chunk.isascii():
        return
    try:
        decoder.decode(chunk)
    except UnicodeDecodeError as error:
        line += chunk.count(b"\n", 0, max(error.start - pending, 0))
        wrong = error.object[error.start]
        raise InputError(
            f"{path}, line {line}: byte 0x{wrong:02x} is not UTF-8 text (perhaps Latin-1 or Windows-1252, or no text "
            f"at all); save the table as CSV in UTF-8."
        ) from error
