"""Features of another table, made as those were that a model learned from.

Missing numbers become the mean that the first table had, and a category keeps its columns; a value that the first table
did not have is in none of them. A column that is missing is refused, for the model has weights for it; columns that the
first table did not have are passed over.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.tables.delimited import Origin
from hiergcn.graph.tables.feature_columns import FeatureColumn, floats

_TRUTH = {"true": 1.0, "false": 0.0}


def encoded_as(
    table: pd.DataFrame, origin: Origin, columns: Sequence[FeatureColumn]
) -> tuple[NDArray[np.float64] | None, list[str]]:
    """The features, and notes on what the first table did not have."""
    used = [column for column in columns if column.width]
    absent = [column.name for column in used if column.name not in table.columns]
    if absent:
        more = f" ({len(absent):,} such columns)" if len(absent) > 1 else ""
        raise InputError(f"{origin} has no column {absent[0]!r:.80}, which the model was trained on; add it{more}")
    notes: list[str] = []
    blocks = [
        _categories(table[column.name], column, notes)
        if column.kind == "category"
        else _numbers(table[column.name], column, origin)
        for column in used
    ]
    return (np.column_stack(blocks) if blocks else None), notes


def _numbers(column: "pd.Series[Any]", known: FeatureColumn, origin: Origin) -> NDArray[np.float64]:
    values = floats(column, known.decimal_comma).to_numpy(np.float64)
    if known.kind == "boolean":
        truth = column.astype(str).str.strip().str.lower().map(_TRUTH).to_numpy(np.float64)
        values = np.where(np.isnan(truth), values, truth)
    wrong = np.flatnonzero((np.isnan(values) & column.notna().to_numpy()) | np.isinf(values))
    if wrong.size:
        row, found = origin.row(wrong[0]), str(column.iloc[wrong[0]])
        raise InputError(
            f"{origin}, row {row}, column {known.name!r:.80}: {found!r:.80} where the model was trained on a "
            f"{known.kind}; correct it or leave it blank"
        )
    mean = 0.0 if known.mean is None else known.mean
    return np.where(np.isnan(values), mean, values).astype(np.float64)


def _categories(column: "pd.Series[Any]", known: FeatureColumn, notes: list[str]) -> NDArray[np.float64]:
    text = column.astype(str).where(column.notna())
    code = pd.Index(known.values).get_indexer(pd.Index(text))  # -1 where missing or new
    unseen = text[(code < 0) & column.notna().to_numpy()]
    if len(unseen):
        notes.append(
            f"values of column {known.name!r} that the model has not seen, {unseen.iloc[0]!r:.60} for instance, "
            f"count for nothing: {len(unseen):,}"
        )
    one_hot: NDArray[np.float64] = np.eye(len(known.values) + 1)[code, :-1]
    return one_hot
