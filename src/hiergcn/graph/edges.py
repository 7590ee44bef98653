"""From a list of edges to a symmetric adjacency, by linear work and with little memory beside the result's own."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hiergcn.compiled.jit import kernel


def symmetric_adjacency(
    source: NDArray[Any], target: NDArray[Any], weight: NDArray[Any] | None, n: int
) -> sp.csr_array:
    """The undirected graph of the edges source[k] -> target[k], as canonical CSR without self-loops.

    Without weights an edge is there or not, however often and in whichever direction it is listed: its weight is 1.
    With weights, edges listed again in the same direction add up, and of the two directions the heavier counts, so
    that a file that lists every edge both ways means the same as one that lists it once. A weight of 0 is no edge.

    The caller has checked that ends lie in 0..n-1 and that weights are finite and not negative.
    """
    index = np.int32 if max(n, 2 * source.size) <= np.iinfo(np.int32).max else np.int64
    indptr, listed, listed_values = _both_directions(
        _for_kernel(source, index), _for_kernel(target, index), _for_kernel(weight, np.float64), weight is not None, n
    )
    neighbours, values = np.empty_like(listed), np.empty_like(listed_values)
    _transpose(indptr, listed, listed_values, neighbours, values)  # whose rows are sorted
    del listed, listed_values
    size = _merge_parallel(indptr, neighbours, values)
    neighbours.resize(size, refcheck=False)  # gives the tail back without a second copy of the rest
    if weight is None:
        values = np.ones(size)
    else:
        values.resize(size, refcheck=False)
    adjacency = sp.csr_array((values, neighbours, indptr), shape=(n, n))
    adjacency.has_canonical_format = True
    if weight is not None:
        adjacency.eliminate_zeros()
    return adjacency


def _for_kernel(array: NDArray[Any] | None, dtype: type[np.generic]) -> NDArray[Any]:
    """A contiguous read-only view, so that each kernel is compiled for one kind of array; empty for None."""
    view = np.ascontiguousarray(() if array is None else array, dtype=dtype).view()
    view.flags.writeable = False
    return view


@kernel
def _both_directions(source: Any, target: Any, weight: Any, weighted: bool, n: int) -> Any:
    """Rows in the order of the list. An edge seen from its target carries its weight with a minus, to be told apart."""
    indptr = np.zeros(n + 1, source.dtype)
    for k in range(source.size):
        if source[k] != target[k]:
            indptr[source[k] + 1] += 1
            indptr[target[k] + 1] += 1
    for i in range(n):
        indptr[i + 1] += indptr[i]
    neighbours = np.empty(indptr[n], source.dtype)
    values = np.empty(indptr[n] if weighted else 0, np.float64)
    free = indptr[:-1].copy()
    for k in range(source.size):
        s, t = source[k], target[k]
        if s != t:
            neighbours[free[s]], neighbours[free[t]] = t, s
            if weighted:
                values[free[s]], values[free[t]] = weight[k], -weight[k]
            free[s] += 1
            free[t] += 1
    return indptr, neighbours, values


@kernel
def _transpose(indptr: Any, neighbours: Any, values: Any, moved: Any, moved_values: Any) -> None:
    """The transpose of a pattern that is symmetric, so that `indptr` stays."""
    free = indptr[:-1].copy()
    for i in range(indptr.size - 1):
        for k in range(indptr[i], indptr[i + 1]):
            j = neighbours[k]
            moved[free[j]] = i
            if values.size:
                moved_values[free[j]] = values[k]
            free[j] += 1


@kernel
def _merge_parallel(indptr: Any, neighbours: Any, values: Any) -> int:
    """Merge equal neighbours of a sorted row in place; the number of entries that remain."""
    size = 0
    k = 0
    for i in range(indptr.size - 1):
        end = indptr[i + 1]
        indptr[i] = size
        while k < end:
            j = neighbours[k]
            one_way, other_way = 0.0, 0.0
            while k < end and neighbours[k] == j:
                if values.size:
                    if values[k] > 0:
                        one_way += values[k]
                    else:
                        other_way -= values[k]
                k += 1
            neighbours[size] = j
            if values.size:
                values[size] = max(one_way, other_way)
            size += 1
    indptr[indptr.size - 1] = size
    return size
