"""The adjacency of an undirected graph: checked, or built from a list of edges."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from hiergcn.compiled.csr import read_only
from hiergcn.errors import InputError

LARGEST_WEIGHT = 1e100
"""Largest weight of an edge: weights are squared to compare similarities and summed over levels."""

_MADE_SYMMETRIC = "made_symmetric"  # attribute of a matrix that was made here, which need not be checked again


def read_only_csr(matrix: Any) -> sp.csr_array:
    """Return the same CSR arrays as read-only views, with int32 indices if they fit."""
    fits = max(*matrix.shape, matrix.nnz) <= np.iinfo(np.int32).max
    index = np.int32 if fits else np.int64
    parts = (matrix.data, matrix.indices.astype(index, copy=False), matrix.indptr.astype(index, copy=False))
    result = sp.csr_array(tuple(read_only(part) for part in parts), shape=matrix.shape)
    result.has_canonical_format = True
    return result


def position_of(matrix: Any, entry: int) -> tuple[int, int]:
    """Return row and column of the k-th stored entry of a CSR matrix."""
    return int(np.searchsorted(matrix.indptr, entry, side="right")) - 1, int(matrix.indices[entry])


def edge_count(adjacency: sp.csr_array) -> int:
    """Return the number of distinct undirected edges; self-loops are not counted."""
    is_entry = np.ones(adjacency.nnz, dtype=bool)  # scipy would copy weights that are one number
    pattern = sp.csr_array((is_entry, adjacency.indices, adjacency.indptr), shape=adjacency.shape)
    return int(adjacency.nnz - np.count_nonzero(pattern.diagonal())) // 2


def checked_adjacency(adjacency: Any) -> sp.csr_array:
    """Return canonical CSR of float64: sorted, no duplicates or zeros, int32 indices if they fit, exactly symmetric.

    Weights that are all 1 take no memory: they are a view of a single one.
    """
    if not sp.issparse(adjacency):
        raise InputError(f"The adjacency is a {type(adjacency).__name__}, not sparse; wrap it in a csr_array of scipy.")
    matrix: Any = adjacency
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.shape[0]:
        raise InputError(f"The adjacency has shape {matrix.shape}; give a square one, with a row per node.")
    if matrix.dtype.kind not in "buif":
        raise InputError(f"Edge weights are of type {matrix.dtype}; give real numbers.")
    matrix = sp.csr_array(matrix).astype(np.float64, copy=False)
    data = matrix.data
    if data.size and not (data.min() >= 0 and data.max() <= LARGEST_WEIGHT):  # NaN fails both comparisons
        entry = int(np.argmax(~((data >= 0) & (data <= LARGEST_WEIGHT))))
        row, column = position_of(matrix, entry)
        rule = f"weights must be finite, not negative and at most {LARGEST_WEIGHT:g}"
        raise InputError(f"The edge of nodes {row} and {column} has weight {data[entry]}; {rule}.")
    if not matrix.has_canonical_format or np.count_nonzero(matrix.data) < matrix.data.size:
        matrix = matrix.copy()  # never change the caller's own matrix
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    if matrix.nnz and matrix.data.min() == matrix.data.max() == 1.0:
        ones = np.broadcast_to(1.0, matrix.nnz)  # one number for all: most graphs have no other weights
        matrix = sp.csr_array((ones, matrix.indices, matrix.indptr), shape=matrix.shape)
    result = read_only_csr(matrix)
    if not getattr(adjacency, _MADE_SYMMETRIC, False):
        mirror = result.T.tocsr()
        parts = ("indptr", "indices", "data")
        if not all(np.array_equal(getattr(result, part), getattr(mirror, part)) for part in parts):
            row, column = (int(ends[0]) for ends in sp.csr_array(result > mirror).nonzero())
            there, back = result[row, column], mirror[row, column]
            raise InputError(
                f"The adjacency is not symmetric: node {row} to node {column} weighs {there}, but {column} to {row} "
                f"weighs {back}; if direction does not matter, give adjacency.maximum(adjacency.T)."
            )
    return result


def reordered_adjacency(adjacency: sp.csr_array, order: NDArray[np.int64]) -> sp.csr_array:
    """Return the adjacency with the nodes in another order."""
    reordered = sp.csr_array(adjacency[order][:, order])
    reordered.sort_indices()
    return reordered


def checked_ends(ends: ArrayLike, which: str) -> NDArray[Any]:
    """Return one end of each edge, `which` is source or target, as node numbers."""
    array = np.asarray(ends)
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"The {which} nodes must be a list of whole numbers, not {array.ndim} axes of {array.dtype}.")
    if array.min() < 0:
        edge = int(array.argmin())
        raise InputError(f"Edge {edge} has {which} node {array[edge]}; nodes count from 0.")
    return read_only(array)


def checked_weights(weight: ArrayLike, edges: int) -> NDArray[np.float64]:
    """Return the weight of each edge."""
    array = np.asarray(weight, dtype=np.float64)
    if array.shape != (edges,):
        raise InputError(f"The weights have shape {array.shape}, but there are {edges:,} edges; give one per edge.")
    wrong = ~((array >= 0) & (array <= LARGEST_WEIGHT))
    if wrong.any():
        edge = int(wrong.argmax())
        rule = f"weights must be finite, not negative and at most {LARGEST_WEIGHT:g}"
        raise InputError(f"Edge {edge} has weight {array[edge]}; {rule}.")
    return read_only(array)


def reached_from(adjacency: sp.csr_array, nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether a path of edges leads from each node to one of some nodes."""
    _, component = connected_components(adjacency, directed=False)
    return np.isin(component, component[nodes])


def symmetric_adjacency(
    source: NDArray[Any], target: NDArray[Any], weight: NDArray[Any] | None, n: int
) -> sp.csr_array:
    """Return the undirected graph of the edges source[k] -> target[k], as canonical CSR without self-loops.

    Without weights an edge is there or not, however often and in whichever direction it is listed: its weight is 1.
    With weights, edges listed again in the same direction add up, and of the two directions the heavier counts, so
    that a file that lists every edge both ways means the same as one that lists it once. A weight of 0 is no edge.

    The caller has checked that ends are in 0..n-1 and that weights are finite and not negative. Time and memory are
    linear.
    """
    m, index = source.size, np.int32 if max(n, 2 * source.size) <= np.iinfo(np.int32).max else np.int64
    source, target = source.astype(index, copy=False), target.astype(index, copy=False)
    values = (source != target) if weight is None else (source != target) * weight.astype(np.float64, copy=False)
    by_source = sp.csr_array((values, source, np.arange(m + 1, dtype=index)), shape=(m, n)).tocsc()
    listed = sp.csr_array((by_source.data, target[by_source.indices], by_source.indptr), shape=(n, n))
    mirror = listed.tocsc().T  # its rows are sorted, and weights of an edge stay in the order of the list
    mirror.sum_duplicates()
    adjacency = mirror.maximum(mirror.T.tocsr())
    if weight is None:
        ones = np.broadcast_to(1.0, adjacency.nnz)
        adjacency = sp.csr_array((ones, adjacency.indices, adjacency.indptr), shape=(n, n))
    adjacency.has_canonical_format = True
    setattr(adjacency, _MADE_SYMMETRIC, True)
    return adjacency
