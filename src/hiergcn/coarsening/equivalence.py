"""Structural equivalence grouping (SEG): nodes with the same set of neighbours become one hyper-node (Section 3.3).

`reference.equivalent_nodes` is the plain version. Equivalence is exact: nodes with the same 64-bit hash of their
neighbour sets are compared neighbour by neighbour before they are grouped. Time is linear in nodes and edges.
"""

import numpy as np

from hiergcn.compiled.csr import Int32s, Int64s, Rows, UInt64s
from hiergcn.compiled.jit import PLAIN, even_ranges, kernel, mix, run_over
from hiergcn.compiled.simd import AHEAD, CACHED, prefetch
from hiergcn.settings.fields import CoarsenConfig


def equivalence_groups(rows: Rows, config: CoarsenConfig) -> Int32s:
    """Return the smallest member of each node's equivalence group, (n,); a node alone is its own.

    Two nodes are equivalent if N(j) = N(k). Edge weights do not count. A node is not its own neighbour, so the
    self-loop that a hyper-node gets from its internal edges makes no difference, unless
    `config.loops_are_neighbours`. The relation is transitive, so a whole class becomes one hyper-node;
    `config.equivalence_limit` cuts classes, in the order of the node indices, into groups of at most that many. Nodes
    without neighbours share none and stay alone, unless `config.isolated == "merge"`.

    Reference: the authors' code merges whole classes, all isolated nodes into one, and counts self-loops as neighbours.
    """
    if config.equivalence_limit == 1:
        return np.arange(rows.n, dtype=np.int32)
    hashes = neighbour_hashes(rows, config.loops_are_neighbours)
    first = equivalence_classes(rows, hashes, config.loops_are_neighbours, config.isolated == "merge")
    if config.equivalence_limit is None:
        return first
    return _cut_classes(first, config.equivalence_limit)


def neighbour_hashes(rows: Rows, loops_are_neighbours: bool) -> UInt64s:
    """Return a hash of each node's neighbour set: the sum, modulo 2^64, of its mixed neighbour indices."""
    if len(rows.indices) < PLAIN:  # by NumPy, which takes more memory, but nothing is compiled
        with np.errstate(over="ignore"):
            mixed = mix.__wrapped__(rows.indices.astype(np.uint64))  # type: ignore[attr-defined]
        if not loops_are_neighbours:
            mixed[rows.indices == np.repeat(np.arange(rows.n), np.diff(rows.indptr))] = 0
        sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(mixed)))
        few: UInt64s = sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]
        return few
    hashes = np.empty(rows.n, dtype=np.uint64)

    def work(start: int, stop: int) -> None:
        _hash_rows(rows.indptr, rows.indices, loops_are_neighbours, start, stop, hashes)

    run_over(even_ranges(rows.indptr), work)
    return hashes


def equivalence_classes(rows: Rows, hashes: UInt64s, loops_are_neighbours: bool, merge_isolated: bool) -> Int32s:
    """Return the smallest member of each node's equivalence class, (n,), for any `hashes` that agree on equal sets."""
    first = np.empty(rows.n, dtype=np.int32)
    _find_classes(rows.indptr, rows.indices, hashes, loops_are_neighbours, merge_isolated, first)
    return first


@kernel
def _hash_rows(indptr: Int64s, indices: Int32s, loops: bool, start: int, stop: int, hashes: UInt64s) -> None:
    for i in range(start, stop):
        total = np.uint64(0)
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            if loops or indices[p] != i:
                total += mix(np.uint64(indices[p]))
        hashes[i] = total


@kernel(plain=None)
def _same_neighbours(indptr: Int64s, indices: Int32s, loops: bool, i: int, k: int) -> bool:
    p, p_end, q, q_end = indptr[i], indptr[i + 1], indptr[k], indptr[k + 1]
    while True:
        if not loops:
            if p < p_end and indices[p] == i:
                p += 1
            if q < q_end and indices[q] == k:
                q += 1
        if p == p_end or q == q_end:
            return bool(p == p_end and q == q_end)
        if indices[p] != indices[q]:
            return False
        p += 1
        q += 1


@kernel
def _find_classes(
    indptr: Int64s, indices: Int32s, hashes: UInt64s, loops: bool, merge_isolated: bool, first: Int32s
) -> None:
    """Find classes by a hash table with linear probing, which holds the first node of each class so far."""
    n = len(first)
    size = 1
    while size < 2 * n:
        size *= 2
    mask = np.uint64(size - 1)
    table = np.full(size, -1, np.int32)
    for i in range(n):
        if n > CACHED:
            prefetch(table, hashes[min(i + 2 * AHEAD, n - 1)] & mask)
        first[i] = i
        degree = indptr[i + 1] - indptr[i]
        isolated = degree == 0 or (degree == 1 and indices[indptr[i]] == i)  # a node with only a loop is alone, too
        if isolated and not merge_isolated:
            continue
        slot = hashes[i] & mask
        while table[slot] >= 0:
            k = table[slot]
            if hashes[k] == hashes[i] and _same_neighbours(indptr, indices, loops, i, k):
                first[i] = k
                break
            slot = (slot + np.uint64(1)) & mask
        if table[slot] < 0:
            table[slot] = i


@kernel
def _cut_classes(first: Int32s, limit: int) -> Int32s:
    """Cut each class, in the order of the indices, into groups of at most `limit`, named by their smallest members."""
    n = len(first)
    head = np.empty(n, np.int32)
    filled = np.zeros(n, np.int64)  # members so far, by class
    latest = np.empty(n, np.int32)  # the group being filled, by class
    for i in range(n):
        c = first[i]
        if filled[c] % limit == 0:
            latest[c] = i
        head[i] = latest[c]
        filled[c] += 1
    return head
