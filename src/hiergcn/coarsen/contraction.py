"""The coarser graph: A' = MᵀAM (Eq. 5), rows sorted, and symmetric to the last bit.

Only the part of each row from the diagonal on is summed, with a small hash table that stays in the fastest cache; the
part left of it is a mirror. To sum both would be twice the work, and real weights, added in another order, would
differ from their mirrors in the last bits. Nothing is sorted: a mirror visited row by row comes out in order, and so
does its mirror.

A hyper-node has at most as many entries as its members have together, so each row is made in a room of that size, the
left part from the room's beginning, the right part towards its end, and at last the gaps are closed. No second copy
of the matrix is held. Where single precision holds every sum exactly, as it does for counts of edges, values have it.
"""

import numpy as np
import numpy.typing as npt

from hiergcn.compiled.csr import Rows, frozen
from hiergcn.compiled.jit import kernel
from hiergcn.compiled.threads import even_ranges, run_over

EXACT = 2.0**24
"""Single precision holds whole numbers up to here."""

SPREAD = 0x9E3779B1
"""2^32 over the golden ratio: the upper bits of its multiples tell neighbouring columns apart."""

RANGES_PER_THREAD = 4
"""The work of a range of rows is not known beforehand, so there are more ranges than threads to share out."""


def contract(rows: Rows, group: npt.NDArray[np.int32], n_coarse: int) -> Rows:
    """MᵀAM for the grouping `group` (n,) onto `n_coarse` hyper-nodes.

    The edges inside a hyper-node become its self-loop; as in the product, each counts twice (once from either end).
    """
    members, first = _members(group, n_coarse)  # (n,), (n_coarse + 1,)
    entries = np.bincount(group, weights=np.diff(rows.indptr), minlength=n_coarse).astype(np.int64)
    room = offsets(entries)  # (n_coarse + 1,)
    indices = np.empty(room[-1], dtype=np.int32)
    data = np.empty(room[-1], dtype=np.float32 if _sums_are_small(rows, group, n_coarse) else np.float64)
    right = np.empty(n_coarse, dtype=np.int64)  # where the right part of each row begins
    left_end = room[:-1].copy()  # where its left part ends
    share = np.arange(n_coarse) / n_coarse  # of a row that is left of its diagonal, about
    run_over(
        even_ranges(room, RANGES_PER_THREAD),
        lambda low, high: _sum_right(*rows, group, members, first, low, high, room, right, indices, data),
    )
    run_over(
        even_ranges(offsets((entries * share).astype(np.int64))),
        lambda low, high: _mirror_to_left(low, high, room, right, left_end, indices, data),
    )
    run_over(
        even_ranges(offsets((entries * (1 - share)).astype(np.int64))),
        lambda low, high: _mirror_to_right(low, high, room, right, left_end, indices, data),
    )
    indptr = _close_gaps(room, right, left_end, indices, data)
    indices.resize(indptr[-1], refcheck=False)  # gives the rest back without a copy
    data.resize(indptr[-1], refcheck=False)
    return Rows(frozen(indptr, np.int64), frozen(indices, np.int32), frozen(data, data.dtype))


def _sums_are_small(rows: Rows, group: npt.NDArray[np.int32], n_coarse: int) -> bool:
    """Whether all weights are whole and no hyper-node's are more than `EXACT` in sum, so that no sum of them can be."""
    strength = np.empty(rows.n)  # of a node: the sum of its row
    run_over(even_ranges(rows.indptr), lambda low, high: _strengths(rows.indptr, rows.data, low, high, strength))
    largest = np.bincount(group, weights=strength, minlength=n_coarse).max(initial=0.0)
    return bool(largest <= EXACT)


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
def _strengths(
    indptr: npt.NDArray[np.int64],
    data: npt.NDArray[np.floating],
    start: int,
    stop: int,
    strength: npt.NDArray[np.float64],
) -> None:
    """Sums of rows start:stop; infinite where a weight is not a whole number."""
    for i in range(start, stop):
        total, rest = 0.0, 0.0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            total += data[p]
            rest += data[p] - np.floor(data[p])
        strength[i] = total if rest == 0.0 else np.inf


