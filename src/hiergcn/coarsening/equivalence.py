"""Structural equivalence grouping (SEG): nodes with the same set of neighbours become one hyper-node (Section 3.3).

`reference.equivalent_nodes` is the plain version. Equivalence is exact: nodes with the same 64-bit hash of their
neighbour sets are compared neighbour by neighbour before they are grouped. Time is linear in nodes and edges.
"""

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from hiergcn.compiled.csr import Int32s, Int64s, Integers, Rows, UInt64s, matrix_of
from hiergcn.compiled.jit import PLAIN, even_ranges, kernel, mix, run_over
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
    head = equivalence_classes(rows, hashes, config.loops_are_neighbours, config.isolated == "merge")
    if config.equivalence_limit is not None:
        nodes, number = np.argsort(head, kind="stable"), np.arange(rows.n)  # class by class
        rank = number - np.searchsorted(head[nodes], head[nodes])
        head[nodes] = nodes[number - rank % config.equivalence_limit]
    return head


def neighbour_hashes(rows: Rows, loops_are_neighbours: bool) -> UInt64s:
    """Return a hash of each node's neighbour set: the sum, modulo 2^64, of its mixed neighbour indices."""
    if len(rows.indices) < PLAIN:  # by scipy, so that nothing is compiled
        mixed = hashed(np.arange(rows.n, dtype=np.uint64))
        hashes: UInt64s = _pattern(rows).astype(np.uint64) @ mixed
        return hashes if loops_are_neighbours else hashes - mixed * _pattern(rows).diagonal()
    hashes = np.empty(rows.n, dtype=np.uint64)
    sets = rows.indptr, rows.indices, loops_are_neighbours
    run_over(even_ranges(rows.indptr), lambda low, high: _hash_rows(*sets, low, high, hashes))
    return hashes


@kernel
def _hash_rows(indptr: Int64s, indices: Int32s, loops: bool, start: int, stop: int, hashes: UInt64s) -> None:
    for i in range(start, stop):
        total = np.uint64(0)
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            if loops or indices[p] != i:
                total += mix(np.uint64(indices[p]))
        hashes[i] = total


def hashed(numbers: UInt64s) -> UInt64s:
    """Return each number with its bits mixed."""
    with np.errstate(over="ignore"):
        mixed: UInt64s = mix.__wrapped__(numbers)  # type: ignore[attr-defined]
    return mixed


def equivalence_classes(rows: Rows, hashes: UInt64s, loops_are_neighbours: bool, merge_isolated: bool) -> Int32s:
    """Return the smallest member of each node's equivalence class, (n,), for any `hashes` that agree on equal sets."""
    A, head = _pattern(rows), np.arange(rows.n, dtype=np.int32)
    isolated = np.diff(rows.indptr) <= A.diagonal()  # a node with only a loop is alone, too
    nodes: Integers = head.copy() if merge_isolated else np.flatnonzero(~isolated)
    while nodes.size:
        leader = pd.Series(nodes).groupby(hashes[nodes], sort=False).transform("first").to_numpy()
        nodes, leader = nodes[leader != nodes], leader[leader != nodes]
        sets: list[Any] = []  # scipy declares that their comparison is a bool
        for listed in (nodes, leader):
            neighbours = A[listed]
            if not loops_are_neighbours:
                neighbours.data[neighbours.indices == np.repeat(listed, np.diff(neighbours.indptr))] = False
            sets.append(neighbours)
        same = np.diff((sets[0] != sets[1]).indptr) == 0
        head[nodes[same]] = leader[same]
        nodes = nodes[~same]  # whose hash is that of another set
    return head


def _pattern(rows: Rows) -> sp.csr_array:
    """Return the matrix of which nodes are neighbours."""
    ones: Any = np.ones(len(rows.indices), np.bool_)
    return matrix_of(rows._replace(data=ones))
