"""Receptive field: how many nodes a node's output depends on, by the number of coarsening levels.

A network that goes k levels down and back convolves 2k + 1 times: once at every level on the way down, at the coarsest,
and once at every level on the way up. A node is in the receptive field of another if a path through these steps leads
from it to the other. Sizes are counted for a sample of nodes.
"""

import numpy as np
import scipy.sparse as sp

from hiergcn.coarsen.hierarchy import Hierarchy
from hiergcn.compiled.csr import Int32s, Int64s, UInt64s, rows_of
from hiergcn.compiled.jit import kernel

SAMPLE = 64  # nodes; each is one bit of a mark

Marks = UInt64s  # (n_l,): the sampled nodes in whose receptive field a node is


def receptive_field_sizes(hierarchy: Hierarchy) -> Int64s:
    """Return (levels, sampled nodes): the size of the receptive field if the network goes that many levels down."""
    marks, sample = _sampled(hierarchy.levels[0].n_nodes)
    sizes = []
    for depth, level in enumerate(hierarchy.levels):
        marks = _convolved(level.adjacency, marks)
        sizes.append(_refined(hierarchy, depth, marks)[:sample])
        if level.group is not None:
            pooled = np.zeros(hierarchy.levels[depth + 1].n_nodes, dtype=np.uint64)
            np.bitwise_or.at(pooled, level.group, marks)
            marks = pooled
    return np.array(sizes)


def flat_receptive_field_sizes(adjacency: sp.csr_array, layers: int) -> Int64s:
    """Return (sampled nodes,): the size of the receptive field of `layers` convolutions without coarsening."""
    marks, sample = _sampled(int(adjacency.shape[0]))
    for _ in range(layers):
        marks = _convolved(adjacency, marks)
    return _counts(marks)[:sample]


def _sampled(n: int) -> tuple[Marks, int]:
    """Return one bit for each of some nodes, evenly spread, and how many there are."""
    sample = min(SAMPLE, n)
    marks = np.zeros(n, dtype=np.uint64)
    marks[np.linspace(0, n - 1, sample).astype(np.int64)] = np.uint64(1) << np.arange(sample, dtype=np.uint64)
    return marks, sample


def _refined(hierarchy: Hierarchy, depth: int, marks: Marks) -> Int64s:
    """Go back up from `depth` and count the input nodes that have each bit."""
    for level in reversed(hierarchy.levels[:depth]):
        marks = _convolved(level.adjacency, marks[level.grouping()])
    return _counts(marks)


def _counts(marks: Marks) -> Int64s:
    """Return how many nodes have each bit."""
    bits = np.unpackbits(marks.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    counts: Int64s = bits.sum(axis=0, dtype=np.int64)
    return counts


def _convolved(adjacency: sp.csr_array, marks: Marks) -> Marks:
    rows = rows_of(adjacency)
    return _spread(rows.indptr, rows.indices, marks)


@kernel
def _spread(indptr: Int64s, indices: Int32s, marks: Marks) -> Marks:
    spread = marks.copy()
    for i in range(len(marks)):
        for at in range(indptr[i], indptr[i + 1]):
            spread[i] |= marks[indices[at]]
    return spread
