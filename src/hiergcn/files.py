"""Writing files whole or not at all, and CSV tables that may hold any text."""

import csv
import secrets
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

from hiergcn.errors import InputError, UnwritableError

if TYPE_CHECKING:
    import pandas as pd

DIGITS = 4
"""Decimals of shares and probabilities; further ones depend on the machine that computed them."""

DAMAGED_ARRAYS = (
    *(OSError, ValueError, KeyError, TypeError, IndexError, EOFError, RuntimeError, SyntaxError),
    *(tokenize.TokenError, struct.error, zipfile.BadZipFile, zlib.error),
)
"""What NumPy raises for npy and npz files that are not as they were written."""

FORMULA = r"^'*[=+\-@\t\r\n]"
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
ESCAPED = r"^'(?='*[=+\-@\t\r\n])"


@contextmanager
def written_whole(path: str | PathLike[str]) -> Iterator[Path]:
    """Yield a temporary file beside `path`; it replaces `path` if the block succeeds and is removed if it fails.

    An `UnwritableError` names the path if the disk is full or the folder cannot be written.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent} to write {target.name} into; make it first.")
    with naming(target):
        part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
        part.touch(exist_ok=False)  # with the permissions that the user's umask gives
        try:
            yield part
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)


def write_text(path: str | PathLike[str], text: str) -> Path:
    """Write a text file whole, or not at all; return its path."""
    with written_whole(path) as part:
        part.write_text(text, encoding="utf-8")
    return Path(path)


@contextmanager
def naming(target: Path) -> Iterator[None]:
    """Turn a disk error into an `UnwritableError` that names the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnwritableError(f"{target} cannot be written ({reason}); make room or name another place.") from error


def write_csv(
    frame: "pd.DataFrame", target: Path | TextIO, *, spreadsheet: bool = False, digits: int | None = DIGITS
) -> None:
    """Write a table to a file (whole or not at all) or to a stream; text is written exactly as it is.

    Numbers have as many decimals as `digits`; None writes them exactly.

    Excel and other spreadsheets run a cell that begins with = + - @, a tab or a line break as a formula. With
    `spreadsheet`, such a text gets an apostrophe in front, unless it is a number; `unescaped` takes it away again.
    """
    if isinstance(target, Path):
        with written_whole(target) as part, part.open("w", encoding="utf-8", newline="") as stream:
            write_csv(frame, stream, spreadsheet=spreadsheet, digits=digits)
        return
    table = escaped(frame) if spreadsheet else frame
    # the writer does not quote a lone carriage return, but readers take it for the end of a line
    breaks = any(table[name].str.contains("\r", regex=False).any() for name in _text_columns(table))
    decimals = None if digits is None else f"%.{digits}f"
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if breaks else csv.QUOTE_MINIMAL
    table.to_csv(target, index=False, float_format=decimals, quoting=quoting)


def escaped(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return the table with an apostrophe before every text that a spreadsheet would run as a formula.

    A text that already has apostrophes before such a character gets one more, so that `unescaped` is exact.
    """
    texts = {name: frame[name] for name in _text_columns(frame)}
    harmful = {name: text.str.match(FORMULA) & ~text.str.fullmatch(NUMBER) for name, text in texts.items()}
    return frame.assign(**{name: text.mask(harmful[name].astype(bool), "'" + text) for name, text in texts.items()})


def unescaped(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return the table as it was before `escaped`."""
    return frame.assign(**{name: frame[name].str.replace(ESCAPED, "", regex=True) for name in _text_columns(frame)})


def _text_columns(frame: "pd.DataFrame") -> list[str]:
    from pandas.api.types import infer_dtype

    return [name for name in frame.columns if infer_dtype(frame[name], skipna=True) == "string"]
