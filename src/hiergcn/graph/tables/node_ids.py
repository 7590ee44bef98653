"""Columns of ids: whole numbers, or text, without a Python object for each row.

Ids are compared as text, without blanks around them. If all of a column are whole numbers in their usual form, so that
7 is one and 007 is not, they are held as such; else they are Arrow strings. Millions of rows take a second or two.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hiergcn.graph.tables.text_columns import as_text
from hiergcn.graph.tables.text_lookup import WIDEST, TextLookup, buffers, is_dense

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

MANY = 100_000
"""Number of texts above which our own hash table is used. Arrow's is slower, but needs no compilation."""
DENSE = 16
"""Whole numbers whose range is at most this multiple of their count are looked up in an array, not a hash table."""


@dataclass(frozen=True, eq=False)
class IdColumn:
    """The id of each row."""

    values: "NDArray[np.int64] | pa.ChunkedArray"
    """Whole numbers; or strings, null if blank."""

    @classmethod
    def of(cls, column: "pd.Series[Any] | pa.ChunkedArray", *, trimmed: bool = False) -> "IdColumn":
        """Read a column of any values; `trimmed` promises that there are no blanks around texts."""
        found = _from_series(column) if isinstance(column, pd.Series) else _from_arrow(column)
        if isinstance(found, np.ndarray):
            return cls(found)
        strings = _without_blanks(found, trimmed)
        whole = _whole_numbers(strings)
        return cls(strings if whole is None else whole)

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def strings(self) -> "pa.ChunkedArray":
        """The ids as text."""
        import pyarrow as pa

        if not isinstance(self.values, np.ndarray):
            return self.values
        return pa.chunked_array([pa.array(self.values).cast(pa.large_string())])

    def text(self, row: int | np.integer[Any]) -> str:
        value = self.values[int(row)]
        return str(value) if isinstance(self.values, np.ndarray) else str(value.as_py())

    def to_numpy(self) -> NDArray[Any]:
        """Return whole numbers, or texts as Python objects."""
        if isinstance(self.values, np.ndarray):
            return self.values
        return np.asarray(self.values.to_numpy(zero_copy_only=False), dtype=object)

    @property
    def first_blank(self) -> int | None:
        """The first row without an id."""
        if isinstance(self.values, np.ndarray) or not self.values.null_count:
            return None
        return int(np.argmax(self.values.is_null().to_numpy()))

    @cached_property
    def _lookup(self) -> TextLookup | None:
        """The table that finds these ids; None for few, for very long ones and for whole numbers."""
        import pyarrow.compute as pc  # type: ignore[import-untyped]

        if isinstance(self.values, np.ndarray) or len(self) < MANY or self.values.null_count:
            return None
        longest = pc.max(pc.binary_length(self.values)).as_py()
        return TextLookup.of(self.values, longest) if longest <= WIDEST else None

    @property
    def first_repeated(self) -> int | None:
        """The first row whose id is that of an earlier row."""
        if self._lookup is not None:
            return self._lookup.repeated
        if isinstance(self.values, np.ndarray) and (table := _PlaceTable.of(self.values)) is not None:
            alone = bool((table.find(self.values) == np.arange(len(self))).all())
        else:
            alone = len(self.distinct()) == len(self)
        return None if alone else int(pd.Series(self.to_numpy()).duplicated().argmax())

    def distinct(self) -> "IdColumn":
        """Return each id once."""
        if isinstance(self.values, np.ndarray):
            return IdColumn(pd.unique(self.values))
        return IdColumn(_chunked(self.values.unique()))

    def rows(self, wanted: NDArray[Any]) -> "IdColumn":
        """Return the ids of some rows."""
        import pyarrow as pa

        if isinstance(self.values, np.ndarray):
            return IdColumn(self.values[wanted])
        return IdColumn(self.values.take(pa.array(wanted)))

    def followed_by(self, other: "IdColumn") -> "IdColumn":
        """Return these ids, then the others."""
        if isinstance(self.values, np.ndarray) and isinstance(other.values, np.ndarray):
            return IdColumn(np.concatenate([self.values, other.values]))
        return IdColumn(_chunked(*self.strings.chunks, *other.strings.chunks))

    def in_natural_order(self) -> "IdColumn":
        """Return whole numbers by value, texts by the alphabet."""
        if isinstance(self.values, np.ndarray):
            return IdColumn(np.sort(self.values))
        import pyarrow.compute as pc

        return IdColumn(self.values.take(pc.sort_indices(self.values)))

    def positions_in(self, ids: "IdColumn") -> NDArray[np.int64]:
        """Return the place of each id among others, all different; -1 if it is not there."""
        mine, theirs = self.values, ids.values
        if isinstance(mine, np.ndarray) and isinstance(theirs, np.ndarray):
            return _places(mine, theirs)
        if ids._lookup is not None and not self.strings.null_count:
            return ids._lookup.places(self.strings)
        import pyarrow.compute as pc

        found = pc.index_in(self.strings, value_set=ids.strings.combine_chunks()).fill_null(-1)
        places: NDArray[np.int64] = found.to_numpy().astype(np.int64)
        return places


