"""CSR arrays in the one form that the kernels are compiled for."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Bools: TypeAlias = npt.NDArray[np.bool_]
Int32s: TypeAlias = npt.NDArray[np.int32]
Int64s: TypeAlias = npt.NDArray[np.int64]
Integers: TypeAlias = npt.NDArray[np.integer]
UInt64s: TypeAlias = npt.NDArray[np.uint64]
Floats: TypeAlias = npt.NDArray[np.floating]
Float64s: TypeAlias = npt.NDArray[np.float64]


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view that cannot be written through; nothing is copied."""
    view = array.view()
    view.flags.writeable = False
    return view


def frozen(array: npt.NDArray[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return a contiguous read-only view, copied only if the type differs, so that kernels are compiled once."""
    return read_only(np.ascontiguousarray(array, dtype=dtype))


def is_one_number(array: npt.NDArray[Any]) -> bool:
    """Return whether all entries are the same place in memory, as those of `np.broadcast_to` are."""
    return array.ndim == 1 and array.size > 1 and array.strides == (0,)


class Rows(NamedTuple):
    """A canonical CSR matrix as read-only arrays: columns ascend in each row, no duplicates, no explicit zeros."""

    indptr: npt.NDArray[Any]  # (n + 1,) int64; int32 where models make one
    indices: Int32s  # (nnz,)
    data: Floats  # (nnz,) float64, or float32 if that is exact

    @property
    def n(self) -> int:
        return len(self.indptr) - 1


def rows_of(adjacency: sp.csr_array) -> Rows:
    """Return the arrays of a canonical matrix, such as that of a `Level`; nothing large is copied."""
    data = adjacency.data
    if not is_one_number(data):
        data = frozen(data, np.float32 if data.dtype == np.float32 else np.float64)
    return Rows(frozen(adjacency.indptr, np.int64), frozen(adjacency.indices, np.int32), data)


def matrix_of(rows: Rows) -> sp.csr_array:
    """Return the scipy matrix over the same arrays."""
    # scipy converts both index arrays to the wider type; an int64 indptr would double the memory of the indices
    narrow = len(rows.indices) <= np.iinfo(np.int32).max
    indptr = frozen(rows.indptr, np.int32) if narrow else rows.indptr
    matrix = sp.csr_array((rows.data, rows.indices, indptr), shape=(rows.n, rows.n))
    matrix.has_canonical_format = True
    return matrix
