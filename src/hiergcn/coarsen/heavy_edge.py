"""Heavy-edge matching (Karypis & Kumar, A fast and high quality multilevel scheme for partitioning irregular graphs,
1998)."""

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from hiergcn.coarsen.config import CoarsenConfig
from hiergcn.coarsen.matching import match_most_similar
from hiergcn.coarsen.strategy import register_strategy
from hiergcn.compiled.csr import rows_of


@register_strategy("heavy-edge")
def group_heavy_edge(
    adjacency: sp.csr_array, node_weight: npt.NDArray[np.int64], config: CoarsenConfig, rng: np.random.Generator
) -> npt.NDArray[np.int32]:
    """Nodes are visited in random order; each takes the free neighbour at its heaviest edge.

    It is similarity matching with D = 1. Of equally heavy edges the one to the node that comes first in the random
    order is taken.
    """
    rows = rows_of(adjacency)
    head = np.empty(rows.n, dtype=np.int32)
    match_most_similar(rows, rng.permutation(rows.n), np.ones(rows.n), node_weight, config.max_node_weight, head)
    return head
