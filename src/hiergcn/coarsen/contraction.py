"""The coarser graph: A' = MᵀAM (Eq. 5), rows sorted, and symmetric to the last bit.

Only the upper triangle is summed, with a dense accumulator of one row for each thread; the lower one is its mirror.
Summing both would be twice the work, and real weights, added in another order, would differ from their mirrors in the
last bits. Nothing is sorted: a mirror visited row by row comes out in order, and so does the mirror of the mirror.
"""

import numpy as np
import numpy.typing as npt

from hiergcn.coarsen.csr import Rows, frozen
from hiergcn.coarsen.threads import even_ranges, run_over
from hiergcn.graph.compiled import kernel

RANGES_PER_THREAD = 4
"""Rows near the top have more of the upper triangle, so ranges of equal input are unequal work: share them out
finer."""


def contract(rows: Rows, group: npt.NDArray[np.int32], n_coarse: int) -> Rows:
    """MᵀAM for the grouping `group` (n,) onto `n_coarse` hyper-nodes.

    The edges inside a hyper-node become its self-loop; as in the product, each counts twice (once from either end).
    """
    members, first = _members(group, n_coarse)  # (n,), (n_coarse + 1,)
    entries = np.bincount(group, weights=np.diff(rows.indptr), minlength=n_coarse).astype(
        np.int64
    )  # of A, by hyper-node
    reserved = offsets(entries)  # room for each row, more than it will need
    start = np.empty(n_coarse, dtype=np.int64)
    length = np.empty(n_coarse, dtype=np.int64)
    columns = np.empty(len(rows.indices), dtype=np.int32)  # pages that no range reaches are never touched
    values = np.empty(len(rows.indices), dtype=np.float64)

    def sum_rows(low: int, high: int) -> None:
        at = int(reserved[low])
        _sum_upper(*rows, group, members, first, low, high, at, start, length, columns, values)

    run_over(even_ranges(reserved, RANGES_PER_THREAD), sum_rows)
    return _with_mirror(start, length, columns, values)


def _with_mirror(
    start: npt.NDArray[np.int64],
    length: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int32],
    values: npt.NDArray[np.float64],
) -> Rows:
    """The full matrix, rows sorted, from its upper triangle, whose row r is at start[r]:start[r] + length[r],
    unsorted."""
    n = len(start)
    below = np.zeros(n, dtype=np.int64)  # entries left of the diagonal, by row
    by_length = even_ranges(offsets(length))
    run_over(by_length, lambda low, high: _count_below(start, length, columns, low, high, below))
    indptr = offsets(below + length)
    indices = np.empty(indptr[-1], dtype=np.int32)
    data = np.empty(indptr[-1], dtype=np.float64)
    upper = indptr[:-1] + below  # where each row's diagonal, or what is right of it, begins
    run_over(
        even_ranges(offsets(below)),
        lambda low, high: _mirror(start, length, columns, values, low, high, indptr, upper, indices, data),
    )
    run_over(by_length, lambda low, high: _mirror_back(low, high, indptr, below, upper, indices, data))
    return Rows(frozen(indptr, np.int64), frozen(indices, np.int32), frozen(data, np.float64))


def offsets(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Where each of some consecutive runs begins, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(counts)))


def number_groups(labels: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], int]:
    """Hyper-nodes numbered in the order of their smallest member, and how many; `labels` are any integers of 0..n-1."""
    group = np.empty(len(labels), dtype=np.int32)
    return group, _number(labels, group)


@kernel
def _number(labels: npt.NDArray[np.int32], group: npt.NDArray[np.int32]) -> int:
    number = np.full(len(labels), -1, np.int32)
    count = 0
    for i in range(len(labels)):
        if number[labels[i]] < 0:
            number[labels[i]] = count
            count += 1
        group[i] = number[labels[i]]
    return count


@kernel
def _members(group: npt.NDArray[np.int32], n_coarse: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """The members of hyper-node c, ascending: members[first[c]:first[c + 1]]."""
    first = np.zeros(n_coarse + 1, np.int64)
    for c in group:
        first[c + 1] += 1
    first = np.cumsum(first)
    cursor = first.copy()
    members = np.empty(len(group), np.int32)
    for i in range(len(group)):
        c = group[i]
        members[cursor[c]] = i
        cursor[c] += 1
    return members, first


@kernel
def _sum_upper(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    data: npt.NDArray[np.float64],
    group: npt.NDArray[np.int32],
    members: npt.NDArray[np.int32],
    first: npt.NDArray[np.int64],
    low: int,
    high: int,
    at: int,
    start: npt.NDArray[np.int64],
    length: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int32],
    values: npt.NDArray[np.float64],
) -> None:
    """Rows low:high of the upper triangle, written one after the other from position `at`."""
    total = np.zeros(
        len(start) - low
    )  # of columns low and on; zero where the row has no entry, as weights are positive
    for c in range(low, high):
        start[c] = at
        for m in range(first[c], first[c + 1]):
            i = members[m]
            for p in range(indptr[i], indptr[i + 1]):
                g = group[indices[p]]
                if g < c:
                    continue
                if total[g - low] == 0.0:
                    columns[at] = g
                    at += 1
                total[g - low] += data[p]
        length[c] = at - start[c]
        for q in range(start[c], at):
            values[q] = total[columns[q] - low]
            total[columns[q] - low] = 0.0


@kernel
def _count_below(
    start: npt.NDArray[np.int64],
    length: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int32],
    low: int,
    high: int,
    below: npt.NDArray[np.int64],
) -> None:
    """How many entries the mirror brings to each of the rows low:high."""
    for r in range(high):
        for q in range(start[r], start[r] + length[r]):
            if low <= columns[q] < high and columns[q] != r:
                below[columns[q]] += 1


@kernel
def _mirror(
    start: npt.NDArray[np.int64],
    length: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int32],
    values: npt.NDArray[np.float64],
    low: int,
    high: int,
    indptr: npt.NDArray[np.int64],
    upper: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    data: npt.NDArray[np.float64],
) -> None:
    """Fill rows low:high left of the diagonal and on it, and move `upper` past the diagonal."""
    cursor = indptr[low:high].copy()
    for r in range(high):
        for q in range(start[r], start[r] + length[r]):
            c = columns[q]
            if low <= c < high:
                if c == r:
                    to = upper[r]
                    upper[r] += 1
                else:
                    to = cursor[c - low]
                    cursor[c - low] += 1
                indices[to] = r
                data[to] = values[q]


@kernel
def _mirror_back(
    low: int,
    high: int,
    indptr: npt.NDArray[np.int64],
    below: npt.NDArray[np.int64],
    upper: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    data: npt.NDArray[np.float64],
) -> None:
    """Fill rows low:high right of the diagonal with the mirror of what is left of it."""
    for r in range(low, len(below)):
        for q in range(indptr[r], indptr[r] + below[r]):
            c = indices[q]
            if c >= high:
                break
            if c >= low:
                indices[upper[c]] = r
                data[upper[c]] = data[q]
                upper[c] += 1
