"""Ids and labels that come as Python values rather than as the text of a file."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.tables.assemble import class_labels
from hiergcn.graph.tables.text_column import TextColumn


def as_text(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """The same column as text; what is missing stays so, and whole numbers that pandas holds as 3.0 are written 3."""
    if pd.api.types.is_float_dtype(column):
        known = column.dropna()
        if np.isfinite(known).all() and (known == np.floor(known)).all() and (known.abs() < 2**53).all():
            column = column.astype("Int64")
    code, values = pd.factorize(column)  # -1 where missing; each value is turned into text once
    texts = np.array([*map(str, values), None], dtype=object)
    return pd.Series(texts[code], index=column.index, name=column.name)


def labels_of(values: Any, n: int) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Numbers and names of the classes; None, NaN, a blank and the number -1 mean unknown."""
    column = pd.Series(values).reset_index(drop=True)
    if len(column) != n:
        raise InputError(f"there are {len(column):,} labels for {n:,} nodes: give one each, and None where unknown")
    texts = as_text(column)
    if pd.api.types.is_numeric_dtype(column):
        texts = texts.where(texts != "-1", None)
    return class_labels(TextColumn.of(texts))


def label_texts(labels: NDArray[np.int64], class_names: tuple[str, ...]) -> NDArray[Any]:
    """The name of each node's class; None where it is unknown."""
    return np.array([*class_names, None], dtype=object)[labels]


def same_numbers(
    labels: NDArray[np.int64], found: tuple[str, ...], wanted: Any
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The labels numbered by the names that a graph brings along, where these cover what was found."""
    names = tuple(str(name) for name in wanted or ())
    if not set(found) <= set(names) or len(set(names)) < len(names):
        return labels, found
    number = np.array([*(names.index(name) for name in found), -1])
    return number[labels], names
