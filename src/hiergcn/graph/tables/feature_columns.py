"""From the columns of a table of nodes to numbers a model can use. What was done is said in notes."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.tables.delimited import Origin

MOST_CATEGORIES = 50
"""A text column with more distinct values than this is taken for prose or names, not for a category."""
STRUCTURAL = "structural"
COMMA_NUMBER = r"\s*[-+]?\d+(?:,\d+)?\s*"
THOUSANDS = r"\s*[-+]?\d{1,3}(?:,\d{3})?\s*"
"""Of which 1,234 may be one: a column with no other numbers is not to be told from decimals."""


@dataclass(frozen=True)
class FeatureColumn:
    """What became of a column of the table."""

    name: str
    kind: str
    """number, boolean, category, empty, or structural: not in the table, but made from the edges."""
    width: int
    """Columns that it has become."""
    missing: int
    constant: bool
    """Whether every known value is the same, so that it tells nothing apart."""
    mean: float | None = None
    """What missing numbers became."""
    values: tuple[str, ...] = ()
    """What a category can be; a column of features for each."""
    decimal_comma: bool = False
    """Whether numbers were written as 2,5."""

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the columns of features that it has become."""
        if self.kind == "category":
            return tuple(f"{self.name}={value}" for value in self.values)
        return (self.name,) if self.width == 1 else tuple(f"{self.name} {k}" for k in range(self.width))

    @property
    def blank(self) -> NDArray[np.float64]:
        """What a missing value becomes."""
        return np.full(self.width, 0.0 if self.kind == "category" or self.mean is None else self.mean)

    @property
    def note(self) -> str | None:
        """What was done that the user may not expect."""
        if self.kind == "empty":
            return f"column {self.name!r} is empty and was left out"
        if self.kind == "category":
            return f"column {self.name!r} became {self.width} columns, one for each of its values"
        said = [f"missing values of column {self.name!r} set to its mean: {self.missing:,}"] if self.missing else []
        said += [f"commas in column {self.name!r} were read as decimal points"] if self.decimal_comma else []
        return "; ".join(said) or None


def encoded_columns(table: pd.DataFrame, origin: Origin) -> tuple[NDArray[np.float64] | None, list[FeatureColumn]]:
    """Numbers and booleans as they are, a column per value of a category; what is missing becomes the column's mean."""
    found = [_encoded(table[name], origin) for name in table.columns]
    blocks = [block for block, _ in found if block is not None]
    return (np.column_stack(blocks) if blocks else None), [column for _, column in found]


def notes_on(columns: list[FeatureColumn]) -> list[str]:
    return [column.note for column in columns if column.note is not None]


def numbers(column: "pd.Series[Any]", origin: Origin) -> NDArray[np.float64]:
    """A column in which every entry must be a number."""
    values = np.asarray(floats(column), np.float64)
    wrong = np.flatnonzero(np.isnan(values))
    if wrong.size:
        entry = column.iloc[wrong[0]]
        found = "nothing" if pd.isna(entry) else repr(entry)
        row = origin.row(wrong[0])
        raise InputError(f"{origin}, row {row}, column {str(column.name)!r:.80}: {found:.80} where a number must be")
    return values


def has_decimal_commas(column: "pd.Series[Any]") -> bool:
    """Whether every entry is a number, some with a comma that cannot stand for thousands, as in 2,5."""
    texts = column.dropna().astype(str)
    return bool(
        texts.str.contains(",", regex=False).any()
        and texts.str.fullmatch(COMMA_NUMBER).all()
        and not texts.str.fullmatch(THOUSANDS).all()
    )


def floats(column: "pd.Series[Any]", decimal_comma: bool = False) -> "pd.Series[float]":
    """Numbers where the entries are such, else NaN; infinite if too large for a float.

    Commas are decimal ones where that is known beforehand, or the entries tell.
    """
    if not pd.api.types.is_numeric_dtype(column) and (decimal_comma or has_decimal_commas(column)):
        column = column.astype(str).str.replace(",", ".", regex=False).where(column.notna())
    try:
        return pd.to_numeric(column, errors="coerce").astype(np.float64)
    except OverflowError:
        return column.map(_float, na_action="ignore").astype(np.float64)


