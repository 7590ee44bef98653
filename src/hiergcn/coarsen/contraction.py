"""Contraction: the coarser graph A' = MᵀAM (Eq. 5), rows sorted, and symmetric to the last bit.

`M.T @ A @ M` in `reference.py` is the plain version. Here each row of A' is made by itself: the rows of its members are
gathered, sorted by column, and equal columns summed. Rows are sorted many at a time, by radix sort, in blocks that stay
in the cache. So every thread writes memory in order; it reads the rows of members, which it prefetches, and looks up
the hyper-node of each neighbour.

A row of A' has at most as many entries as those of its members together, so there is room for a range of rows in a
buffer of that size. The buffers are compacted in place: there is no second copy of the matrix. Values are float32 if
that holds every sum exactly, as it does for counts. Other sums depend on the order of their terms in the last bits, so
the lower triangle is then copied from the upper one.
"""

from typing import NamedTuple

import numpy as np

from hiergcn.compiled.csr import Float64s, Floats, Int32s, Int64s, Rows, frozen
from hiergcn.compiled.jit import AHEAD, CACHED, even_ranges, kernel, prefetch, prefetch_row, run_over

EXACT = 2.0**24
"""float32 holds whole numbers up to here."""
BLOCK = 2**13
"""Entries that are sorted together: few enough for the cache of one core, and many for a table of 2^`DIGIT` counts."""
DIGIT = 12
"""Most bits by which entries are distributed at a time."""
ROW, COLUMN = 32, 0x7FFFFFFF
"""First bit of a key that tells the row, and the bits that tell the column."""
RANGES_PER_THREAD = 16
"""The work of a range of rows is not known beforehand, so there are more ranges than threads."""


class Buffers(NamedTuple):
    """The rows of the coarser graph under construction; row c is in begin[c]:end[c] of columns and values."""

    begin: Int64s  # (n_coarse,)
    end: Int64s  # (n_coarse,)
    columns: Int32s
    values: Floats


def contract(rows: Rows, group: Int32s, n_coarse: int) -> Rows:
    """Return MᵀAM for the grouping `group` (n,) onto `n_coarse` hyper-nodes.

    The edges inside a hyper-node become its self-loop; as in the product, each counts twice (once from either end).
    """
    members, first = group_members(group, n_coarse)  # (n,), (n_coarse + 1,)
    start = offsets(np.bincount(group, weights=np.diff(rows.indptr), minlength=n_coarse).astype(np.int64))
    kind = np.float32 if _sums_are_small(rows, group, n_coarse) else np.float64
    columns, values = np.empty(start[-1], np.int32), np.empty(start[-1], kind)
    made = Buffers(np.empty(n_coarse, np.int64), np.empty(n_coarse, np.int64), columns, values)
    ranges = even_ranges(start, RANGES_PER_THREAD)
    run_over(ranges, lambda low, high: _sum_rows(rows, group, members, first, start, low, high, made))
    if kind == np.float64:
        run_over(ranges, lambda low, high: _mirror(low, high, made))
    indptr = offsets(made.end - made.begin)

    def close_gaps(one: int, _: int) -> None:
        array = (columns, values)[one]
        for low, high in ranges:  # whose rows are one after the other
            array[indptr[low] : indptr[high]] = array[start[low] : start[low] + indptr[high] - indptr[low]]

    run_over([(0, 1), (1, 2)], close_gaps, threads=None if len(ranges) > 1 else 1)
    columns.resize(indptr[-1], refcheck=False)  # frees the rest without a copy
    values.resize(indptr[-1], refcheck=False)
    return Rows(frozen(indptr, np.int64), frozen(columns, np.int32), frozen(values, kind))


def _sums_are_small(rows: Rows, group: Int32s, n_coarse: int) -> bool:
    """Return whether all weights are whole and those of no hyper-node sum to more than `EXACT`."""
    strength = np.empty(rows.n)  # of a node: the sum of its row
    run_over(even_ranges(rows.indptr), lambda low, high: _strengths(rows.indptr, rows.data, low, high, strength))
    largest = np.bincount(group, weights=strength, minlength=n_coarse).max(initial=0.0)
    return bool(largest <= EXACT)


def offsets(counts: Int64s) -> Int64s:
    """Return the start of each run, and the end of the last one."""
    return np.concatenate(([0], np.cumsum(counts)))


def number_groups(labels: Int32s) -> tuple[Int32s, int]:
    """Number hyper-nodes in the order of their smallest members; return the numbers of all nodes, and how many."""
    group = np.empty(len(labels), dtype=np.int32)
    return group, _number(labels, group)


@kernel
def _number(labels: Int32s, group: Int32s) -> int:
    number = np.full(len(labels), -1, np.int32)
    count = 0
    for i in range(len(labels)):
        if number[labels[i]] < 0:
            number[labels[i]] = count
            count += 1
        group[i] = number[labels[i]]
    return count