def _places(wanted: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.int64]:
    if not ids.size or not wanted.size:
        return np.full(wanted.size, -1)
    table = _PlaceTable.of(ids)
    found = pd.Index(ids).get_indexer(pd.Index(wanted)) if table is None else table.find(wanted)
    return found.astype(np.int64, copy=False)


class _PlaceTable(NamedTuple):
    """The place of each whole number from `low` on; the last entry is -1, as are numbers that are not there."""

    low: int
    place: NDArray[np.integer[Any]]

    @classmethod
    def of(cls, ids: NDArray[np.int64]) -> "_PlaceTable | None":
        """Return the table; None for numbers that are too far apart. Of equal ones the last counts."""
        low, high = (int(ids.min()), int(ids.max())) if ids.size else (0, 0)
        if high - low >= DENSE * ids.size + 1000:
            return None
        kind: type[np.integer[Any]] = np.int32 if ids.size <= np.iinfo(np.int32).max else np.int64
        place = np.full(high - low + 2, -1, kind)
        place[ids - low] = np.arange(ids.size)
        return cls(low, place)

    def find(self, wanted: NDArray[np.int64]) -> NDArray[np.integer[Any]]:
        inside = (wanted >= self.low) & (wanted < self.low + len(self.place) - 1)
        return self.place[wanted - self.low if inside.all() else np.where(inside, wanted - self.low, -1)]


def _from_series(column: "pd.Series[Any]") -> "NDArray[np.int64] | pa.ChunkedArray":
    import pyarrow as pa

    if pd.api.types.is_integer_dtype(column) and not column.hasnans:
        try:
            return column.to_numpy(np.int64)
        except OverflowError:
            pass
    if isinstance(column.dtype, pd.StringDtype):
        return _chunked(*pa.chunked_array(pa.array(column.array)).cast(pa.large_string()).chunks)
    if pd.api.types.infer_dtype(column, skipna=True) not in ("string", "empty"):
        column = as_text(column)
    return _chunked(pa.array(column, pa.large_string(), from_pandas=True))


def _from_arrow(column: "pa.ChunkedArray") -> "NDArray[np.int64] | pa.ChunkedArray":
    import pyarrow as pa

    kind = column.type
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind) and not column.null_count:
        whole: NDArray[np.int64] = column.to_numpy().astype(np.int64)
        return whole
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return column.cast(pa.large_string())
    return _from_series(column.to_pandas())


def _without_blanks(strings: "pa.ChunkedArray", trimmed: bool) -> "pa.ChunkedArray":
    """Return texts without blanks around them; those that are nothing else are null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    bare = strings if trimmed or is_dense(strings) else pc.utf8_trim_whitespace(strings)
    empty = pc.equal(pc.binary_length(bare), 0)
    return pc.if_else(empty, pa.scalar(None, pa.large_string()), bare) if pc.any(empty).as_py() else bare


def _whole_numbers(strings: "pa.ChunkedArray") -> NDArray[np.int64] | None:
    """Return the numbers if every text is one in its usual form."""
    import pyarrow as pa

    if strings.null_count or not len(strings):
        return None
    try:
        strings[:1].cast(pa.int64())  # most columns of text show in the first row that they are
        whole: NDArray[np.int64] = strings.cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return None
    length = 0
    for begins, characters in buffers(strings):
        length += int(begins[-1] - begins[0])
        if characters[begins[0] : begins[-1]].max(initial=0) > ord("9"):  # Arrow takes 0xA for 10
            return None
    size = np.abs(whole)
    powers = (10**k for k in range(1, len(str(int(size.max())))))
    usual = len(whole) + np.count_nonzero(whole < 0) + sum(np.count_nonzero(size >= power) for power in powers)
    return whole if length == usual else None  # no text is shorter than its number in the usual form


def _chunked(*parts: "pa.Array") -> "pa.ChunkedArray":
    import pyarrow as pa

    return pa.chunked_array(parts, pa.large_string())
