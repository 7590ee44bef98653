"""Cells of tables: names of columns, words for a missing value, and values that are compared as text.

Every reader treats them in this way. Blanks around a value do not count, and a whole number that is held as 3.0 is "3".
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.errors import InputError

MISSING = ("", "NA", "N/A", "na", "n/a", "NaN", "NAN", "nan", "NULL", "null", "None", "?")
MIDNIGHT = " 00:00:00"


@dataclass(frozen=True)
class Origin:
    """Where a table came from, for messages."""

    name: str | Path
    is_delimited: ClassVar[bool] = False

    def row(self, position: int | np.integer[Any]) -> int:
        """Return the row, counted from 1, of an entry of the table."""
        return int(position) + 1

    def at(self, position: int | np.integer[Any], column: object) -> str:
        """Name an entry of the table: its file, row and column."""
        return f"{self}, row {self.row(position)}, column {str(column)!r:.80}"

    @property
    def path(self) -> Path:
        return Path(self.name)

    def __str__(self) -> str:
        return str(self.name)


def column_name(name: object) -> str:
    """Return the name of a column without blanks around it; a line break in it counts as a blank."""
    return re.sub(r"\s*[\r\n]+\s*", " ", str(name).strip())


def column_names(names: Iterable[object], where: object) -> list[str]:
    """Return the names of all columns of a table, which must be different; `where` says whose they are."""
    clean = [column_name(name) for name in names]
    if not clean:
        raise InputError(f"{where} has no columns; give a table with at least a column of ids.")
    again = pd.Index(clean, dtype=object).duplicated()
    if again.any():
        twice = clean[int(again.argmax())]
        raise InputError(f"{where}: two columns are named {twice!r:.80}; give every column its own name.")
    return clean


def coded_texts(column: "pd.Series[Any]") -> tuple[NDArray[np.int64], "pd.Index[str]"]:
    """Return which of the distinct texts each row of a column of any values has (-1: blank), and these texts."""
    rough, written = _distinct_texts(column)
    code, values = pd.factorize(written.str.strip())
    code = np.where(values[code] == "", -1, code) if len(values) else code
    return np.append(code, -1)[rough].astype(np.int64), pd.Index(values, dtype=object)


def as_text(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return a column of any values as text; missing ones stay missing."""
    code, values = _distinct_texts(column)
    texts = np.array([*values, None], dtype=object)
    return pd.Series(texts[code], index=column.index, name=column.name)


def factorized(column: "pd.Series[Any]") -> tuple[NDArray[Any], "pd.Index[Any]"]:
    """Return which value each row has (-1: missing), and the values."""
    try:
        return pd.factorize(column)
    except TypeError as error:  # values without a hash
        raise InputError(f"Column {column.name!r:.80} holds lists; give a column per number, or drop it.") from error


def _distinct_texts(column: "pd.Series[Any]") -> tuple[NDArray[Any], "pd.Index[str]"]:
    """Return which value each row has (-1: missing), and the values as text, each converted once.

    Texts are as in a CSV file: whole numbers that are small enough to be exact have no point, and days have no time if
    no value has one.
    """
    code: NDArray[Any]
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.cat.remove_unused_categories()
        code, values = column.cat.codes.to_numpy(), column.cat.categories
    else:
        if pd.api.types.is_float_dtype(column):
            known = column.dropna()
            if np.isfinite(known).all() and (known == np.floor(known)).all() and (known.abs() < 2**53).all():
                column = column.astype("Int64")
        code, values = factorized(column)
    kind = pd.api.types.infer_dtype(values)
    if kind == "string":
        return code, pd.Index(values, dtype=object)
    written = [str(value) for value in values]
    if kind in ("datetime", "datetime64") and all(text.endswith(MIDNIGHT) for text in written):
        written = [text.removesuffix(MIDNIGHT) for text in written]
    texts = pd.Index(written, dtype=object)
    if texts.is_unique:
        return code, texts
    same, texts = pd.factorize(texts)  # the number 1 and the text "1"
    return np.append(same, -1)[code], pd.Index(texts, dtype=object)
