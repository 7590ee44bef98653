"""Random walks on a graph, many at a time.

A step goes to a neighbour with a probability in proportion to the edge's weight, as DeepWalk's uniform step does where
all weights are equal. Each draw is a hash of the seed, the walk and the step, so a walk is the same whichever thread
makes it, and whatever other walks are made.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from hiergcn.compiled.csr import frozen
from hiergcn.compiled.hashing import mix
from hiergcn.compiled.jit import kernel
from hiergcn.compiled.threads import even_ranges, run_over
from hiergcn.errors import InputError

NOWHERE = -1
"""Stands in a walk after a node that has no edge to leave by."""


@dataclass(frozen=True, eq=False)
class Walker:
    """A graph made ready to be walked on: CSR rows, with the running sum of each row's weights."""

    indptr: npt.NDArray[np.int64]  # (n + 1,)
    indices: npt.NDArray[np.int32]  # (nnz,)
    reach: npt.NDArray[np.float64]  # (nnz,)

    @classmethod
    def on(cls, adjacency: sp.csr_array) -> Self:
        indptr, weights = frozen(adjacency.indptr, np.int64), frozen(adjacency.data, np.float64)
        if not np.isfinite(weights).all() or (weights < 0).any():
            raise InputError("A walk needs edge weights that are finite and not negative; mend them in the adjacency.")
        reach = np.empty(len(weights))
        _running_sums(indptr, weights, reach)
        return cls(indptr, frozen(adjacency.indices, np.int32), frozen(reach, np.float64))

    @property
    def n_nodes(self) -> int:
        return len(self.indptr) - 1

    def walks(self, starts: npt.NDArray[np.integer], length: int, seed: int) -> npt.NDArray[np.int32]:
        """One walk of `length` nodes from each start, the start among them; (walks, length)."""
        if length < 1:
            raise InputError(f"A walk of {length} nodes is none; give a length of at least 1.")
        begin: npt.NDArray[np.int64] = frozen(starts, np.int64)
        if begin.size and not 0 <= begin.min() <= begin.max() < self.n_nodes:
            raise InputError(f"A walk cannot start outside the nodes 0 to {self.n_nodes - 1}; mend the starts.")
        draw = np.uint64(mix(np.uint64(seed % 2**64)))  # numba hands a plain int back
        walks = np.full((len(begin), length), NOWHERE, dtype=np.int32)
        run_over(
            even_ranges(np.arange(len(begin) + 1) * length),
            lambda low, high: _walk(self.indptr, self.indices, self.reach, begin, draw, low, high, walks),
        )
        return walks


@kernel
def _running_sums(
    indptr: npt.NDArray[np.int64], weights: npt.NDArray[np.float64], reach: npt.NDArray[np.float64]
) -> None:
    for i in range(len(indptr) - 1):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += weights[p]
            reach[p] = total


@kernel
def _walk(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    reach: npt.NDArray[np.float64],
    starts: npt.NDArray[np.int64],
    draw: np.uint64,
    low: int,
    high: int,
    walks: npt.NDArray[np.int32],
) -> None:
    unit = 1.0 / 9007199254740992.0  # 2^-53: the upper 53 bits of a hash as a number in [0, 1)
    for w in range(low, high):
        own = mix(draw ^ np.uint64(w))
        node = starts[w]
        walks[w, 0] = node
        for step in range(1, walks.shape[1]):
            first, end = indptr[node], indptr[node + 1]
            if first == end or reach[end - 1] == 0.0:
                break
            lot = float(mix(own ^ np.uint64(step)) >> np.uint64(11)) * unit * reach[end - 1]
            last = end - 1
            while first < last:  # the first edge whose running sum is beyond the lot
                middle = (first + last) // 2
                if reach[middle] > lot:
                    last = middle
                else:
                    first = middle + 1
            node = indices[first]
            walks[w, step] = node
