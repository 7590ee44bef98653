"""Random walks on a graph, and the pairs of a node and its context that Planetoid learns from.

A step goes to a neighbour with a probability proportional to the edge's weight; DeepWalk's uniform step is the case of
equal weights. Each draw is a hash of the seed, the walk and the step, so that a walk does not depend on the thread that
makes it nor on the other walks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.sparse as sp

from hiergcn import InputError
from hiergcn.compiled import Float64s, Int32s, Int64s, Integers, even_ranges, frozen, kernel, mix, run_over

NOWHERE = -1
"""Fills a walk after a node without edges."""


@dataclass(frozen=True, eq=False)
class Walker:
    """A graph ready for walks: CSR rows with cumulative weights."""

    indptr: Int64s  # (n + 1,)
    indices: Int32s  # (nnz,)
    cumulative: Float64s  # (nnz,) sum of the row's weights up to each entry

    @classmethod
    def on(cls, adjacency: sp.csr_array) -> Self:
        indptr, weights = frozen(adjacency.indptr, np.int64), frozen(adjacency.data, np.float64)
        if not np.isfinite(weights).all() or (weights < 0).any():
            raise InputError("Random walks need finite, non-negative edge weights; change the adjacency.")
        cumulative = np.empty(len(weights))
        _cumulative_sums(indptr, weights, cumulative)
        return cls(indptr, frozen(adjacency.indices, np.int32), frozen(cumulative, np.float64))

    @property
    def n_nodes(self) -> int:
        return len(self.indptr) - 1

    def walks(self, starts: Integers, length: int, seed: int) -> Int32s:
        """Return a walk of `length` nodes from each start, the start included; (walks, length)."""
        if length < 1:
            raise InputError("Walk length must be at least 1.")
        begin: Int64s = frozen(starts, np.int64)
        if begin.size and not 0 <= begin.min() <= begin.max() < self.n_nodes:
            raise InputError(f"Walks must start at nodes 0 to {self.n_nodes - 1}.")
        draw = np.uint64(mix(np.uint64(seed % 2**64)))  # numba returns a plain int
        walks = np.full((len(begin), length), NOWHERE, dtype=np.int32)
        run_over(
            even_ranges(np.arange(len(begin) + 1) * length),
            lambda low, high: _walk(self.indptr, self.indices, self.cumulative, begin, draw, low, high, walks),
        )
        return walks


@kernel
def _cumulative_sums(indptr: Int64s, weights: Float64s, cumulative: Float64s) -> None:
    for i in range(len(indptr) - 1):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += weights[p]
            cumulative[p] = total


@kernel(plain=0)
def _walk(
    indptr: Int64s,
    indices: Int32s,
    cumulative: Float64s,
    starts: Int64s,
    draw: np.uint64,
    low: int,
    high: int,
    walks: Int32s,
) -> None:
    unit = 1.0 / 9007199254740992.0  # 2^-53: the upper 53 bits of a hash as a number in [0, 1)
    for w in range(low, high):
        own = mix(draw ^ np.uint64(w))
        node = starts[w]
        walks[w, 0] = node
        for step in range(1, walks.shape[1]):
            first, end = indptr[node], indptr[node + 1]
            if first == end or cumulative[end - 1] == 0.0:
                break
            lot = float(mix(own ^ np.uint64(step)) >> np.uint64(11)) * unit * cumulative[end - 1]
            last = end - 1
            while first < last:  # the first edge whose cumulative weight is above the lot
                middle = (first + last) // 2
                if cumulative[middle] > lot:
                    last = middle
                else:
                    first = middle + 1
            node = indices[first]
            walks[w, step] = node


@dataclass(frozen=True, eq=False)
class Contexts:
    """A batch of pairs: the distinct nodes, and for each its contexts with their counts.

    A node occurs in many pairs, but its softmax over all nodes is needed once. Negative samples have negative counts.
    """

    nodes: Int64s  # (s,), ascending
    row: Int64s  # (entries,), ascending; nodes[row] is the node of an entry
    context: Int64s  # (entries,)
    count: Int64s  # (entries,)

    @classmethod
    def of(cls, nodes: Integers, contexts: Integers, negatives: Integers | None = None) -> Self:
        """Return the batch of pairs (nodes[i], contexts[i]), with negatives[i] (k,) as negative samples of nodes[i]."""
        distinct, row = np.unique(nodes.astype(np.int64), return_inverse=True)
        row, column = 2 * row + 1, contexts  # odd rows hold contexts, even rows negative samples
        if negatives is not None:
            row, column = np.append(row, np.repeat(row - 1, negatives.shape[1])), np.append(contexts, negatives)
        width = int(column.max(initial=0)) + 1
        entries, count = np.unique(row * width + column, return_counts=True)
        row = entries // width
        return cls(distinct, row // 2, entries % width, np.where(row % 2, count, -count))


def in_batches(n: int, size: int, rng: np.random.Generator) -> Iterator[Int64s]:
    """Yield 0 .. n-1 in random order, `size` at a time, for ever."""
    while True:
        order = rng.permutation(n)
        for begin in range(0, n, size):
            yield order[begin : begin + size]


def graph_contexts(
    walker: Walker, batch: int, steps: int, window: int, rng: np.random.Generator, negatives: int = 0
) -> Iterator[Contexts]:
    """Yield nodes at most `window` places apart, a node itself included, on a walk from each node of a batch.

    Each pair comes with `negatives` nodes of the whole graph as negative samples.
    """
    places = np.array([(i, j) for i in range(steps + 1) for j in range(steps + 1) if abs(i - j) <= window])
    for starts in in_batches(walker.n_nodes, batch, rng):
        walks = walker.walks(starts, steps + 1, int(rng.integers(2**63)))
        walks = walks[walks[:, -1] != NOWHERE]  # an isolated node has no context
        nodes, contexts = walks[:, places[:, 0]].ravel(), walks[:, places[:, 1]].ravel()
        yield Contexts.of(nodes, contexts, rng.integers(walker.n_nodes, size=(len(nodes), negatives)))


def label_contexts(
    nodes: Int64s, classes: Int64s, batch: int, rng: np.random.Generator, negatives: int = 0
) -> Iterator[Contexts]:
    """Yield `batch` pairs of labelled nodes of the same class.

    Each pair comes with `negatives` labelled nodes of other classes as negative samples.
    """
    by_class = nodes[np.argsort(classes, kind="stable")]
    size = np.bincount(classes)
    first = np.cumsum(size) - size
    while True:
        drawn = rng.integers(len(nodes), size=batch)
        kind = classes[drawn]
        contexts = by_class[first[kind] + rng.integers(size[kind])]
        # by_class, read cyclically from the end of the node's class, begins with the nodes of other classes.
        onward = rng.integers((len(nodes) - size[kind])[:, None], size=(batch, negatives))
        others = by_class[((first + size)[kind][:, None] + onward) % len(nodes)]
        yield Contexts.of(nodes[drawn], contexts, others)
