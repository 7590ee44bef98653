"""Contraction: the coarser graph A' = MᵀAM (Eq. 5), rows sorted, and symmetric to the last bit.

`M.T @ A @ M` in `reference.py` is the plain version. Here each row of A' is made by itself: the rows of its members are
gathered, sorted by column, and equal columns summed. Rows are sorted many at a time, by radix sort, in blocks that stay
in the cache. So every thread writes memory in order; it reads the rows of members, which it prefetches, and looks up
the hyper-node of each neighbour. An entry is sorted as one number, which tells its row, column and place.

A row of A' has at most as many entries as those of its members together, so there is room for the matrix in arrays of
that size. Each thread makes a few rows in its own buffers, which stay in the cache, and copies them to their place as
soon as the lengths of the rows before them are known: memory beyond the result is never touched. Values are float32 if
that holds every sum exactly, as it does for counts. Other sums depend on the order of their terms in the last bits, so
the lower triangle is then copied from the upper one.
"""

from typing import Any, NamedTuple

import numpy as np

from hiergcn.compiled.csr import Float64s, Floats, Int32s, Int64s, Rows, UInt64s, frozen
from hiergcn.compiled.jit import even_ranges, kernel, run_over, thread_count
from hiergcn.compiled.simd import AHEAD, CACHED, prefetch, prefetch_neighbours, prefetch_row

EXACT = 2.0**24
"""float32 holds whole numbers up to here."""
BLOCK = 2**13
"""Entries that are sorted together: few enough for the cache of one core, and many for a table of 2^`DIGIT` counts."""
DIGIT = 12
"""Most bits by which entries are distributed at a time."""
PART = 2**22
"""Most entries, of all threads together, that are made before they are copied to their place."""


class Made(NamedTuple):
    """Rows of the coarser graph, one after the other."""

    columns: Int32s
    values: Floats


