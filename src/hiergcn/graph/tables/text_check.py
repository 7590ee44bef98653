"""Is this path a file of text that a table could be read from? If not, a sentence that says what it is instead."""

import codecs
import stat
import zipfile
from pathlib import Path

from hiergcn.errors import InputError

CHUNK = 1 << 22  # bytes that are looked at together
GRAPHML = ("GraphML", "give it by itself, under a name that ends in .graphml, or to Graph.from_graphml in Python")
NUMPY_ARCHIVE = ("an archive of NumPy arrays", "give a graph of Graph.to_npz by itself, under a name that ends in .npz")
OTHER_FORMATS = (  # how files begin that are given for CSV by mistake, what they are, and what to do
    (b"\x1f\x8b", "a gzip archive", "unpack it first"),
    (b"PK\x03\x04", "a zip archive or an Excel workbook", "save the sheet as CSV in UTF-8, or unpack the archive"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "save the sheet as CSV in UTF-8"),
    (b"PAR1", "a Parquet file", "write it as CSV, or give pandas.read_parquet(..) to Graph.from_pandas in Python"),
    (b"ARROW1", "a Feather file", "write it as CSV"),
    (b"%PDF", "a PDF", "give the table itself as CSV"),
    (b"SQLite format 3", "an SQLite database", "export the table as CSV"),
    (b"\x93NUMPY", "a NumPy array", "give an adjacency to Graph.from_scipy in Python, or write a list of edges as CSV"),
    (b"\x89HDF", "an HDF5 file", "write it as CSV"),
    (b"BZh", "a bzip2 archive", "unpack it first"),
    (b"\xfd7zXZ", "an xz archive", "unpack it first"),
    (b"(\xb5/\xfd", "a zstd archive", "unpack it first"),
    (b"\xff\xfe", "UTF-16 text", "save it as CSV in UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "save it as CSV in UTF-8"),
    (b"<graphml", *GRAPHML),
    (b"<?xml", "XML", "write a CSV table"),
    (b"<!doctype", "a web page", "download the table itself"),
    (b"<html", "a web page", "download the table itself"),
    (b"{", "JSON", "write it as a CSV table"),
    (b"[", "JSON", "write it as a CSV table"),
)


def check_text(path: Path) -> None:
    """Refuse what is no file, or no text in UTF-8; one pass over its bytes, in little memory."""
    _check_regular(path)
    decoder = codecs.getincrementaldecoder("utf-8")()
    lines = 1
    try:
        with path.open("rb") as stream:
            head = stream.read(CHUNK)
            _check_format(path, head)
            chunk = head
            while chunk:
                _check_characters(path, chunk, decoder, lines)
                lines += chunk.count(b"\n")
                chunk = stream.read(CHUNK)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}, line {lines}: the text breaks off in the middle of a character") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}): give the path of a CSV file") from error


def _check_regular(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path!s:.300} cannot be read ({reason}): give the path of a CSV file") from error
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a directory: give the path of a CSV file")
    if not stat.S_ISREG(mode):  # opening a pipe could wait for ever, a device could have no end
        raise InputError(f"{path} is a pipe or a device: write its content to a file, and give the path of that")


def _check_format(path: Path, head: bytes) -> None:
    begin = head[:64].removeprefix(codecs.BOM_UTF8).lstrip().lower() if head[:1] not in b"\xff\xfe" else head
    found = next((rest for magic, *rest in OTHER_FORMATS if head.startswith(magic) or begin.startswith(magic)), None)
    if found is None:
        return
    what, remedy = found
    if head.startswith(b"PK") and _holds_arrays(path):
        what, remedy = NUMPY_ARCHIVE
    elif what == "XML" and b"<graphml" in head[:1024]:
        what, remedy = GRAPHML
    raise InputError(f"{path} is {what}, not a CSV file: {remedy}")


def _holds_arrays(path: Path) -> bool:
    """Whether an archive is one of numpy.savez."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            return bool(names) and all(name.endswith(".npy") for name in names)
    except zipfile.BadZipFile:
        return path.suffix == ".npz"


def _check_characters(path: Path, chunk: bytes, decoder: codecs.IncrementalDecoder, lines: int) -> None:
    nul = chunk.find(b"\0")
    if nul >= 0:
        line = lines + chunk.count(b"\n", 0, nul)
        raise InputError(f"{path}, line {line}: a NUL byte, which no text has; save it as CSV in UTF-8")
    pending = len(decoder.getstate()[0])  # bytes of a character that began in the chunk before
    try:
        decoder.decode(chunk)
    except UnicodeDecodeError as error:
        line = lines + chunk.count(b"\n", 0, max(error.start - pending, 0))
        wrong = error.object[error.start]
        raise InputError(
            f"{path}, line {line}: byte 0x{wrong:02x} is not UTF-8 text (Latin-1 or Windows-1252, perhaps); "
            f"save it as CSV in UTF-8"
        ) from error
