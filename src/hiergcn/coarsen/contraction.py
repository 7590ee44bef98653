"""Contraction: the coarser graph A' = MᵀAM (Eq. 5), rows sorted, and symmetric to the last bit.

`M.T @ A @ M` in `reference.py` is the plain version. Here only the upper triangle is summed, with a small hash table
that stays in the fastest cache; the lower triangle is its mirror. Summing both would be twice the work, and real
weights, added in another order, would differ from their mirrors in the last bits. Nothing is sorted by comparison:
transposing the upper triangle row by row yields a sorted lower one, and transposing that a sorted upper one.

A hyper-node has at most as many entries as its members together, so each row is built in a buffer of that size, the
lower part from the beginning of the buffer, the upper part towards its end; then the buffers are compacted in place.
So there is no second copy of the matrix. Values are float32 if that holds every sum exactly, as it does for counts.
"""

from typing import NamedTuple

import numpy as np

from hiergcn.compiled.csr import Float64s, Floats, Int32s, Int64s, Rows, frozen
from hiergcn.compiled.jit import even_ranges, kernel, run_over

EXACT = 2.0**24
"""float32 holds whole numbers up to here."""
SPREAD = 0x9E3779B1
"""2^32 over the golden ratio: the upper bits of its multiples distinguish neighbouring columns."""
RANGES_PER_THREAD = 4
"""The work of a range of rows is not known beforehand, so there are more ranges than threads."""


class Buffers(NamedTuple):
    """The rows of the coarser graph under construction; row c is in start[c]:start[c + 1] of columns and values."""

    start: Int64s  # (n_coarse + 1,)
    lower_end: Int64s  # (n_coarse,) where the lower part of each row ends
    upper: Int64s  # (n_coarse,) where its upper part, diagonal included, begins
    columns: Int32s
    values: Floats


def contract(rows: Rows, group: Int32s, n_coarse: int) -> Rows:
    """Return MᵀAM for the grouping `group` (n,) onto `n_coarse` hyper-nodes.

    The edges inside a hyper-node become its self-loop; as in the product, each counts twice (once from either end).
    """
    members, first = group_members(group, n_coarse)  # (n,), (n_coarse + 1,)
    entries = np.bincount(group, weights=np.diff(rows.indptr), minlength=n_coarse).astype(np.int64)
    start = offsets(entries)
    kind = np.float32 if _sums_are_small(rows, group, n_coarse) else np.float64
    columns, values = np.empty(start[-1], np.int32), np.empty(start[-1], kind)
    made = Buffers(start, start[:-1].copy(), np.empty(n_coarse, np.int64), columns, values)
    share = np.arange(n_coarse) / n_coarse  # of a row that is in the lower triangle, about
    all_parts = even_ranges(start, RANGES_PER_THREAD)
    lower = even_ranges(offsets((entries * share).astype(np.int64)))
    upper = even_ranges(offsets((entries * (1 - share)).astype(np.int64)))
    run_over(all_parts, lambda low, high: _sum_upper(rows, group, members, first, low, high, made))
    run_over(lower, lambda low, high: _mirror_to_lower(low, high, made))
    run_over(upper, lambda low, high: _mirror_to_upper(low, high, made))
    indptr = _compact(made)
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
    """Return where each of some consecutive runs begins, and where the last one ends."""
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
def _sum_upper(rows: Rows, group: Int32s, members: Int32s, first: Int64s, low: int, high: int, made: Buffers) -> None:
    """Sum the upper parts of rows low:high: the diagonal first, if there is one, then the others in any order.

    The entries right of the diagonal are first written one after the other into the row's buffer, without a branch that
    the processor would have to predict, then summed from the last to the first. So sums, which are written to the end
    of the buffer, never overwrite entries that are still to be read. The hash table holds, by the hash of its column,
    the distance of a sum from the buffer's end; 0 is a free slot.
    """
    indptr, indices, data = rows
    start, _, upper, columns, values = made
    table = np.zeros(64, np.int32)
    for c in range(low, high):
        found = np.uint64(start[c])
        diagonal = 0.0
        for m in range(first[c], first[c + 1]):
            i = np.uint32(members[m])
            for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                g = group[np.uint32(indices[p])]
                columns[found] = g
                values[found] = data[p]
                found += np.uint64(g > c)
                diagonal += np.float64(data[p]) if g == c else 0.0
        end = np.uint64(start[c + 1])
        most = min(found - np.uint64(start[c]), np.uint64(len(upper) - c))  # distinct columns
        bits = np.uint32(1)
        while (np.uint64(1) << bits) < np.uint64(2) * most:
            bits += np.uint32(1)
        size = np.uint64(1) << bits
        if size > np.uint64(len(table)):
            table = np.zeros(size, np.int32)
        mask, shift = np.uint32(size - np.uint64(1)), np.uint32(32) - bits
        at = end
        while found > np.uint64(start[c]):
            found -= np.uint64(1)
            column, weight = columns[found], values[found]
            slot = np.uint32(np.uint32(column) * np.uint32(SPREAD)) >> shift
            while table[slot] != 0 and columns[end - np.uint64(table[slot])] != column:
                slot = (slot + np.uint32(1)) & mask
            if table[slot] == 0:
                at -= np.uint64(1)
                columns[at], values[at] = column, weight
                table[slot] = np.int32(end - at)
            else:
                values[end - np.uint64(table[slot])] += weight
        table[: np.int64(size)] = 0
        if diagonal > 0.0:
            at -= np.uint64(1)
            columns[at] = c
            values[at] = diagonal
        upper[c] = at


@kernel
def _mirror_to_lower(low: int, high: int, made: Buffers) -> None:
    """Write the lower parts of rows low:high, sorted, from the upper parts of the rows before them."""
    start, lower_end, upper, columns, values = made
    for r in range(high):
        for q in range(np.uint64(upper[r]), np.uint64(start[r + 1])):
            c = columns[q]
            if low <= c < high and c != r:
                at = np.uint64(lower_end[np.uint32(c)])
                columns[at] = r
                values[at] = values[q]
                lower_end[np.uint32(c)] += 1


@kernel
def _mirror_to_upper(low: int, high: int, made: Buffers) -> None:
    """Write the upper parts of rows low:high again, now sorted, from the lower parts of the rows after them."""
    start, lower_end, upper, columns, values = made
    cursor = upper[low:high].copy()
    for c in range(low, high):
        if upper[c] < start[c + 1] and columns[upper[c]] == c:  # the diagonal is in its place
            cursor[c - low] += 1
    for r in range(low, len(upper)):
        for q in range(np.uint64(start[r]), np.uint64(lower_end[r])):
            c = columns[q]
            if c >= high:
                break
            if c >= low:
                at = np.uint64(cursor[np.uint32(c - low)])
                columns[at] = r
                values[at] = values[q]
                cursor[np.uint32(c - low)] += 1


@kernel
def _compact(made: Buffers) -> Int64s:
    """Move all parts to the left, in place, until there are no gaps; return where each row begins then."""
    start, lower_end, upper, columns, values = made
    indptr = np.zeros(len(start), np.int64)
    at = np.uint64(0)
    for c in range(len(upper)):
        for q in range(np.uint64(start[c]), np.uint64(lower_end[c])):
            columns[at] = columns[q]
            values[at] = values[q]
            at += np.uint64(1)
        for q in range(np.uint64(upper[c]), np.uint64(start[c + 1])):
            columns[at] = columns[q]
            values[at] = values[q]
            at += np.uint64(1)
        indptr[c + 1] = at
    return indptr