@kernel
def group_members(group: Int32s, n_coarse: int) -> tuple[Int32s, Int64s]:
    """Return the members of every hyper-node: those of c, ascending, are members[first[c]:first[c + 1]]."""
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
def _strengths(indptr: Int64s, data: Floats, start: int, stop: int, strength: Float64s) -> None:
    """Sum the rows start:stop; infinite if a weight is not a whole number."""
    for i in range(start, stop):
        total, rest = 0.0, 0.0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            weight = np.float64(data[p])
            total += weight
            rest += weight - np.floor(weight)
        strength[i] = total if rest == 0.0 else np.inf


@kernel
def _sum_rows(
    rows: Rows, group: Int32s, members: Int32s, first: Int64s, start: Int64s, low: int, high: int, made: Buffers
) -> None:
    """Write the rows low:high one after the other, from start[low] on, each sorted; a block of rows at a time.

    The key of an entry is its row within the block and its column. Radix sort is stable, so terms of a sum stay in the
    order of the members.
    """
    size = BLOCK
    for c in range(low, high):
        size = max(size, start[c + 1] - start[c])
    keys, weights = np.empty(size, np.int64), np.empty(size, made.values.dtype)
    other_keys, other_weights = np.empty_like(keys), np.empty_like(weights)
    bits = _bits(len(first) - 1)
    passes = -(-bits // DIGIT)
    digit = -(-bits // passes)
    c, at = low, start[low]
    while c < high:
        stop = c + 1
        while stop < min(high, c + BLOCK) and start[stop + 1] - start[c] <= BLOCK:
            stop += 1
        count = _gather(rows, group, members, first, c, stop, keys, weights)
        for number in range(passes):
            _distribute(keys, weights, count, number * digit, digit, other_keys, other_weights)
            keys, weights, other_keys, other_weights = other_keys, other_weights, keys, weights
        _distribute(keys, weights, count, ROW, _bits(stop - c), other_keys, other_weights)
        for r in range(c, stop):
            made.begin[r] = at
            at = _merge(r, other_keys, other_weights, start[r] - start[c], start[r + 1] - start[c], at, made)
            made.end[r] = at
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
    rows: Rows, group: Int32s, members: Int32s, first: Int64s, c: int, stop: int, keys: Int64s, weights: Floats
) -> int:
    """Write keys and weights of all entries of the rows c:stop; return how many there are."""
    indptr, indices, data = rows
    count = np.uint64(0)
    last = len(members) - 1
    for r in range(c, stop):
        row = (r - c) << ROW
        for m in range(first[r], first[r + 1]):
            if len(group) > CACHED:
                prefetch(indptr, np.uint32(members[min(m + 6 * AHEAD, last)]))
                prefetch_row(rows, np.uint32(members[min(m + 4 * AHEAD, last)]))
            i = np.uint32(members[m])
            for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + np.uint32(1)])):
                keys[count] = row | np.int64(group[np.uint32(indices[p])])
                weights[count] = data[p]
                count += np.uint64(1)
    return int(count)


@kernel(plain=None)
def _distribute(
    keys: Int64s, weights: Floats, count: int, shift: int, digit: int, new_keys: Int64s, new_weights: Floats
) -> None:
    """Sort the first `count` entries by `digit` bits of their keys, from bit `shift` on; the sort is stable."""
    mask = np.int64((1 << digit) - 1)
    cursor = np.zeros((1 << digit) + 1, np.int64)
    for t in range(np.uint64(count)):
        cursor[np.uint64((keys[t] >> shift) & mask) + np.uint64(1)] += 1
    for number in range(1 << digit):
        cursor[number + 1] += cursor[number]
    for t in range(np.uint64(count)):
        place = np.uint64((keys[t] >> shift) & mask)
        at = np.uint64(cursor[place])
        new_keys[at] = keys[t]
        new_weights[at] = weights[t]
        cursor[place] += 1


@kernel(plain=None)
def _merge(row: int, keys: Int64s, weights: Floats, start: int, stop: int, at: int, made: Buffers) -> int:
    """Write the sorted entries start:stop as a row from `at` on, equal columns summed; return where it ends.

    Sums go from the last term to the first, on the diagonal from the first to the last.
    """
    place, p, end = np.uint64(at), np.uint64(start), np.uint64(stop)
    while p < end:
        key, total, after = keys[p], float(weights[p]), p + np.uint64(1)
        column = np.int32(key & COLUMN)
        if after < end and keys[after] == key:
            while after < end and keys[after] == key:
                total += float(weights[after])
                after += np.uint64(1)
            if column != row:
                total, q = 0.0, after
                while q > p:
                    q -= np.uint64(1)
                    total += float(weights[q])
        made.columns[place] = column
        made.values[place] = total
        place += np.uint64(1)
        p = after
    return int(place)


@kernel
def _mirror(low: int, high: int, made: Buffers) -> None:
    """Copy the values of the lower triangle, in rows low:high, from the upper one."""
    begin, end, columns, values = made
    for c in range(low, high):
        for p in range(begin[c], end[c]):
            r = columns[p]
            if r >= c:
                break
            values[p] = values[begin[r] + np.searchsorted(columns[begin[r] : end[r]], c)]
