"""Contraction: the coarser graph A' = MᵀAM (Eq. 5), rows sorted, and symmetric to the last bit.

`M.T @ A @ M` in `reference.py` is the plain version. Here each row of A' is made by itself: the rows of its members are
gathered, sorted by column, and equal columns summed. Rows are sorted many at a time, by radix sort, in blocks that stay
in the cache. So every thread writes memory in order; it reads the rows of members, which it prefetches, and looks up
the hyper-node of each neighbour. An entry is sorted as one number, which tells its row, column and place.

A row of A' has at most as many entries as those of its members together, so there is room for the matrix in arrays of
that size. Each thread writes its rows one after the other, and the gaps between threads are closed. Values are float32
if that holds every sum exactly, as it does for counts. Other sums depend on the order of their terms in the last bits,
so the lower triangle is then copied from the upper one.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hiergcn.compiled.csr import Float64s, Floats, Int32s, Int64s, Rows, UInt64s, frozen
from hiergcn.compiled.jit import even_ranges, kernel, run_over
from hiergcn.compiled.simd import AHEAD, CACHED, prefetch, prefetch_neighbours, prefetch_row

EXACT = 2.0**24
"""float32 holds whole numbers up to here."""
BLOCK = 2**13
"""Entries that are sorted together: few enough for the cache of one core, and many for a table of 2^`DIGIT` counts."""
DIGIT = 12
"""Most bits by which entries are distributed at a time."""


class Grouping(NamedTuple):
    """Nodes and their hyper-nodes."""

    group: Int32s  # (n,) the hyper-node of each node
    members: Int32s  # (n,) those of hyper-node c, ascending, are members[first[c]:first[c + 1]]
    first: Int64s  # (n' + 1,)


def contract(rows: Rows, group: Int32s, n_coarse: int) -> Rows:
    """Return MᵀAM for the grouping `group` (n,) onto `n_coarse` hyper-nodes.

    The edges inside a hyper-node become its self-loop; as in the product, each counts twice (once from either end).
    """
    grouping = Grouping(group, *group_members(group, n_coarse))
    start = np.append(0, np.cumsum(group_sums(group, np.diff(rows.indptr), n_coarse)))
    strength = np.empty(rows.n)  # of a node: the sum of its row, infinite if a weight is not a whole number
    run_over(even_ranges(rows.indptr), lambda low, high: _sum_weights(rows, low, high, strength))
    are_small = group_sums(group, strength, n_coarse).max(initial=0.0) <= EXACT
    columns, values = np.empty(start[-1], np.int32), np.empty(start[-1], np.float32 if are_small else np.float64)
    lengths = np.empty(n_coarse, np.int64)
    ranges = even_ranges(start)
    run_over(ranges, lambda low, high: _sum_rows(rows, grouping, start, low, high, columns, values, lengths))
    indptr = np.append(0, np.cumsum(lengths))
    for low, high in ranges:
        size = indptr[high] - indptr[low]
        for array in (columns, values):
            array[indptr[low] : indptr[high]] = array[start[low] : start[low] + size]
    if not are_small:
        run_over(ranges, lambda low, high: _mirror(low, high, indptr, columns, values))
    for array in (columns, values):
        array.resize(indptr[-1], refcheck=False)  # frees the rest without a copy
    return Rows(frozen(indptr, np.int64), frozen(columns, np.int32), frozen(values, values.dtype))


def group_members(group: Int32s, n_coarse: int) -> tuple[Int32s, Int64s]:
    """Return `Grouping.members` and `Grouping.first`."""
    n = len(group)
    M = sp.csr_array((np.ones(n, np.bool_), group, np.arange(n + 1, dtype=np.int32)), shape=(n, n_coarse)).tocsc()
    return M.indices.astype(np.int32, copy=False), M.indptr.astype(np.int64)


def group_sums(group: Int32s, values: Any, n_coarse: int) -> Any:
    """Return the sum of the values of the members of each hyper-node, (n_coarse,)."""
    return np.bincount(group, values, n_coarse).astype(values.dtype)


@kernel
def _sum_weights(rows: Rows, start: int, stop: int, strength: Float64s) -> None:
    """Sum the rows start:stop; infinite if a weight is not a whole number."""
    indptr, _, data = rows
    for i in range(start, stop):
        total, rest = 0.0, 0.0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            weight = np.float64(data[p])
            total += weight
            rest += weight - np.floor(weight)
        strength[i] = total if rest == 0.0 else np.inf


@kernel
def _sum_rows(
    rows: Rows, grouping: Grouping, start: Int64s, low: int, high: int, columns: Int32s, values: Floats, lengths: Int64s
) -> None:
    """Write the rows low:high one after the other from start[low] on, each sorted, and their lengths.

    The key of an entry is its row within a block, its column, and its place in the block. Radix sort is stable, so
    terms of a sum stay in the order of the members.
    """
    size = BLOCK
    for c in range(low, high):
        size = max(size, start[c + 1] - start[c])
    keys, other_keys, weights = np.empty(size, np.uint64), np.empty(size, np.uint64), np.empty(size, values.dtype)
    bits = _bits(len(grouping.first) - 1)  # of a column
    c, at = low, start[low]
    while c < high:
        stop = c + 1
        while stop < min(high, c + BLOCK) and start[stop + 1] - start[c] <= BLOCK:
            stop += 1
        count = start[stop] - start[c]
        shift = _bits(count)  # of a column in a key: the bits of a place are below
        _gather(rows, grouping, c, stop, shift, bits, keys, weights)
        ordered = _sort(keys, other_keys, count, shift, shift + bits + _bits(stop - c))
        p = 0
        for r in range(c, stop):
            end = p + start[r + 1] - start[r]
            lengths[r] = _merge(r, ordered[p:end], weights, shift, bits, at, columns, values)
            at += lengths[r]
            p = end
        c = stop


@kernel(plain=None)
def _bits(count: int) -> int:
    """Return the bits needed to distinguish that many values, at least 1."""
    bits = 1
    while (1 << bits) < count:
        bits += 1
    return bits


@kernel(plain=None)
def _gather(
    rows: Rows, grouping: Grouping, c: int, stop: int, shift: int, bits: int, keys: UInt64s, weights: Floats
) -> None:
    """Write keys and weights of all entries of the rows c:stop."""
    indptr, indices, data = rows
    group, members, first = grouping
    count, last = np.uint64(0), len(members) - 1
    for r in range(c, stop):
        row = np.uint64(r - c) << np.uint64(shift + bits)
        for m in range(first[r], first[r + 1]):
            if len(group) > CACHED:
                prefetch(indptr, np.uint32(members[min(m + 6 * AHEAD, last)]))
                prefetch_row(rows, np.uint32(members[min(m + 4 * AHEAD, last)]))
                prefetch_neighbours(rows, np.uint32(members[min(m + AHEAD, last)]), group)
            i = np.uint32(members[m])
            for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + np.uint32(1)])):
                keys[count] = row | (np.uint64(group[np.uint32(indices[p])]) << np.uint64(shift)) | count
                weights[count] = data[p]
                count += np.uint64(1)


@kernel(plain=None)
def _sort(keys: UInt64s, other_keys: UInt64s, count: int, low: int, high: int) -> UInt64s:
    """Return the keys, `count` of them sorted by their bits low:high, the highest, in one of the two arrays."""
    passes = -(-(high - low) // DIGIT)
    digits = -(-(high - low) // passes)
    begin, mask = np.empty(1 << digits, np.int64), np.uint64((1 << digits) - 1)
    for k in range(passes):
        shift = np.uint64(low + k * digits)
        begin[:] = 0
        for t in range(np.uint64(count)):
            begin[(keys[t] >> shift) & mask] += 1
        before = 0
        for digit in range(len(begin)):
            entries = begin[digit]
            begin[digit] = before
            before += entries
        for t in range(np.uint64(count)):
            d = (keys[t] >> shift) & mask
            other_keys[np.uint64(begin[d])] = keys[t]
            begin[d] += 1
        keys, other_keys = other_keys, keys
    return keys


@kernel(plain=None)
def _merge(
    row: int, keys: UInt64s, weights: Floats, shift: int, bits: int, at: int, columns: Int32s, values: Floats
) -> int:
    """Write entries by their sorted keys as a row from `at` on, equal columns summed; return its length.

    Sums go from the last term to the first, on the diagonal from the first to the last.
    """
    low, in_block, in_row = np.uint64(shift), np.uint64((1 << shift) - 1), np.uint64((1 << bits) - 1)
    to, start, stop = np.uint64(at), np.uint64(0), np.uint64(len(keys))
    while start < stop:
        key, after = keys[start] >> low, start + np.uint64(1)
        while after < stop and keys[after] >> low == key:
            after += np.uint64(1)
        column, total = np.int32(key & in_row), 0.0
        for t in range(after - start):
            term = start + np.uint64(t) if column == row else after - np.uint64(1) - np.uint64(t)
            total += float(weights[keys[term] & in_block])
        columns[to], values[to] = column, total
        to += np.uint64(1)
        start = after
    return int(to) - at


@kernel
def _mirror(low: int, high: int, indptr: Int64s, columns: Int32s, values: Float64s) -> None:
    """Copy the values of the lower triangle, in rows low:high, from the upper one."""
    for c in range(low, high):
        for p in range(indptr[c], indptr[c + 1]):
            r = columns[p]
            if r >= c:
                break
            values[p] = values[indptr[r] + np.searchsorted(columns[indptr[r] : indptr[r + 1]], c)]
