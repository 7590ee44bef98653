"""Breadth-first order of all nodes of a graph, one component after the other."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hiergcn.compiled.jit import kernel


def breadth_first(adjacency: sp.csr_array, starts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all nodes in breadth-first order, and the level of each node.

    The search begins at starts[0] and goes on, when a component is finished, at the next start that has not been
    visited. The level is the number of hops from the start of the component, plus n for every earlier component. So
    any path between two nodes has at least as many edges as their levels differ by, or there is none.

    Args:
        adjacency: (n, n) symmetric.
        starts: every node once, in the order in which they may begin a search.
    """
    n = adjacency.shape[0]
    order, level = np.empty(n, np.int64), np.full(n, -1, np.int64)
    _visit(adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int64), starts, order, level)
    return order, level


@kernel
def _visit(indptr: Any, indices: Any, starts: Any, order: Any, level: Any) -> None:
    first, last, component = 0, 0, 0
    for start in starts:
        if level[start] >= 0:
            continue
        level[start] = component * starts.size
        component += 1
        order[last] = start
        last += 1
        while first < last:
            i = order[first]
            first += 1
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                if level[j] < 0:
                    level[j] = level[i] + 1
                    order[last] = j
                    last += 1
