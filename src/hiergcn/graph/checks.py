"""Each part of a graph brought into its one form, or refused with a sentence that says where it is wrong."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from hiergcn.compiled.jit import kernel
from hiergcn.errors import InputError

Features: TypeAlias = NDArray[Any] | sp.csr_array


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written through; nothing is copied."""
    view = array.view()
    view.flags.writeable = False
    return view


def checked_adjacency(adjacency: Any) -> sp.csr_array:
    """Canonical CSR of float64 (sorted, no duplicates, no zeros, int32 indices where they fit), exactly symmetric."""
    if not sp.issparse(adjacency):
        raise InputError(
            f"the adjacency is a {type(adjacency).__name__}, not a sparse matrix: wrap it in scipy.sparse.csr_array"
        )
    matrix: Any = adjacency
    if matrix.ndim != 2:
        raise InputError(f"the adjacency has {matrix.ndim} axis: it must be square, with a row and a column per node")
    rows, columns = matrix.shape
    if rows != columns:
        raise InputError(f"the adjacency has {rows:,} rows and {columns:,} columns: it must be square, a row per node")
    if rows == 0:
        raise InputError("the graph has no nodes: give an adjacency with at least one row")
    if matrix.dtype.kind not in "buif":
        raise InputError(f"edge weights are of type {matrix.dtype}: they must be real numbers")
    matrix = sp.csr_array(matrix).astype(np.float64, copy=False)
    _check_weights(matrix)
    if not matrix.has_canonical_format or np.count_nonzero(matrix.data) < matrix.data.size:
        matrix = matrix.copy()  # never change the caller's own matrix
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    frozen = _frozen(matrix)
    _check_symmetric(frozen)
    return frozen


def checked_features(features: Any, n: int) -> Features:
    """Dense stays dense, sparse stays sparse (CSR); float32 and float64 stay, other numbers become one of the two."""
    sparse = sp.issparse(features)
    table: Any = features if sparse else np.asarray(features)
    if table.ndim != 2:
        raise InputError(
            f"the features have {table.ndim} axes: give a table with a row per node and a column per feature"
        )
    if table.shape[0] != n:
        raise InputError(
            f"the features have {table.shape[0]:,} rows but the graph has {n:,} nodes: give a row per node"
        )
    if table.dtype not in (np.float32, np.float64):
        if table.dtype.kind not in "buif":
            raise InputError(f"the features are of type {table.dtype}: turn them into numbers first")
        # float32 holds integers of up to 16 bits, and half floats, exactly
        table = table.astype(np.float32 if table.dtype.itemsize <= 2 else np.float64)
    if not sparse:
        _check_finite(table)
        return read_only(table)
    matrix = sp.csr_array(table)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    _check_finite(matrix.data, matrix)
    return _frozen(matrix)


def checked_labels(labels: Any, n: int) -> NDArray[np.int64]:
    """One int64 per node; -1 is unknown."""
    array = np.asarray(labels)
    if array.shape != (n,):
        raise InputError(f"the labels have shape {array.shape} but the graph has {n:,} nodes: give one label per node")
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"labels are of type {array.dtype}: give whole numbers from 0, and -1 where unknown")
    if n and array.min() < -1:
        node = int(array.argmin())
        raise InputError(f"node {node} has label {array[node]}: labels count from 0, and -1 means unknown")
    return read_only(array.astype(np.int64, copy=False))


def checked_ids(ids: Any, n: int) -> NDArray[Any]:
    """The user's names of the nodes: whole numbers or text, each once; 0..n-1 where none are given."""
    if ids is None:
        return read_only(np.arange(n))
    array = np.asarray(ids)
    if array.shape != (n,):
        raise InputError(f"the ids have shape {array.shape} but the graph has {n:,} nodes: give one id per node")
    if pd.api.types.infer_dtype(array, skipna=False) not in ("integer", "string"):
        raise InputError(f"ids are of type {array.dtype}: give all of them as whole numbers or all as text")
    repeated = pd.Index(array).duplicated()
    if repeated.any():
        node = int(repeated.argmax())
        raise InputError(
            f"id {array[node]!s:.80} of node {node} stands for an earlier node too: give every node its own id"
        )
    return read_only(array)


