"""The arrays of an adjacency in the one form the kernels are compiled for, and the checks an input must pass."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from hiergcn.coarsen.compiled import frozen, kernel
from hiergcn.errors import InputError

LARGEST_WEIGHT = 1e100
"""Weights are squared when similarities are compared, and summed over levels; beyond this they would overflow."""


class Rows(NamedTuple):
    """A canonical CSR matrix as read-only arrays: columns ascend in each row, no duplicates, no explicit zeros."""

    indptr: npt.NDArray[np.int64]  # (n + 1,)
    indices: npt.NDArray[np.int32]  # (nnz,)
    data: npt.NDArray[np.float64]  # (nnz,)

    @property
    def n(self) -> int:
        return len(self.indptr) - 1


def rows_of(adjacency: sp.csr_array) -> Rows:
    """The arrays of a matrix that is canonical already (as every `Level` holds it); nothing large is copied."""
    return Rows(
        frozen(adjacency.indptr, np.int64), frozen(adjacency.indices, np.int32), frozen(adjacency.data, np.float64)
    )


def matrix_of(rows: Rows) -> sp.csr_array:
    """The scipy matrix over the same arrays."""
    matrix = sp.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.n, rows.n))
    matrix.has_canonical_format = True
    return matrix


def canonical_adjacency(adjacency: Any) -> sp.csr_array:
    """Any square sparse matrix as a canonical symmetric CSR matrix of float64; copied only where it is not one
    already."""
    if not isinstance(adjacency, sp.sparray | sp.spmatrix):
        raise InputError(
            f"The adjacency must be a scipy sparse matrix, but it is a {type(adjacency).__name__}; "
            "wrap it, e.g. scipy.sparse.csr_array(adjacency)."
        )
    shape, dtype = adjacency.shape, adjacency.dtype
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"The adjacency must be square, but its shape is {shape}.")
    if dtype.kind not in "buif":
        raise InputError(f"The adjacency must hold real numbers, but its type is {dtype}.")
    if shape[0] >= 2**31:
        raise InputError(f"The adjacency has {shape[0]} nodes; at most 2147483647 can be numbered.")
    matrix = sp.csr_array(adjacency).astype(np.float64, copy=False)
    if not matrix.has_canonical_format or not matrix.data.all():
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    _check_weights(matrix)
    _check_symmetric(matrix)
    return matrix_of(rows_of(matrix))


def _check_weights(matrix: sp.csr_array) -> None:
    if matrix.nnz == 0 or (matrix.data.min() > 0 and matrix.data.max() <= LARGEST_WEIGHT):  # false for NaN, too
        return
    with np.errstate(invalid="ignore"):
        wrong = int(np.flatnonzero(~((matrix.data > 0) & (matrix.data <= LARGEST_WEIGHT)))[0])
    row = int(np.searchsorted(matrix.indptr, wrong, side="right")) - 1
    raise InputError(
        f"The edge weight at row {row}, column {matrix.indices[wrong]} is {matrix.data[wrong]}; "
        f"weights must be positive numbers up to {LARGEST_WEIGHT:g}."
    )


def _check_symmetric(matrix: sp.csr_array) -> None:
    rows = rows_of(matrix)
    row, column = _first_asymmetry(rows.indptr, rows.indices, rows.data)
    if row >= 0:
        raise InputError(
            f"The adjacency is not symmetric: row {row}, column {column} holds {matrix[row, column]} but "
            f"row {column}, column {row} holds {matrix[column, row]}; symmetrise it first, e.g. with A.maximum(A.T)."
        )


@kernel
def _first_asymmetry(
    indptr: npt.NDArray[np.int64], indices: npt.NDArray[np.int32], data: npt.NDArray[np.float64]
) -> tuple[int, int]:
    """The first entry whose mirror is absent or different, else (-1, -1).

    Rows are visited in ascending order, so the mirrors of the entries above the diagonal are met below it in the
    order in which each row stores them: one cursor a row is enough, and no transpose is built.
    """
    n = len(indptr) - 1
    cursor = indptr[:n].copy()  # the next entry of each row that no mirror has claimed
    for i in range(n):
        if cursor[i] < indptr[i + 1] and indices[cursor[i]] < i:  # row i has an entry below the diagonal left over
            return i, indices[cursor[i]]
        for p in range(cursor[i], indptr[i + 1]):
            j = indices[p]
            if j == i:
                continue
            q = cursor[j]
            if q >= indptr[j + 1] or indices[q] != i or data[q] != data[p]:
                return i, j
            cursor[j] = q + 1
    return -1, -1
