"""The paper's grouping (Section 3.3, Algorithm 1): structural equivalence first, then structural similarity."""

import numpy as np
import scipy.sparse as sp

from hiergcn.coarsen.equivalence import equivalence_groups
from hiergcn.coarsen.matching import match_most_similar, visiting_order
from hiergcn.coarsen.strategy import CoarsenConfig, register_strategy
from hiergcn.compiled.csr import Int32s, Int64s, rows_of


@register_strategy("hgcn")
def group_hgcn(adjacency: sp.csr_array, node_weight: Int64s, config: CoarsenConfig, _: np.random.Generator) -> Int32s:
    """Group equivalent nodes (SEG), then match the others by similarity, those with few neighbours first (SSG)."""
    rows = rows_of(adjacency)
    head = equivalence_groups(rows, config)
    unmarked = np.flatnonzero(np.bincount(head, minlength=rows.n)[head] == 1)
    order = visiting_order(rows, unmarked, config.loops_are_neighbours)
    scale = node_weight if config.similarity == "node_weight" else adjacency.sum(axis=1)
    match_most_similar(rows, order, scale.astype(np.float64), node_weight, config.max_node_weight, head)
    return head
