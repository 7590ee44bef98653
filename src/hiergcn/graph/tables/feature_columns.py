"""The encoder of feature columns: from a table of nodes to a matrix of numbers, and of other tables in the same way.

Numbers and booleans stay, and dates become days. A column of words with at most 50 distinct values is a category and
becomes a column for each value. With more it is free text and becomes TF-IDF weights of its words (`free_text`), unless
its entries look like ids: such a column is left out. A missing number becomes the mean of its column. Text makes the
features sparse, and numbers beside it are standardised, since its weights are at most 1.

`fit_columns` learns from a table how each column is encoded; `encode_columns` encodes another table so. There, a
missing number becomes the mean of the first table, and a new word is in none of the columns.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.tables.delimited import MISSING, Origin
from hiergcn.graph.tables.free_text import MOST_WORDS, encode_words, fit_words, looks_like_ids
from hiergcn.graph.tables.text_columns import as_text, factorized

MOST_CATEGORIES = 50
"""A text column with more distinct values is free text or ids, not a category."""
STRUCTURAL, TEXT, DATE = "structural", "text", "date"
ISO_DATE = r"\s*\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\s*"
COMMA_NUMBER = r"\s*[-+]?\d+(?:,\d+)?\s*"
THOUSANDS = r"\s*[-+]?\d{1,3}(?:,\d{3})?\s*"
"""Numbers such as 1,234: in a column of these alone, the comma may mean thousands or decimals."""
WITH_UNIT = r"^\s*[-+]?\d[\d.,]*\s*([^\d\s]{1,10})\s*$"
MOST_UNITS = 3
LARGEST = 1e19
"""Largest feature: the square of a larger one is infinite in single precision."""
TRUTH = {"true": 1.0, "false": 0.0}

Block: TypeAlias = NDArray[np.float64] | sp.csr_array
"""The features that a column becomes, (n,) or (n, width)."""


@dataclass(frozen=True)
class FeatureColumn:
    """How a column of a table is encoded."""

    name: str
    kind: str
    """number, boolean, date, category, text, id or empty (both left out), or structural: made from the edges."""
    width: int
    """The number of feature columns that it becomes."""
    missing: int
    constant: bool
    """Whether all known values are the same."""
    mean: float | None = None
    """Replaces missing numbers."""
    values: tuple[str, ...] = ()
    """The values of a category or the words of a text; each becomes a feature column."""
    decimal_comma: bool = False
    """Whether numbers are written as 2,5."""
    weights: tuple[float, ...] = ()
    """The inverse document frequency of each word of a text."""
    spread: float | None = None
    """Standard deviation that numbers beside text are divided by, after the mean is subtracted; None keeps them."""

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """Return the column that `dataclasses.asdict` turned into plain values, perhaps by way of JSON."""
        lists = {name: tuple(saved[name]) for name in ("values", "weights") if name in saved}
        return cls(**(dict(saved) | lists))

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the feature columns."""
        if self.kind == "category":
            return tuple(f"{self.name}={value}" for value in self.values)
        if self.kind == TEXT:
            return tuple(f"{self.name}: {word}" for word in self.values)
        return (self.name,) if self.width == 1 else tuple(f"{self.name} {k}" for k in range(self.width))

    @property
    def blank(self) -> NDArray[np.float64]:
        """The features of a missing value."""
        return np.full(self.width, 0.0 if self.mean is None or self.spread is not None else self.mean)

    @property
    def note(self) -> str | None:
        """What a user may not expect of the encoding."""
        if self.kind == "empty":
            return f"column {self.name!r} is empty and was left out"
        if self.kind == "id":
            return f"column {self.name!r} was left out: its entries look like ids, hardly any word occurs twice"
        if self.kind == "category":
            return f"column {self.name!r} became {self.width} columns, one for each of its values"
        if self.kind == TEXT:
            limit = ", the limit" if self.width == MOST_WORDS else ""
            return f"column {self.name!r} is free text and became TF-IDF weights of {self.width:,} words{limit}"
        notes = [f"column {self.name!r} holds dates and became days since 1970"] if self.kind == DATE else []
        notes += [f"missing values of column {self.name!r} set to its mean: {self.missing:,}"] if self.missing else []
        notes += [f"commas in column {self.name!r} were read as decimal points"] if self.decimal_comma else []
        return "; ".join(notes) or None


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """The features that the columns of a table became."""

    matrix: Block | None
    """(n, features); None if there are none."""
    columns: tuple[FeatureColumn, ...] = ()
    missing: NDArray[np.bool_] | None = None
    """(n, columns): where a number is missing; None if none is."""
    texts: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """The entries of columns of text and dates, None if missing: another table may choose other words."""
    notes: tuple[str, ...] = ()

    def with_blank_rows(self, extra: int) -> "FeatureTable":
        """Return the features with additional rows of missing values."""
        if not extra or self.matrix is None:
            return self
        rows = np.tile(np.concatenate([column.blank for column in self.columns]), (extra, 1))
        matrix = _stacked(self.matrix, rows)
        shape = self.matrix.shape[0], len(self.columns)
        missing = np.zeros(shape, bool) if self.missing is None else self.missing
        return replace(
            self,
            matrix=matrix,
            missing=np.vstack([missing, np.ones((extra, shape[1]), bool)]),
            texts={name: np.append(texts, np.full(extra, None)) for name, texts in self.texts.items()},
        )