@kernel
def _sum_right(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    data: npt.NDArray[np.floating],
    group: npt.NDArray[np.int32],
    members: npt.NDArray[np.int32],
    first: npt.NDArray[np.int64],
    low: int,
    high: int,
    room: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int32],
    values: npt.NDArray[np.floating],
) -> None:
    """The right parts of rows low:high: the diagonal first, where there is one, then the others in no order.

    The entries right of the diagonal are first written one after the other into the row's room, without a branch that
    the processor would have to guess, then summed from the last to the first: so what is written to the room's end
    never meets what is still to be read. The table holds, by the hash of its column, how far from the room's end an
    entry was put; 0 is a free slot.
    """
    table = np.zeros(64, np.int32)
    for c in range(low, high):
        found = np.uint64(room[c])
        diagonal = 0.0
        for m in range(first[c], first[c + 1]):
            i = np.uint32(members[m])
            for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                g = group[np.uint32(indices[p])]
                columns[found] = g
                values[found] = data[p]
                found += np.uint64(g > c)
                diagonal += data[p] if g == c else 0.0
        end = np.uint64(room[c + 1])
        most = min(found - np.uint64(room[c]), np.uint64(len(right) - c))  # columns that differ
        bits = np.uint32(1)
        while (np.uint64(1) << bits) < np.uint64(2) * most:
            bits += np.uint32(1)
        size = np.uint64(1) << bits
        if size > np.uint64(len(table)):
            table = np.zeros(size, np.int32)
        mask, shift = np.uint32(size - np.uint64(1)), np.uint32(32) - bits
        at = end
        while found > np.uint64(room[c]):
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
        right[c] = at


@kernel
def _mirror_to_left(
    low: int,
    high: int,
    room: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    left_end: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int32],
    values: npt.NDArray[np.floating],
) -> None:
    """The left parts of rows low:high from the right parts of the rows before them."""
    for r in range(high):
        for q in range(np.uint64(right[r]), np.uint64(room[r + 1])):
            c = columns[q]
            if low <= c < high and c != r:
                at = np.uint64(left_end[np.uint32(c)])
                columns[at] = r
                values[at] = values[q]
                left_end[np.uint32(c)] += 1


@kernel
def _mirror_to_right(
    low: int,
    high: int,
    room: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    left_end: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int32],
    values: npt.NDArray[np.floating],
) -> None:
    """The right parts of rows low:high once more, now in order, from the left parts of the rows after them."""
    cursor = right[low:high].copy()
    for c in range(low, high):
        if right[c] < room[c + 1] and columns[right[c]] == c:  # the diagonal is in its place
            cursor[c - low] += 1
    for r in range(low, len(right)):
        for q in range(np.uint64(room[r]), np.uint64(left_end[r])):
            c = columns[q]
            if c >= high:
                break
            if c >= low:
                at = np.uint64(cursor[np.uint32(c - low)])
                columns[at] = r
                values[at] = values[q]
                cursor[np.uint32(c - low)] += 1


@kernel
def _close_gaps(
    room: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    left_end: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int32],
    values: npt.NDArray[np.floating],
) -> npt.NDArray[np.int64]:
    """Move all parts to the left, in place, until they touch; where each row begins now."""
    indptr = np.zeros(len(room), np.int64)
    at = np.uint64(0)
    for c in range(len(right)):
        for q in range(np.uint64(room[c]), np.uint64(left_end[c])):
            columns[at] = columns[q]
            values[at] = values[q]
            at += np.uint64(1)
        for q in range(np.uint64(right[c]), np.uint64(room[c + 1])):
            columns[at] = columns[q]
            values[at] = values[q]
            at += np.uint64(1)
        indptr[c + 1] = at
    return indptr