def contract(rows: Rows, group: Int32s, n_coarse: int) -> Rows:
    """Return MᵀAM for the grouping `group` (n,) onto `n_coarse` hyper-nodes.

    The edges inside a hyper-node become its self-loop; as in the product, each counts twice (once from either end).
    """
    members, first = group_members(group, n_coarse)  # (n,), (n_coarse + 1,)
    start = offsets(group_sums(group, np.diff(rows.indptr), n_coarse))
    strength = np.empty(rows.n)  # of a node: the sum of its row, infinite if a weight is not a whole number
    run_over(even_ranges(rows.indptr), lambda low, high: _strengths(rows.indptr, rows.data, low, high, strength))
    are_small = group_sums(group, strength, n_coarse).max(initial=0.0) <= EXACT
    kind = np.float32 if are_small else np.float64
    made = Made(np.empty(start[-1], np.int32), np.empty(start[-1], kind))
    lengths, indptr = np.empty(n_coarse, np.int64), np.zeros(n_coarse + 1, np.int64)
    ranges = even_ranges(start, 1 + int(start[-1]) // PART)
    threads = 1 if len(ranges) == 1 else thread_count()
    most = max(int(start[high] - start[low]) for low, high in ranges)
    buffers = [Made(np.empty(most, np.int32), np.empty(most, kind)) for _ in range(threads)]

    def make(one: int, _: int) -> None:
        low, high = turn[one]
        _sum_rows(rows, group, members, first, start, low, high, buffers[one], lengths)

    def copy(one: int, _: int) -> None:
        begin, end = indptr[list(turn[one])]
        for whole, part in zip(made, buffers[one], strict=True):
            whole[begin:end] = part[: end - begin]

    for done in range(0, len(ranges), threads):
        turn = ranges[done : done + threads]  # a range for each thread
        each = [(one, one + 1) for one in range(len(turn))]
        run_over(each, make, threads)
        low, high = turn[0][0], turn[-1][1]
        indptr[low + 1 : high + 1] = indptr[low] + np.cumsum(lengths[low:high])
        run_over(each, copy, threads)
    if kind == np.float64:
        run_over(ranges, lambda low, high: _mirror(low, high, indptr, made))
    for array in made:
        array.resize(indptr[-1], refcheck=False)  # frees the rest without a copy
    return Rows(frozen(indptr, np.int64), frozen(made.columns, np.int32), frozen(made.values, kind))


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
        if len(labels) > CACHED:
            prefetch(number, np.uint32(labels[min(i + 4 * AHEAD, len(labels) - 1)]))
        if number[labels[i]] < 0:
            number[labels[i]] = count
            count += 1
        group[i] = number[labels[i]]
    return count


def group_members(group: Int32s, n_coarse: int) -> tuple[Int32s, Int64s]:
    """Return the members of every hyper-node: those of c, ascending, are members[first[c]:first[c + 1]]."""
    members, first = np.empty(len(group), np.int32), np.zeros(n_coarse + 1, np.int64)
    _list_members(group, members, first)
    return members, first


@kernel
def _list_members(group: Int32s, members: Int32s, first: Int64s) -> None:
    for c in group:
        first[c] += 1
    for c in range(len(first) - 1):
        first[c + 1] += first[c]  # where the members end: they are written from the last to the first
    for i in range(len(group) - 1, -1, -1):
        if len(group) > CACHED:
            prefetch(first, np.uint32(group[max(i - 4 * AHEAD, 0)]))
        first[group[i]] -= 1
        members[first[group[i]]] = i


@kernel
def group_sums(group: Int32s, values: Any, n_coarse: int) -> Any:
    """Return the sum of the values of the members of each hyper-node, (n_coarse,)."""
    total = np.zeros(n_coarse, values.dtype)
    for i in range(len(group)):
        total[group[i]] += values[i]
    return total


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
    rows: Rows,
    group: Int32s,
    members: Int32s,
    first: Int64s,
    start: Int64s,
    low: int,
    high: int,
    made: Made,
    lengths: Int64s,
) -> None:
    """Write the rows low:high one after the other, each sorted, and their lengths; a block of rows at a time.

    The key of an entry is its row within the block, its column, and its place in the block. Radix sort is stable, so
    terms of a sum stay in the order of the members.
    """
    size = BLOCK
    for c in range(low, high):
        size = max(size, start[c + 1] - start[c])
    keys, other_keys, weights = np.empty(size, np.uint64), np.empty(size, np.uint64), np.empty(size, made.values.dtype)
    bits = _bits(len(first) - 1)  # of a column
    passes = -(-bits // DIGIT)
    digit = -(-bits // passes)
    digits, rows_begin = np.empty(1 << digit, np.int64), np.empty(BLOCK, np.int64)
    c, at = low, 0
    while c < high:
        stop = c + 1
        while stop < min(high, c + BLOCK) and start[stop + 1] - start[c] <= BLOCK:
            stop += 1
        count = start[stop] - start[c]
        shift = _bits(count)  # of a column in a key: the bits of a place are below
        _gather(rows, group, members, first, c, stop, shift, bits, keys, weights)
        for number in range(passes):
            _count_digits(keys, count, shift + number * digit, digits)
            _distribute(keys, count, shift + number * digit, digits, other_keys)
            keys, other_keys = other_keys, keys
        for r in range(c, stop):
            rows_begin[r - c] = start[r] - start[c]
        _distribute(keys, count, shift + bits, rows_begin, other_keys)
        for r in range(c, stop):
            end = _merge(r, other_keys, weights, shift, bits, start[r] - start[c], start[r + 1] - start[c], at, made)
            lengths[r] = end - at
            at = end
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
    rows: Rows,
    group: Int32s,
    members: Int32s,
    first: Int64s,
    c: int,
    stop: int,
    shift: int,
    bits: int,
    keys: UInt64s,
    weights: Floats,
) -> None:
    """Write keys and weights of all entries of the rows c:stop."""
    indptr, indices, data = rows
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
def _count_digits(keys: UInt64s, count: int, shift: int, begin: Int64s) -> None:
    """Write where each digit, which are the bits from `shift` on, begins in sorted order."""
    low, mask = np.uint64(shift), np.uint64(len(begin) - 1)
    begin[:] = 0
    for t in range(np.uint64(count)):
        begin[(keys[t] >> low) & mask] += 1
    before = 0
    for digit in range(len(begin)):
        entries = begin[digit]
        begin[digit] = before
        before += entries


@kernel(plain=None)
def _distribute(keys: UInt64s, count: int, shift: int, begin: Int64s, new_keys: UInt64s) -> None:
    """Sort the first `count` keys by a digit, from bit `shift` on; the entries of a digit go to begin[digit] and on."""
    low, mask = np.uint64(shift), np.uint64(len(begin) - 1)
    for t in range(np.uint64(count)):
        key = keys[t]
        digit = (key >> low) & mask
        place = begin[digit]
        begin[digit] = place + 1
        new_keys[np.uint64(place)] = key


@kernel(plain=None)
def _merge(
    row: int, keys: UInt64s, weights: Floats, shift: int, bits: int, start: int, stop: int, at: int, made: Made
) -> int:
    """Write the sorted entries start:stop as a row from `at` on, equal columns summed; return where it ends.

    Sums go from the last term to the first, on the diagonal from the first to the last.
    """
    low, in_block, in_row = np.uint64(shift), np.uint64((1 << shift) - 1), np.uint64((1 << bits) - 1)
    to, p, end = np.uint64(at), np.uint64(start), np.uint64(stop)
    while p < end:
        key, total, after = keys[p] >> low, float(weights[keys[p] & in_block]), p + np.uint64(1)
        column = np.int32(key & in_row)
        if after < end and keys[after] >> low == key:
            while after < end and keys[after] >> low == key:
                total += float(weights[keys[after] & in_block])
                after += np.uint64(1)
            if column != row:
                total, q = 0.0, after
                while q > p:
                    q -= np.uint64(1)
                    total += float(weights[keys[q] & in_block])
        made.columns[to] = column
        made.values[to] = total
        to += np.uint64(1)
        p = after
    return int(to)


@kernel
def _mirror(low: int, high: int, indptr: Int64s, made: Made) -> None:
    """Copy the values of the lower triangle, in rows low:high, from the upper one."""
    columns, values = made
    for c in range(low, high):
        for p in range(indptr[c], indptr[c + 1]):
            r = columns[p]
            if r >= c:
                break
            values[p] = values[indptr[r] + np.searchsorted(columns[indptr[r] : indptr[r + 1]], c)]
