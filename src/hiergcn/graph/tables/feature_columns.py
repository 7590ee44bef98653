"""Kinds of feature columns: how each recognises its cells, encodes them as numbers, decodes them, and is described.

Numbers and booleans stay, and dates become days. A column of words with at most 50 distinct values is a category and
becomes a column for each value. With more it is free text and becomes TF-IDF weights of its words, unless its entries
look like ids: such a column is left out. A missing number becomes the mean of its column. Beside text numbers are
standardised, since its weights are at most 1.

A new kind is a class here, with its place in `KINDS`.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.tables.text_columns import Origin, as_text

MOST_CATEGORIES = 50
"""A text column with more distinct values is free text or ids, not a category."""
MOST_WORDS = 2_000
"""Most feature columns made from one text column."""
ID_SHARE = 0.95
"""Share of distinct entries, and of entries without a space, above which a column of words counts as ids."""
STRUCTURAL, TEXT = "structural", "text"
ISO_DATE = r"\s*\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\s*"
COMMA_NUMBER = r"\s*[-+]?\d+(?:,\d+)?\s*"
THOUSANDS = r"\s*[-+]?\d{1,3}(?:,\d{3})?\s*"
"""Numbers such as 1,234: in a column of these alone, the comma may mean thousands or decimals."""
WITH_UNIT = r"^\s*[-+]?\d[\d.,]*\s*([^\d\s]{1,10})\s*$"
MOST_UNITS = 3
MOST_NUMBERS, FEWEST_NUMBERS = 0.8, 6
"""Share of numbers, and how many different ones, from which on a column of few entries is no category."""
LARGEST = 1e19
"""Largest feature: the square of a larger one is infinite in single precision."""
TRUTH = {"true": 1.0, "false": 0.0}

Block: TypeAlias = NDArray[np.float64] | sp.csr_array
"""The features that a column becomes, (n,) or (n, width)."""


@dataclass(frozen=True, eq=False)
class Cells:
    """A column that is to be recognised, and what several kinds ask of it."""

    column: "pd.Series[Any]"
    origin: Origin

    @cached_property
    def known(self) -> "pd.Series[str]":
        return self.column.dropna().astype(str)

    @cached_property
    def words(self) -> set[str]:
        return set(self.known.str.lower().unique())

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        return np.asarray(floats(self.column), np.float64)


@dataclass(frozen=True)
class FeatureColumn:
    """How a column of a table is encoded; its subclasses are the kinds."""

    name: str
    kind: str = field(init=False, default="")
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

    is_number: ClassVar[bool] = False
    """Whether a missing value is a missing number."""
    is_word: ClassVar[bool] = False
    """Whether entries are read as they are written, even if they look like numbers."""
    is_scaled: ClassVar[bool] = False
    """Whether numbers are standardised beside text, so that their unit does not drown the words."""
    keeps_entries: ClassVar[bool] = False
    """Whether a graph keeps the entries beside their features: another table may choose other words."""
    joint: ClassVar[str] = " "
    """Between the name of the column and what each of its features stands for."""
    about: ClassVar[str] = ""
    """What a user may not expect of the encoding."""
    becomes: ClassVar[str] = "{size} ({kind})"
    instead_of_missing: ClassVar[str] = "the column's mean"
    """What the column and a missing value in it become, for `hiergcn check`."""

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "FeatureColumn":
        """Return the column that `dataclasses.asdict` turned into plain values, perhaps by way of JSON."""
        given = dict(saved) | {name: tuple(saved[name]) for name in ("values", "weights") if name in saved}
        return {kind.kind: kind for kind in KINDS}[given.pop("kind")](**given)

    @classmethod
    def fit(cls, cells: Cells) -> "Fitted | None":  # noqa: ARG003
        """Return the features of a column and how it was encoded; None if it is of another kind."""
        return None

    def encode(self, column: "pd.Series[Any]", origin: Origin, notes: list[str]) -> Block:
        """Return the features of another table's column; new values are noted."""
        raise NotImplementedError

    def decode(self, block: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        """Return the entries, (n,), that features were made of, (n, width), with NaN for missing numbers."""
        raise NotImplementedError

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the feature columns."""
        if self.width == 1 and not self.values:
            return (self.name,)
        return tuple(f"{self.name}{self.joint}{value}" for value in self.values or range(self.width))

    @property
    def note(self) -> str | None:
        """What a user may not expect of the encoding of this column."""
        limit = ", the limit" if self.width == MOST_WORDS else ""
        notes = [self.about.format(name=self.name, width=self.width, limit=limit)] if self.about else []
        if self.is_number and self.missing:
            notes.append(f"missing values of column {self.name!r} set to its mean: {self.missing:,}")
        if self.decimal_comma:
            notes.append(f"commas in column {self.name!r} were read as decimal points")
        return "; ".join(notes) or None


Fitted: TypeAlias = tuple[Block | None, FeatureColumn]


class Structural(FeatureColumn):
    """Features made from the edges."""

    kind = STRUCTURAL


class Empty(FeatureColumn):
    kind = "empty"
    about = "column {name!r} is empty and was left out"
    becomes = "nothing: it is empty"

    @classmethod
    def fit(cls, cells: Cells) -> Fitted | None:
        column = cells.column
        return (None, cls(str(column.name), 0, len(column), True)) if column.isna().all() else None


class Number(FeatureColumn):
    kind = "number"
    is_number = is_scaled = True

    @classmethod
    def fit(cls, cells: Cells) -> Fitted | None:
        values, name = cls._recognised(cells), str(cells.column.name)
        if values is None:
            return None
        large = np.flatnonzero(np.abs(values) > LARGEST)
        if large.size:
            where, value = cells.origin.at(large[0], name), values[large[0]]
            if np.isinf(value):
                raise InputError(f"{where}: the value is infinite; leave it blank if it is unknown.")
            raise InputError(f"{where}: {value:g} is too large to learn from; rescale the column, or leave it blank.")
        missing = np.isnan(values)
        known = values[~missing] if missing.any() else values
        mean, constant = float(known.mean()), bool((known == known[0]).all())
        comma = not pd.api.types.is_numeric_dtype(cells.column) and has_decimal_commas(cells.column)
        column = cls(name, 1, int(missing.sum()), constant, mean, decimal_comma=comma)
        return np.asarray(values if known is values else np.where(missing, mean, values), np.float64), column

    @classmethod
    def _recognised(cls, cells: Cells) -> NDArray[np.floating[Any]] | None:
        """Return the numbers in a column, NaN if missing; None if it is of another kind."""
        column = cells.column
        if column.dtype.kind == "c":
            where = f"{cells.origin}, column {str(column.name)!r:.80}"
            raise InputError(f"{where}: complex numbers; give real and imaginary parts apart.")
        if pd.api.types.is_numeric_dtype(column):
            return column.astype(np.float64).to_numpy()
        # decimal commas, or whole numbers too large for the reader
        return cells.numbers if np.count_nonzero(~np.isnan(cells.numbers)) == len(cells.known) else None

    def encode(self, column: "pd.Series[Any]", origin: Origin, notes: list[str]) -> Block:
        values = self._numbers(column)
        wrong = np.flatnonzero((np.isnan(values) & column.notna().to_numpy()) | (np.abs(values) > LARGEST))
        if wrong.size:
            where, entry = origin.at(wrong[0], self.name), str(column.iloc[wrong[0]])
            trained = f"but the model was trained on a {self.kind}"
            raise InputError(f"{where}: {entry!r:.80}, {trained}; correct it or leave it blank.")
        filled = np.where(np.isnan(values), 0.0 if self.mean is None else self.mean, values).astype(np.float64)
        return filled if self.spread is None or self.mean is None else (filled - self.mean) / self.spread

    def _numbers(self, column: "pd.Series[Any]") -> NDArray[np.float64]:
        return np.asarray(floats(column, self.decimal_comma), np.float64)

    def decode(self, block: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        values = block[:, 0]
        if self.spread is not None and self.mean is not None:
            values = values * self.spread + self.mean
        return values if missing is None else np.where(missing, np.nan, values)


class Boolean(Number):
    kind = "boolean"
    is_scaled = False

    @classmethod
    def _recognised(cls, cells: Cells) -> NDArray[np.floating[Any]] | None:
        column = cells.column
        if pd.api.types.is_bool_dtype(column):
            return column.astype(np.float64).to_numpy()
        is_truth = not pd.api.types.is_numeric_dtype(column) and cells.words <= set(TRUTH)
        return cls._truth(column) if is_truth else None

    @staticmethod
    def _truth(column: "pd.Series[Any]") -> NDArray[np.float64]:
        """Return 1 for true, 0 for false, in any case, and NaN for anything else."""
        return np.asarray(column.astype(str).str.strip().str.lower().map(TRUTH), np.float64)

    def _numbers(self, column: "pd.Series[Any]") -> NDArray[np.float64]:
        truth, numbers = self._truth(column), super()._numbers(column)
        return np.where(np.isnan(truth) & np.isin(numbers, (0, 1)), numbers, truth)

    def decode(self, block: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        return pd.Series(super().decode(block, missing)).map({1.0: True, 0.0: False})


class Date(Number):
    kind = "date"
    about = "column {name!r} holds dates and became days since 1970"
    becomes = "{size} (date: days since 1970)"
    keeps_entries = True

    @classmethod
    def _recognised(cls, cells: Cells) -> NDArray[np.floating[Any]] | None:
        known = cells.known
        if not known.iloc[:9].str.fullmatch(ISO_DATE).all() or not known.str.fullmatch(ISO_DATE).all():
            return None
        days = cls._days(cells.column)
        return days if np.count_nonzero(~np.isnan(days)) == len(known) else None

    @staticmethod
    def _days(column: "pd.Series[Any]") -> NDArray[np.float64]:
        """Return dates as days since 1970, NaN for entries that are none."""
        times = pd.to_datetime(as_text(column).astype(object), format="ISO8601", utc=True, errors="coerce")
        days = times - pd.Timestamp(0, unit="s", tz="UTC").as_unit(times.dt.unit)  # nanoseconds hold no year 9999
        return np.asarray(days / pd.Timedelta(days=1), np.float64)

    def _numbers(self, column: "pd.Series[Any]") -> NDArray[np.float64]:
        return self._days(column)


class Text(FeatureColumn):
    """Free text as TF-IDF weights of its words, by scikit-learn's `TfidfVectorizer` with its usual settings.

    Words are runs of at least two letters or digits in lower case. Those that two rows or more have, but not all rows,
    are candidates; the `MOST_WORDS` in most rows become columns.
    """

    kind = TEXT
    joint = ": "
    about = "column {name!r} is free text and became TF-IDF weights of {width:,} words{limit}"
    becomes = "{size} (free text: TF-IDF weights of its words)"
    keeps_entries = True
    instead_of_missing = "no words"

    @classmethod
    def fit(cls, cells: Cells) -> Fitted | None:
        known, name = cells.known, str(cells.column.name)
        if len(cells.words) <= MOST_CATEGORIES and not known.str.fullmatch(COMMA_NUMBER).all():
            return None
        _check_not_numbers(cells)
        from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

        missing = len(cells.column) - len(known)
        is_single = ~known.str.strip().str.contains(r"\s", regex=True)
        words: list[str] = []
        if known.nunique() < ID_SHARE * len(known) or is_single.mean() < ID_SHARE:
            counter = CountVectorizer(binary=True)
            with suppress(ValueError):  # there are no words at all
                rows = counter.fit_transform(known).sum(axis=0).A1
                order = np.argsort(-rows, kind="stable")  # of words in equally many rows, the first by the alphabet
                shared = np.sort(order[(rows[order] >= 2) & (rows[order] < len(known))][:MOST_WORDS])
                words = [str(word) for word in counter.get_feature_names_out()[shared]]
        if not words:
            return None, Id(name, 0, missing, False)
        weights = tuple(map(float, TfidfVectorizer(vocabulary=words).fit(known).idf_))
        column = cls(name, len(words), missing, False, values=tuple(words), weights=weights)
        return column.encode(cells.column, cells.origin, []), column

    def encode(self, column: "pd.Series[Any]", origin: Origin, notes: list[str]) -> Block:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectoriser = TfidfVectorizer(vocabulary=list(self.values))
        vectoriser.idf_ = np.array(self.weights)
        return sp.csr_array(vectoriser.transform(column.astype(object).where(column.notna(), "").astype(str)))


class Id(FeatureColumn):
    """Words that hardly ever occur twice: ids, links, hashes. `Text` recognises them."""

    kind = "id"
    about = "column {name!r} was left out: its entries look like ids, hardly any word occurs twice"
    becomes = "nothing: its entries look like ids"
    keeps_entries = True
    instead_of_missing = "nothing"


class Category(FeatureColumn):
    kind = "category"
    joint = "="
    about = "column {name!r} became {width} columns, one for each of its values"
    is_word = True
    instead_of_missing = "none of its categories"

    @classmethod
    def fit(cls, cells: Cells) -> Fitted:
        _check_not_numbers(cells)
        column = cells.column
        values = tuple(sorted(set(as_text(column).dropna())))
        category = cls(str(column.name), len(values), int(column.isna().sum()), len(values) == 1, values=values)
        return category.encode(column, cells.origin, []), category

    def encode(self, column: "pd.Series[Any]", origin: Origin, notes: list[str]) -> Block:
        known = pd.Index(self.values, dtype=object)
        code = known.get_indexer(pd.Index(as_text(column), dtype=object))  # -1 if it is missing or new
        unseen = column[(code < 0) & column.notna().to_numpy()]
        if len(unseen):
            notes.append(
                f"values of column {self.name!r} that the model has not seen, such as {str(unseen.iloc[0])!r:.60}, are "
                f"encoded as none of its categories: {len(unseen):,}"
            )
        one_hot: NDArray[np.float64] = np.eye(len(self.values) + 1)[code, :-1]
        return one_hot

    def decode(self, block: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        code = np.where(block.any(axis=1), block.argmax(axis=1), -1)
        return np.array([*self.values, None], dtype=object)[code]


KINDS: tuple[type[FeatureColumn], ...] = (Empty, Boolean, Number, Date, Text, Category, Id, Structural)
"""In the order in which a column is recognised."""


def fit_column(column: "pd.Series[Any]", origin: Origin) -> Fitted:
    """Return the features of a column, None if it is left out, and how it was encoded."""
    cells = Cells(as_text(column) if column.dtype.kind in "mM" else column, origin)
    return next(fitted for kind in KINDS if (fitted := kind.fit(cells)) is not None)


def number_columns(names: Iterable[str]) -> list[FeatureColumn]:
    """Return columns of numbers, none of them missing, by their names."""
    return [Number(name, 1, missing=0, constant=False) for name in names]


def unnamed(n_features: int) -> list[str]:
    """Return the names of features that have none."""
    return [f"x{k}" for k in range(n_features)]


def floats(column: "pd.Series[Any]", decimal_comma: bool = False) -> "pd.Series[float]":
    """Return numbers, NaN for entries that are none, and infinity for those too large for a float.

    Commas are decimal ones if the caller knows that or the entries show it.
    """
    if column.dtype.kind in "mM":  # dates and durations, whose numbers would be nanoseconds
        return pd.Series(np.nan, index=column.index)
    if not pd.api.types.is_numeric_dtype(column) and (decimal_comma or has_decimal_commas(column)):
        column = column.astype(str).str.replace(",", ".", regex=False).where(column.notna())
    try:
        return pd.to_numeric(column, errors="coerce").astype(np.float64)
    except OverflowError:  # whole numbers of hundreds of digits
        return pd.to_numeric(column.astype(str).where(column.notna()), errors="coerce").astype(np.float64)


def has_decimal_commas(column: "pd.Series[Any]") -> bool:
    """Return whether every entry is a number, some with a comma that cannot mean thousands, such as 2,5."""
    texts = column.dropna().astype(str)
    return bool(
        texts.str.contains(",", regex=False).any()
        and texts.str.fullmatch(COMMA_NUMBER).all()
        and not texts.str.fullmatch(THOUSANDS).all()
    )


def _check_not_numbers(cells: Cells) -> None:
    """Refuse a column that is meant to hold numbers, but has entries that are none.

    Few different entries may be categories, such as 1, 2, 3 and 4+: then nearly all must be numbers, and several.
    """
    column, texts, n = cells.column, cells.known, len(cells.known)
    most, different = (0.5, 0) if len(cells.words) > MOST_CATEGORIES else (MOST_NUMBERS, FEWEST_NUMBERS)
    whole = f"{cells.origin}, column {str(column.name)!r:.80}"
    with_comma = texts[texts.str.fullmatch(r"\s*[-+]?[\d.]*,\d+\s*")]
    if len(with_comma) > most * n and (len(with_comma) == n or with_comma.nunique() >= different):
        example, remedy = with_comma.iloc[0], "write decimals with a point, thousands without"
        raise InputError(f"{whole}: commas in numbers, such as {example!r:.60}; {remedy}.")
    units = texts.str.extract(WITH_UNIT, expand=False).dropna()
    if len(units) > most * n and units.nunique() <= MOST_UNITS and texts[units.index].nunique() >= different:
        example = texts[units.index[0]]
        raise InputError(f"{whole}: numbers with units, such as {example!r:.60}; write the numbers alone.")
    is_number = ~np.isnan(cells.numbers) | column.index.isin(with_comma.index)
    if np.count_nonzero(is_number) > most * n and column[is_number].nunique() >= different:
        row = int(np.flatnonzero(column.notna().to_numpy() & np.isnan(cells.numbers))[0])
        where, entry = cells.origin.at(row, column.name), str(column.iloc[row])
        raise InputError(f"{where}: {entry!r:.80} in a column of numbers; correct it or leave it blank.")
