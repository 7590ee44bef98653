"""From the columns of a table of nodes to numbers a model can use. What was done is said in notes."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.table import Origin

MOST_CATEGORIES = 50
"""A text column with more distinct values than this is taken for prose or names, not for a category."""


def feature_matrix(table: pd.DataFrame, origin: Origin) -> tuple[NDArray[np.float64] | None, list[str]]:
    """Numbers and booleans as they are, a column per value of a category; what is missing becomes the column's mean."""
    notes: list[str] = []
    blocks = [block for name in table.columns if (block := _encoded(table[name], origin, notes)) is not None]
    if not blocks:
        return None, notes
    return np.column_stack(blocks), notes


def numbers(column: "pd.Series[Any]", origin: Origin) -> NDArray[np.float64]:
    """A column in which every entry must be a number."""
    values = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    wrong = np.flatnonzero(np.isnan(values))
    if wrong.size:
        entry = column.iloc[wrong[0]]
        found = "nothing" if pd.isna(entry) else repr(entry)
        row = origin.row(wrong[0])
        raise InputError(f"{origin}, row {row}, column {str(column.name)!r}: {found:.80} where a number must be")
    return values


def _encoded(column: "pd.Series[Any]", origin: Origin, notes: list[str]) -> NDArray[np.float64] | None:
    name = str(column.name)
    if column.isna().all():
        notes.append(f"column {name!r} is empty and was left out")
        return None
    if pd.api.types.is_numeric_dtype(column):
        return _numeric(column.astype(np.float64).to_numpy(), name, origin, notes)
    known = column.dropna().astype(str)
    if set(known.str.lower().unique()) <= {"true", "false"}:
        truth = column.astype(str).str.lower().map({"true": 1.0, "false": 0.0})
        return _numeric(truth.to_numpy(np.float64), name, origin, notes)
    values = sorted(known.unique())
    if len(values) > MOST_CATEGORIES:
        raise InputError(
            f"{origin}, column {name!r}: text with {len(values):,} different values (such as {values[0]!r:.60}) is no "
            f"feature; take the column out, or turn it into numbers first"
        )
    notes.append(f"column {name!r} became {len(values)} columns, one for each of its values")
    code = pd.Categorical(column, categories=values).codes  # -1 where missing
    one_hot: NDArray[np.float64] = np.eye(len(values) + 1)[code, :-1]
    return one_hot


def _numeric(values: NDArray[np.floating[Any]], name: str, origin: Origin, notes: list[str]) -> NDArray[np.float64]:
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        row = origin.row(infinite[0])
        raise InputError(
            f"{origin}, row {row}, column {name!r}: the value is infinite; leave it blank if it is unknown"
        )
    missing = np.isnan(values)
    if missing.any():
        notes.append(f"missing values of column {name!r} set to its mean: {int(missing.sum()):,}")
    return np.where(missing, values[~missing].mean(), values).astype(np.float64, copy=False)
