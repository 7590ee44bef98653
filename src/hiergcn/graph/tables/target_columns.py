"""Numeric targets: the number of each node that is to be predicted, by the same rules for every format.

A target is unknown if it is blank, missing (None, NaN) or one of the words for it. Every other entry must be a number.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.tables.delimited import Origin
from hiergcn.graph.tables.feature_columns import floats
from hiergcn.graph.tables.label_columns import Labels, is_unknown

FEWEST_NUMBERS = 10
"""Distinct numbers from which on labels may be meant as numbers to predict."""
FEW_LABELS = 5
"""Labels per distinct number, on average, from which on they are taken for classes."""
GAPS = 3
"""Whole numbers that cover a range this many times as large as their count are no codes of classes."""


def read_targets(column: "pd.Series[Any]", origin: Origin, unknown: Sequence[str] | None = None) -> NDArray[np.float64]:
    """Return the number in each row, NaN if it is unknown."""
    if not pd.api.types.is_numeric_dtype(column):
        words = column.map(lambda entry: isinstance(entry, str) and _is_unknown(entry.strip(), unknown))
        column = column.astype(object).mask(words.astype(bool), None)
    values = np.asarray(floats(column), np.float64)
    wrong = np.flatnonzero((np.isnan(values) & column.notna().to_numpy()) | np.isinf(values))
    if wrong.size:
        where, entry = origin.at(wrong[0], column.name), str(column.iloc[wrong[0]])
        raise InputError(f"{where}: {entry!r:.60} in the column of the target; give a number, or leave it blank.")
    return values


def look_like_numbers(labels: Labels) -> bool:
    """Return whether labels may be meant as numbers to predict: many different ones, each at few nodes.

    They are fractions, or whole numbers that are no codes 1, 2, 3, .. of classes.
    """
    names, given = labels.class_names, int(np.count_nonzero(labels.numbers >= 0))
    if len(names) < FEWEST_NUMBERS or given >= FEW_LABELS * len(names):
        return False
    values = pd.to_numeric(pd.Series(names), errors="coerce").to_numpy(np.float64)
    if not np.isfinite(values).all():
        return False
    fractions = bool((values != np.floor(values)).any())
    return fractions or float(np.ptp(values)) + 1 > GAPS * len(names)


def _is_unknown(word: str, unknown: Sequence[str] | None) -> bool:
    """Return whether a word means unknown; -1 is a number."""
    return word == "" or (is_unknown(word, unknown) and pd.isna(pd.to_numeric(word, errors="coerce")))