def _stacked(matrix: Block, rows: NDArray[np.float64]) -> Block:
    if isinstance(matrix, np.ndarray):
        return np.vstack([matrix, rows])
    return sp.csr_array(sp.vstack([matrix, sp.csr_array(rows)], format="csr"))


def read_features(table: pd.DataFrame, origin: Origin, known: Sequence[FeatureColumn] | None = None) -> FeatureTable:
    """Return the features of a table of any values.

    `known` are the columns of another table, by which these are encoded; other columns are ignored then.
    """
    if known is None:
        cells = _cells(table)
        matrix, columns = fit_columns(cells, origin)
        notes = notes_on(columns)
    else:
        wanted = {column.name for column in known}
        cells = _cells(table[[name for name in table.columns if name in wanted]])
        matrix, notes = encode_columns(cells, origin, known)
        columns = list(known)
    texts = {one.name: as_text(cells[one.name]).to_numpy() for one in columns if one.kind in (TEXT, DATE, "id")}
    missing = None if matrix is None else missing_numbers(cells, columns)
    return FeatureTable(matrix, tuple(columns), missing, texts, tuple(notes))


def _cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table without blanks around its texts and without the usual words for a missing value."""
    texts = [name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name])]
    bare = {name: _bare_texts(table[name]) for name in texts if table[name].dtype.kind not in "mM"}
    return table.assign(**{name: column for name, column in bare.items() if column is not None})


def _bare_texts(column: "pd.Series[Any]") -> "pd.Series[Any] | None":
    """Return the column without blanks and words for a missing value; None if it has neither."""
    if isinstance(column.dtype, pd.StringDtype):
        stripped = column.str.strip()
        absent = stripped.isin(MISSING)
        if absent.any():
            return stripped.astype(object).mask(absent, None)
        return None if stripped.equals(column) else stripped
    code, distinct = factorized(column)
    values = list(distinct)
    bare = [cell.strip() if isinstance(cell, str) else cell for cell in values]
    bare = [None if isinstance(cell, str) and cell in MISSING else cell for cell in bare]
    if all(new is old for new, old in zip(bare, values, strict=True)):
        return None
    cells = np.empty(len(bare) + 1, object)
    cells[:-1] = bare
    return pd.Series(cells[code], index=column.index, name=column.name)


def fit_columns(table: pd.DataFrame, origin: Origin) -> tuple[Block | None, list[FeatureColumn]]:
    """Return the features of a table, None if it has none, and how each column was encoded."""
    found = [_fit(table[name], origin) for name in table.columns]
    if any(column.kind == TEXT for _, column in found):
        found = [_beside_text(block, column) for block, column in found]
    return _joined([block for block, _ in found if block is not None]), [column for _, column in found]


def encode_columns(
    table: pd.DataFrame, origin: Origin, columns: Sequence[FeatureColumn]
) -> tuple[Block | None, list[str]]:
    """Encode another table as the first one was, and return notes on its new values.

    The table must have every column that became features; other columns are ignored.
    """
    used = [column for column in columns if column.width]
    absent = [column.name for column in used if column.name not in table.columns]
    if absent:
        more = f" ({len(absent):,} such columns)" if len(absent) > 1 else ""
        raise InputError(f"{origin} has no column {absent[0]!r:.80}, which the model was trained on; add it{more}.")
    notes: list[str] = []

    def block(column: FeatureColumn) -> Block:
        if column.kind == TEXT:
            return encode_words(table[column.name], column.values, column.weights)
        if column.kind == "category":
            return _encode_category(table[column.name], column, notes)
        return _encode_number(table[column.name], column, origin)

    return _joined([block(column) for column in used]), notes


def missing_numbers(table: pd.DataFrame, columns: Sequence[FeatureColumn]) -> NDArray[np.bool_] | None:
    """Return where a number of the table is missing, and was replaced by a mean; (n, columns), None if none is."""
    kinds = ("number", "boolean", DATE)
    numeric = {place: column.name for place, column in enumerate(columns) if column.kind in kinds}
    blank = {place: table[name].isna().to_numpy() for place, name in numeric.items() if table[name].hasnans}
    if not blank:
        return None
    missing = np.zeros((len(table), len(columns)), bool)
    for place, where in blank.items():
        missing[:, place] = where
    return missing


def decode_columns(features: FeatureTable) -> pd.DataFrame:
    """Return the table that the features were made of, without its empty columns."""
    assert features.matrix is not None
    kept = [column.name for column in features.columns if column.width or column.name in features.texts]
    table = {name: decoded_column(features, name) for name in kept}
    return pd.DataFrame(table, index=range(features.matrix.shape[0]))


def decoded_column(features: FeatureTable, name: str) -> Any:
    """Return a column, (n,), that features were made of; a missing number is NaN."""
    if name in features.texts:
        return features.texts[name]
    place = next(place for place, column in enumerate(features.columns) if column.name == name)
    column, first = features.columns[place], sum(before.width for before in features.columns[:place])
    matrix: Any = features.matrix
    block = matrix[:, first : first + column.width]
    missing = None if features.missing is None else features.missing[:, place]
    return _decoded(block if isinstance(block, np.ndarray) else block.toarray(), column, missing)


def _decoded(block: NDArray[Any], column: FeatureColumn, missing: NDArray[np.bool_] | None) -> Any:
    if column.kind == "category":
        code = np.where(block.any(axis=1), block.argmax(axis=1), -1)
        return np.array([*column.values, None], dtype=object)[code]
    values = block[:, 0]
    if column.spread is not None and column.mean is not None:
        values = values * column.spread + column.mean
    known = values if missing is None else np.where(missing, np.nan, values)
    return known if column.kind == "number" else pd.Series(known).map({1.0: True, 0.0: False})


def unnamed(n_features: int) -> list[str]:
    """Return the names of features that have none."""
    return [f"x{k}" for k in range(n_features)]


def number_columns(names: Iterable[str]) -> list[FeatureColumn]:
    """Return columns of numbers, none of them missing, by their names."""
    return [FeatureColumn(name, "number", 1, missing=0, constant=False) for name in names]


def notes_on(columns: Sequence[FeatureColumn]) -> list[str]:
    """Return notes on columns that were read in a way the user may not expect."""
    return [column.note for column in columns if column.note is not None]


def numbers(column: "pd.Series[Any]", origin: Origin) -> NDArray[np.float64]:
    """Return a column in which every entry must be a number."""
    values = np.asarray(floats(column), np.float64)
    wrong = np.flatnonzero(np.isnan(values))
    if wrong.size:
        entry = column.iloc[wrong[0]]
        found = "nothing" if pd.isna(entry) else repr(entry)
        raise InputError(f"{origin.at(wrong[0], column.name)}: {found:.80} instead of a number; correct it.")
    return values


def _joined(blocks: Sequence[Block]) -> Block | None:
    """Return the blocks side by side: sparse if one of them is, None if there are none."""
    if not blocks:
        return None
    dense = [block for block in blocks if isinstance(block, np.ndarray)]
    if len(dense) == len(blocks):
        return np.column_stack(dense)
    columns = [block.reshape(len(block), -1) if isinstance(block, np.ndarray) else block for block in blocks]
    return sp.csr_array(sp.hstack([sp.csr_array(block) for block in columns], format="csr"))


def _beside_text(block: Block | None, column: FeatureColumn) -> tuple[Block | None, FeatureColumn]:
    """Standardise a column of numbers, so that its unit does not drown the words; others stay."""
    if column.kind not in ("number", DATE) or column.mean is None or not isinstance(block, np.ndarray):
        return block, column
    scaled = replace(column, spread=float(block.std()) or 1.0)
    return _standardised(block, scaled), scaled


def _standardised(values: NDArray[np.float64], column: FeatureColumn) -> NDArray[np.float64]:
    return values if column.spread is None or column.mean is None else (values - column.mean) / column.spread


def _fit(column: "pd.Series[Any]", origin: Origin) -> tuple[Block | None, FeatureColumn]:
    name = str(column.name)
    if column.isna().all():
        return None, FeatureColumn(name, "empty", 0, len(column), True)
    if pd.api.types.is_bool_dtype(column):
        return _fit_number(column.astype(np.float64).to_numpy(), name, "boolean", origin)
    if column.dtype.kind == "c":
        raise InputError(f"{origin}, column {name!r:.80}: complex numbers; give real and imaginary parts apart.")
    if pd.api.types.is_numeric_dtype(column):
        return _fit_number(column.astype(np.float64).to_numpy(), name, "number", origin)
    column = as_text(column) if column.dtype.kind in "mM" else column
    known = column.dropna().astype(str)
    if known.iloc[:9].str.fullmatch(ISO_DATE).all() and known.str.fullmatch(ISO_DATE).all():
        days = _days(column)
        if np.count_nonzero(~np.isnan(days)) == len(known):
            return _fit_number(days, name, DATE, origin)
    words = set(known.str.lower().unique())
    if words <= set(TRUTH):
        return _fit_number(_truth(column), name, "boolean", origin)
    values = floats(column)
    if int(values.notna().sum()) == len(known):  # decimal commas, or whole numbers too large for the reader
        return _fit_number(values.to_numpy(), name, "number", origin, _has_decimal_commas(column))
    if len(words) > MOST_CATEGORIES or known.str.fullmatch(COMMA_NUMBER).all():
        _check_not_numbers(column, values.notna().to_numpy(), origin)
        return _fit_text(column, known)
    categories = tuple(sorted(set(as_text(column).dropna())))
    code = _codes(column, categories)
    missing = int(np.count_nonzero(code < 0))
    described = FeatureColumn(name, "category", len(categories), missing, len(categories) == 1, values=categories)
    return _one_hot(code, categories), described


def _fit_text(column: "pd.Series[Any]", known: "pd.Series[Any]") -> tuple[Block | None, FeatureColumn]:
    name, missing = str(column.name), len(column) - len(known)
    words, weights = ((), ()) if looks_like_ids(known) else fit_words(column)
    if not words:
        return None, FeatureColumn(name, "id", 0, missing, False)
    described = FeatureColumn(name, TEXT, len(words), missing, False, values=words, weights=weights)
    return encode_words(column, words, weights), described


def _fit_number(
    values: NDArray[np.floating[Any]], name: str, kind: str, origin: Origin, decimal_comma: bool = False
) -> tuple[NDArray[np.float64], FeatureColumn]:
    large = np.flatnonzero(np.abs(values) > LARGEST)
    if large.size:
        where, value = origin.at(large[0], name), values[large[0]]
        if np.isinf(value):
            raise InputError(f"{where}: the value is infinite; leave it blank if it is unknown.")
        raise InputError(f"{where}: {value:g} is too large to learn from; rescale the column, or leave it blank.")
    missing = np.isnan(values)
    known = values[~missing] if missing.any() else values
    mean = float(known.mean())
    constant = bool((known == known[0]).all())
    described = FeatureColumn(name, kind, 1, int(missing.sum()), constant, mean, decimal_comma=decimal_comma)
    filled = values if known is values else np.where(missing, mean, values)
    return filled.astype(np.float64, copy=False), described


def _encode_number(column: "pd.Series[Any]", known: FeatureColumn, origin: Origin) -> NDArray[np.float64]:
    values = _days(column) if known.kind == DATE else floats(column, known.decimal_comma).to_numpy(np.float64)
    if known.kind == "boolean":
        truth = _truth(column)
        values = np.where(np.isnan(truth), values, truth)
    wrong = np.flatnonzero((np.isnan(values) & column.notna().to_numpy()) | (np.abs(values) > LARGEST))
    if wrong.size:
        where, found = origin.at(wrong[0], known.name), str(column.iloc[wrong[0]])
        trained = f"but the model was trained on a {known.kind}"
        raise InputError(f"{where}: {found!r:.80}, {trained}; correct it or leave it blank.")
    filled = np.where(np.isnan(values), 0.0 if known.mean is None else known.mean, values).astype(np.float64)
    return _standardised(filled, known)


def _encode_category(column: "pd.Series[Any]", known: FeatureColumn, notes: list[str]) -> NDArray[np.float64]:
    code = _codes(column, known.values)
    unseen = column[(code < 0) & column.notna().to_numpy()]
    if len(unseen):
        notes.append(
            f"values of column {known.name!r} that the model has not seen, such as {str(unseen.iloc[0])!r:.60}, are "
            f"encoded as none of its categories: {len(unseen):,}"
        )
    return _one_hot(code, known.values)


def _codes(column: "pd.Series[Any]", categories: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the category of each entry; -1 if it is missing or new."""
    known = pd.Index(categories, dtype=object).str.strip()  # models of older versions kept blanks
    if not known.is_unique:
        known = pd.Index(categories, dtype=object)
    return known.get_indexer(pd.Index(as_text(column), dtype=object)).astype(np.int64)