def _float(entry: Any) -> float:
    try:
        return float(entry)
    except OverflowError:
        return np.inf
    except (TypeError, ValueError):
        return np.nan


def _encoded(column: "pd.Series[Any]", origin: Origin) -> tuple[NDArray[np.float64] | None, FeatureColumn]:
    name = str(column.name)
    if column.isna().all():
        return None, FeatureColumn(name, "empty", 0, len(column), True)
    if pd.api.types.is_bool_dtype(column):
        return _numeric(column.astype(np.float64).to_numpy(), name, "boolean", origin)
    if pd.api.types.is_numeric_dtype(column):
        return _numeric(column.astype(np.float64).to_numpy(), name, "number", origin)
    known = column.dropna().astype(str)
    words = set(known.str.lower().unique())
    if words <= {"true", "false"}:
        truth = column.astype(str).str.lower().map({"true": 1.0, "false": 0.0})
        return _numeric(truth.to_numpy(np.float64), name, "boolean", origin)
    values = floats(column)
    if int(values.notna().sum()) == len(known):  # decimal commas, or whole numbers too large for the reader
        block, described = _numeric(values.to_numpy(), name, "number", origin)
        return block, replace(described, decimal_comma=has_decimal_commas(column))
    if len(words) > MOST_CATEGORIES or known.str.fullmatch(COMMA_NUMBER).all():
        raise InputError(_no_feature(column, values.notna().to_numpy(), origin))
    return _one_hot(column, sorted(known.unique()))


def _one_hot(column: "pd.Series[Any]", values: list[str]) -> tuple[NDArray[np.float64], FeatureColumn]:
    code = pd.Categorical(column.astype(str).where(column.notna()), categories=values).codes  # -1 where missing
    one_hot: NDArray[np.float64] = np.eye(len(values) + 1)[code, :-1]
    missing = int(np.count_nonzero(code < 0))
    described = FeatureColumn(
        str(column.name), "category", len(values), missing, len(values) == 1, values=tuple(values)
    )
    return one_hot, described


def _no_feature(column: "pd.Series[Any]", numeric: NDArray[np.bool_], origin: Origin) -> str:
    """Why a column of text cannot be used, as near to the cause as can be told."""
    known = column.notna().to_numpy()
    texts = column[known].astype(str)
    where = f"{origin}, column {str(column.name)!r:.80}"
    with_comma = texts[texts.str.fullmatch(r"\s*[-+]?[\d.]*,\d+\s*")]
    if len(with_comma) > 0.5 * len(texts):
        example = with_comma.iloc[0]
        return f"{where}: commas in numbers, such as {example!r:.60}; write decimals with a point and thousands without"
    if np.count_nonzero(numeric) > np.count_nonzero(known & ~numeric):
        position = int(np.flatnonzero(known & ~numeric)[0])
        row, entry = origin.row(position), str(column.iloc[position])
        return (
            f"{origin}, row {row}, column {str(column.name)!r:.80}: {entry!r:.80} among numbers; correct it or blank it"
        )
    return (
        f"{where}: text with {texts.nunique():,} different values (such as {texts.min()!r:.60}) is no feature; "
        f"drop the column (--drop, drop=[..]) or turn it into numbers first"
    )


def _numeric(
    values: NDArray[np.floating[Any]], name: str, kind: str, origin: Origin
) -> tuple[NDArray[np.float64], FeatureColumn]:
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        row = origin.row(infinite[0])
        raise InputError(
            f"{origin}, row {row}, column {name!r:.80}: the value is infinite; leave it blank if it is unknown"
        )
    missing = np.isnan(values)
    known = values[~missing]
    with np.errstate(over="ignore"):
        mean = known.mean()
    mean = mean if np.isfinite(mean) else known[0] / 2 + known[-1] / 2  # the sum of finite numbers can be too large
    described = FeatureColumn(name, kind, 1, int(missing.sum()), bool((known == known[0]).all()), float(mean))
    return np.where(missing, mean, values).astype(np.float64, copy=False), described
