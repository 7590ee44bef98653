"""Columns of ids: whole numbers, or text, without a Python object for each row.

Ids are compared as text, without blanks around them. If all of a column are whole numbers in their usual form, so that
7 is one and 007 is not, they are held as such; else they are Arrow strings. Millions of rows take a second or two.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from numpy.typing import NDArray

from hiergcn.errors import InputError
from hiergcn.graph.tables.text_columns import Origin, as_text

DENSE = 16
"""Whole numbers whose range is at most this multiple of their count are looked up in an array, not a hash table."""
BLANKS = " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f"
"""All ASCII characters that count as blanks."""


@dataclass(frozen=True, eq=False)
class IdColumn:
    """The id of each row."""

    values: "NDArray[np.int64] | pa.ChunkedArray"
    """Whole numbers; or large strings, null if blank."""

    @classmethod
    def from_column(cls, column: "pd.Series[Any] | pa.ChunkedArray") -> "IdColumn":
        """Read a column of any values."""
        if isinstance(column, pa.ChunkedArray):
            kind = column.type
            if pa.types.is_integer(kind) and not pa.types.is_uint64(kind) and not column.null_count:
                return cls(column.to_numpy().astype(np.int64))
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
            is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
            column = column if is_text else column.to_pandas()
        if isinstance(column, pd.Series):
            if pd.api.types.is_integer_dtype(column) and not column.hasnans and not (column.max() >= 2**63):
                return cls(column.to_numpy(np.int64))
            if pd.api.types.infer_dtype(column, skipna=True) not in ("string", "empty"):
                column = as_text(column)
            column = pa.Table.from_pandas(column.to_frame("id"), preserve_index=False)["id"]
        strings = column.cast(pa.large_string())
        whole = _whole_numbers(strings)
        if whole is None:
            is_ascii = pc.all(pc.string_is_ascii(strings)).as_py()
            strings = pc.ascii_trim(strings, BLANKS) if is_ascii else pc.utf8_trim_whitespace(strings)
            empty = pc.equal(pc.binary_length(strings), 0)
            if pc.any(empty).as_py():
                strings = pc.if_else(empty, pa.scalar(None, pa.large_string()), strings)
            whole = _whole_numbers(strings)
        return cls(strings if whole is None else whole)

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def strings(self) -> "pa.ChunkedArray":
        """The ids as text."""
        if not isinstance(self.values, np.ndarray):
            return self.values
        return pa.chunked_array([pa.array(self.values).cast(pa.large_string())])

    def to_numpy(self) -> NDArray[Any]:
        """Return whole numbers, or texts as Python objects."""
        if isinstance(self.values, np.ndarray):
            return self.values
        return np.asarray(self.values.to_numpy(zero_copy_only=False), dtype=object)

    def check_no_blank(self, origin: Origin, column: str, remedy: str) -> None:
        """Refuse a row without an id."""
        if not isinstance(self.values, np.ndarray) and self.values.null_count:
            blank = int(np.argmax(self.values.is_null().to_numpy()))
            raise InputError(f"{origin.at(blank, column)}: the id is blank; {remedy}.")

    def distinct(self) -> "IdColumn":
        """Return each id once: whole numbers by value, texts by the alphabet."""
        if isinstance(self.values, np.ndarray):
            return IdColumn(np.sort(pd.unique(self.values)))
        texts = self.values.unique()
        return IdColumn(pa.chunked_array([texts.take(pc.sort_indices(texts))]))

    def rows(self, wanted: NDArray[Any]) -> "IdColumn":
        """Return the ids of some rows."""
        return IdColumn(self.values[wanted] if isinstance(self.values, np.ndarray) else self.values.take(wanted))

    def followed_by(self, other: "IdColumn") -> "IdColumn":
        """Return these ids, then the others."""
        if isinstance(self.values, np.ndarray) and isinstance(other.values, np.ndarray):
            return IdColumn(np.concatenate([self.values, other.values]))
        return IdColumn(pa.chunked_array([*self.strings.chunks, *other.strings.chunks], pa.large_string()))

    def positions_in(self, ids: "IdColumn") -> NDArray[np.int64]:
        """Return the position of each id among others, all different; -1 if it is not there."""
        wanted, listed = self.values, ids.values
        if not isinstance(wanted, np.ndarray) or not isinstance(listed, np.ndarray):
            positions = pc.index_in(self.strings, value_set=ids.strings.combine_chunks()).fill_null(-1)
            return np.asarray(positions.to_numpy(), np.int64)
        if not listed.size or not wanted.size:
            return np.full(wanted.size, -1)
        low, high = int(listed.min()), int(listed.max())
        if high - low >= DENSE * listed.size + 1000:
            return np.asarray(pd.Index(listed).get_indexer(pd.Index(wanted)), np.int64)
        kind = np.min_scalar_type(-listed.size - 1)
        position = np.full(high - low + 2, -1, kind)  # the last is that of other numbers
        position[listed - low] = np.arange(listed.size)
        inside = (wanted >= low) & (wanted <= high)
        return position[wanted - low if inside.all() else np.where(inside, wanted - low, -1)].astype(np.int64)


def _whole_numbers(strings: "pa.ChunkedArray") -> NDArray[np.int64] | None:
    """Return the numbers if every text is one in its usual form, without blanks."""
    if strings.null_count or not len(strings):
        return None
    try:
        strings[:1].cast(pa.int64())  # most columns of text show in the first row that they are
        whole: NDArray[np.int64] = strings.cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return None
    padded = pc.and_(pc.starts_with(strings, "0"), pc.greater(pc.binary_length(strings), 1))  # 0xA is 10 for Arrow
    is_odd = pc.any(pc.or_(padded, pc.starts_with(strings, "-0"))).as_py()
    return None if is_odd else whole