def _one_hot(code: NDArray[np.int64], categories: tuple[str, ...]) -> NDArray[np.float64]:
    one_hot: NDArray[np.float64] = np.eye(len(categories) + 1)[code, :-1]
    return one_hot


def _truth(column: "pd.Series[Any]") -> NDArray[np.float64]:
    """Return 1 for true, 0 for false, in any case, and NaN for anything else."""
    return np.asarray(column.astype(str).str.strip().str.lower().map(TRUTH), np.float64)


def _days(column: "pd.Series[Any]") -> NDArray[np.float64]:
    """Return dates as days since 1970, NaN for entries that are none."""
    texts = as_text(column).astype(object)
    times = pd.to_datetime(texts, format="ISO8601", utc=True, errors="coerce")
    days = times - pd.Timestamp(0, unit="s", tz="UTC").as_unit(times.dt.unit)  # nanoseconds hold no year 9999
    return np.asarray(days / pd.Timedelta(days=1), np.float64)


def floats(column: "pd.Series[Any]", decimal_comma: bool = False) -> "pd.Series[float]":
    """Return numbers, NaN for entries that are none, and infinity for those too large for a float.

    Commas are decimal ones if the caller knows that or the entries show it.
    """
    if column.dtype.kind in "mM":  # dates and durations, whose numbers would be nanoseconds
        return pd.Series(np.nan, index=column.index)
    if not pd.api.types.is_numeric_dtype(column) and (decimal_comma or _has_decimal_commas(column)):
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


