"""How much of the graph a node hears from, by the levels that the network goes down.

A network that goes k levels down and back convolves 2k + 1 times: once at every level on the way down, at the coarsest,
and once at every level on the way up. A node is reached by another if some way through these steps leads from it.
"""

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from hiergcn.coarsen import Hierarchy
from hiergcn.compiled.csr import rows_of
from hiergcn.compiled.jit import kernel

SAMPLE = 64  # nodes, one bit of a mark each

Marks = npt.NDArray[np.uint64]  # (n_l,): which of the sampled nodes a node reaches


def reach(hierarchy: Hierarchy) -> npt.NDArray[np.int64]:
    """(levels, sampled nodes): how many nodes reach each sampled node when the network goes that many levels down."""
    marks, sample = _sampled(hierarchy.levels[0].n_nodes)
    reached = []
    for depth, level in enumerate(hierarchy.levels):
        marks = _convolved(level.adjacency, marks)
        reached.append(_back(hierarchy, depth, marks)[:sample])
        if level.group is not None:
            joined = np.zeros(hierarchy.levels[depth + 1].n_nodes, dtype=np.uint64)
            np.bitwise_or.at(joined, level.group, marks)
            marks = joined
    return np.array(reached)


def flat_reach(adjacency: sp.csr_array, layers: int) -> npt.NDArray[np.int64]:
    """(sampled nodes,): how many nodes reach each of them through so many convolutions of the graph itself."""
    marks, sample = _sampled(int(adjacency.shape[0]))
    for _ in range(layers):
        marks = _convolved(adjacency, marks)
    return _count(marks)[:sample]


def _sampled(n: int) -> tuple[Marks, int]:
    """A bit for each of some nodes, evenly spread, and how many there are."""
    sample = min(SAMPLE, n)
    marks = np.zeros(n, dtype=np.uint64)
    marks[np.linspace(0, n - 1, sample).astype(np.int64)] = np.uint64(1) << np.arange(sample, dtype=np.uint64)
    return marks, sample


def _back(hierarchy: Hierarchy, depth: int, marks: Marks) -> npt.NDArray[np.int64]:
    """How many nodes of level 0 have each bit on the way back up from `depth`."""
    for level in reversed(hierarchy.levels[:depth]):
        marks = _convolved(level.adjacency, marks[level.grouping()])
    return _count(marks)


def _count(marks: Marks) -> npt.NDArray[np.int64]:
    """How many nodes have each bit."""
    bits = np.unpackbits(marks.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    reached: npt.NDArray[np.int64] = bits.sum(axis=0, dtype=np.int64)
    return reached


def _convolved(adjacency: sp.csr_array, marks: Marks) -> Marks:
    rows = rows_of(adjacency)
    return _spread(rows.indptr, rows.indices, marks)


@kernel
def _spread(indptr: npt.NDArray[np.int64], indices: npt.NDArray[np.int32], marks: Marks) -> Marks:
    spread = marks.copy()
    for i in range(len(marks)):
        for at in range(indptr[i], indptr[i + 1]):
            spread[i] |= marks[indices[at]]
    return spread
