"""Text in CSV files that spreadsheets open: a cell that begins like a formula must not be run as one.

Excel and others calculate a cell that begins with = + - @, a tab or a line break, and it comes from the user's ids and
class names, which may be anybody's. Such a cell gets an apostrophe in front, by which spreadsheets know text. Numbers
stay as they are, and so does everything else, so that programs read the file as it is; a text that begins with
apostrophes before such a letter gets one more, so that `unescaped` gives back every text exactly.
"""

import csv
from pathlib import Path
from typing import TextIO

import pandas as pd

FORMULA = r"^'*[=+\-@\t\r\n]"
ESCAPE = r"^'(?='*[=+\-@\t\r\n])"
DIGITS = 4
"""Of shares of 1, after the point: more would tell of the machine that computed them, not of the node."""
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"


def write_cells(frame: pd.DataFrame, target: Path | TextIO) -> None:
    """Write a table whose text may be anybody's."""
    safe = escaped(frame)
    breaks = any(safe[name].str.contains("\r", regex=False).any() for name in _texts(safe))
    # by itself the writer does not quote a lone carriage return, at which readers end a line
    shares = f"%.{DIGITS}f"
    safe.to_csv(target, index=False, float_format=shares, quoting=csv.QUOTE_NONNUMERIC if breaks else csv.QUOTE_MINIMAL)


def escaped(frame: pd.DataFrame) -> pd.DataFrame:
    """The same table, with text that a spreadsheet would run made harmless."""
    return frame.assign(**{name: _escaped(frame[name]) for name in _texts(frame)})


def unescaped(frame: pd.DataFrame) -> pd.DataFrame:
    """The table as it was before `escaped`."""
    return frame.assign(**{name: frame[name].str.replace(ESCAPE, "", regex=True) for name in _texts(frame)})


def _texts(frame: pd.DataFrame) -> list[str]:
    return [name for name in frame.columns if pd.api.types.infer_dtype(frame[name], skipna=True) == "string"]


def _escaped(column: "pd.Series[str]") -> "pd.Series[str]":
    harmful = column.str.match(FORMULA) & ~column.str.fullmatch(NUMBER)
    return column.mask(harmful.astype(bool), "'" + column)
