"""Columns of text: ids, labels and other values that are compared as text.

Every door reads them in this way. Blanks around a value do not count, and a whole number that is held as 3.0 is "3".
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.errors import InputError

MIDNIGHT = " 00:00:00"


def column_name(name: object) -> str:
    """Return the name of a column without blanks around it; a line break in it counts as a blank."""
    text = str(name).strip()
    return re.sub(r"\s*[\r\n]+\s*", " ", text) if "\n" in text or "\r" in text else text


def column_names(names: Iterable[object], where: object) -> list[str]:
    """Return the names of all columns of a table, which must be different; `where` says whose they are."""
    clean = [column_name(name) for name in names]
    again = pd.Index(clean, dtype=object).duplicated()
    if again.any():
        twice = clean[int(again.argmax())]
        raise InputError(f"{where}: two columns are named {twice!r:.80}; give every column its own name.")
    return clean


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A column of ids or labels: the distinct values, and which of them each row has (-1: blank)."""

    code: NDArray[np.int64]
    values: "pd.Index[str]"

    @classmethod
    def of(cls, column: "pd.Series[Any]") -> "TextColumn":
        """Encode a column of any values as text."""
        rough, written = _distinct_texts(column)
        if not _has_blanks(written):
            return cls(rough.astype(np.int64, copy=False), written)
        refined, values = pd.factorize(written.str.strip())
        refined = np.where(values[refined] == "", -1, refined) if len(values) else refined
        return cls(np.append(refined, -1)[rough], pd.Index(values, dtype=object))


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
    """Return which value each row has (-1: missing), and the values as text, each converted once."""
    code: NDArray[Any]
    if isinstance(column.dtype, pd.CategoricalDtype):
        used = np.bincount(column.cat.codes.to_numpy() + 1, minlength=len(column.cat.categories) + 1)
        column = column if used[1:].all() else column.cat.remove_unused_categories()
        code, values = column.cat.codes.to_numpy(), column.cat.categories
    else:
        if pd.api.types.is_float_dtype(column) and _is_whole(column.dropna()):
            column = column.astype("Int64")
        code, values = factorized(column)
    if pd.api.types.infer_dtype(values) == "string":
        return code, pd.Index(values, dtype=object)
    texts = pd.Index(_written(values), dtype=object)
    if texts.is_unique:
        return code, texts
    same, texts = pd.factorize(texts)  # the number 1 and the text "1"
    return np.append(same, -1)[code], pd.Index(texts, dtype=object)


def _written(values: "pd.Index[Any]") -> list[str]:
    """Return values as they are written to a CSV file: days without the time, if no value has one."""
    texts = [str(value) for value in values]
    days = pd.api.types.infer_dtype(values) in ("datetime", "datetime64") and all(t.endswith(MIDNIGHT) for t in texts)
    return [text.removesuffix(MIDNIGHT) for text in texts] if days else texts


def _is_whole(known: "pd.Series[Any]") -> bool:
    """Return whether all numbers are whole, and small enough to be exact."""
    return bool(np.isfinite(known).all() and (known == np.floor(known)).all() and (known.abs() < 2**53).all())


def _has_blanks(values: "pd.Index[str]") -> bool:
    """Return whether a value is empty or has a blank in it; one search through all of them, since few have."""
    joined = "\0".join(values)
    empty = joined.startswith("\0") or joined.endswith("\0") or "\0\0" in joined
    return empty or re.search(r"\s|^$", joined) is not None
