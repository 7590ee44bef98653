"""Random matching (Hendrickson & Leland, A multilevel algorithm for partitioning graphs, Supercomputing 1995)."""

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from hiergcn.coarsen.config import CoarsenConfig
from hiergcn.coarsen.matching import UNBOUNDED, weight_bound
from hiergcn.coarsen.strategy import register_strategy
from hiergcn.compiled.csr import rows_of
from hiergcn.compiled.hashing import mix
from hiergcn.compiled.jit import kernel


@register_strategy("random")
def group_random(
    adjacency: sp.csr_array, node_weight: npt.NDArray[np.int64], config: CoarsenConfig, rng: np.random.Generator
) -> npt.NDArray[np.int32]:
    """Nodes are visited in random order; each takes one of its free neighbours, all equally likely."""
    rows = rows_of(adjacency)
    order = rng.permutation(rows.n)
    draw = rng.integers(2**63, dtype=np.uint64)
    head = np.full(rows.n, -1, dtype=np.int32)
    _match(rows.indptr, rows.indices, order, draw, node_weight, weight_bound(config.max_node_weight), head)
    return head


@kernel
def _match(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    order: npt.NDArray[np.int64],
    draw: np.uint64,
    node_weight: npt.NDArray[np.int64],
    limit: int,
    head: npt.NDArray[np.int32],
) -> None:
    """A neighbour's lot is a hash of the draw and the pair, so it does not matter in which order neighbours are
    stored."""
    for j in order:
        if head[j] >= 0:
            continue
        best, best_lot = -1, np.uint64(0)
        row_draw = mix(draw ^ np.uint64(j))
        for p in range(indptr[j], indptr[j + 1]):
            k = indices[p]
            if k == j or head[k] >= 0 or (limit < UNBOUNDED and node_weight[j] + node_weight[k] > limit):
                continue
            lot = mix(row_draw ^ np.uint64(k))
            if best < 0 or lot > best_lot:
                best, best_lot = k, lot
        head[j] = j
        if best >= 0:
            head[j] = head[best] = min(j, best)