def _has_decimal_commas(column: "pd.Series[Any]") -> bool:
    """Return whether every entry is a number, some with a comma that cannot mean thousands, such as 2,5."""
    texts = column.dropna().astype(str)
    return bool(
        texts.str.contains(",", regex=False).any()
        and texts.str.fullmatch(COMMA_NUMBER).all()
        and not texts.str.fullmatch(THOUSANDS).all()
    )


def _check_not_numbers(column: "pd.Series[Any]", numeric: NDArray[np.bool_], origin: Origin) -> None:
    """Refuse a column that is meant to hold numbers, but has entries that are none."""
    known = column.notna().to_numpy()
    texts = column[known].astype(str)
    whole = f"{origin}, column {str(column.name)!r:.80}"
    with_comma = texts[texts.str.fullmatch(r"\s*[-+]?[\d.]*,\d+\s*")]
    if len(with_comma) > 0.5 * len(texts):
        example, remedy = with_comma.iloc[0], "write decimals with a point, thousands without"
        raise InputError(f"{whole}: commas in numbers, such as {example!r:.60}; {remedy}.")
    units = texts.str.extract(WITH_UNIT, expand=False).dropna()
    if len(units) > 0.5 * len(texts) and units.nunique() <= MOST_UNITS:
        example = texts[units.index[0]]
        raise InputError(f"{whole}: numbers with units, such as {example!r:.60}; write the numbers alone.")
    if np.count_nonzero(numeric) > np.count_nonzero(known & ~numeric):
        position = int(np.flatnonzero(known & ~numeric)[0])
        where, entry = origin.at(position, column.name), str(column.iloc[position])
        raise InputError(f"{where}: {entry!r:.80} in a column of numbers; correct it or leave it blank.")