def checked_class_names(names: Sequence[Any] | None, labels: NDArray[np.int64] | None) -> tuple[str, ...]:
    """A name for each class, "0", "1", .. where none are given; classes may go without a labelled node."""
    highest = -1 if labels is None else int(labels.max(initial=-1))
    if not names:
        return tuple(str(k) for k in range(highest + 1))
    result = tuple(str(name) for name in names)
    if len(result) <= highest:
        raise InputError(
            f"there are {len(result)} class names but a label of {highest}: give at least {highest + 1} names"
        )
    if len(set(result)) < len(result):
        twice = next(name for k, name in enumerate(result) if name in result[:k])
        raise InputError(f"class name {twice!r} is given twice: give every class its own name")
    return result


def _frozen(matrix: Any) -> sp.csr_array:
    """The same CSR parts as read-only views, with int32 indices where they fit."""
    fits = max(*matrix.shape, matrix.nnz) <= np.iinfo(np.int32).max
    index = np.int32 if fits else np.int64
    parts = (matrix.data, matrix.indices.astype(index, copy=False), matrix.indptr.astype(index, copy=False))
    frozen = sp.csr_array(tuple(read_only(part) for part in parts), shape=matrix.shape)
    frozen.has_canonical_format = True
    return frozen


def _check_weights(matrix: Any) -> None:
    data = matrix.data
    if not data.size or (data.min() >= 0 and data.max() < np.inf):  # NaN fails both comparisons
        return
    entry = int(np.argmax(~((data >= 0) & (data < np.inf))))
    row, column = _position(matrix, entry)
    raise InputError(
        f"the edge from node {row} to node {column} has weight {data[entry]}: weights must be finite and not negative"
    )


def _check_finite(values: NDArray[Any], matrix: Any = None) -> None:
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum()):  # any NaN or infinity would have reached the sum: no mask of the whole needed
            return
    for first in range(0, len(values), 65_536):  # a sum can overflow with every value finite
        bad = np.argwhere(~np.isfinite(values[first : first + 65_536]))
        if len(bad):
            place = (first + int(bad[0][0]), *map(int, bad[0][1:]))
            node, column = place if matrix is None else _position(matrix, place[0])
            raise InputError(
                f"feature {column} of node {node} is {values[place]}: fill in or drop what is missing or infinite"
            )


def _position(matrix: Any, entry: int) -> tuple[int, int]:
    return int(np.searchsorted(matrix.indptr, entry, side="right")) - 1, int(matrix.indices[entry])


def _check_symmetric(matrix: Any) -> None:
    row, column = _first_asymmetry(matrix.indptr, matrix.indices, matrix.data)
    if row < 0:
        return
    there, back = matrix[[row], [column]][0], matrix[[column], [row]][0]
    raise InputError(
        f"the adjacency is not symmetric: node {row} to node {column} weighs {there} but {column} to {row} weighs "
        f"{back}; where direction does not matter, give adjacency.maximum(adjacency.T)"
    )


@kernel
def _first_asymmetry(indptr: Any, indices: Any, data: Any) -> tuple[int, int]:
    """An entry without its mirror, or (-1, -1).

    Rows are visited upwards, so the entries (i, j) of a column j arrive in the order in which a symmetric matrix holds
    them in row j: one cursor per row finds each mirror at once, without a transpose of the matrix.
    """
    cursor = indptr[:-1].copy()
    for i in range(indptr.size - 1):
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            mirror = cursor[j]
            if mirror == indptr[j + 1] or indices[mirror] > i:
                return i, j
            if indices[mirror] < i:
                return j, indices[mirror]
            if data[mirror] != data[k]:
                return i, j
            cursor[j] += 1
    return -1, -1
