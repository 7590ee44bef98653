"""Receptive field: how many nodes a node's output depends on, by the number of coarsening levels.

A network that goes k levels down and back convolves 2k + 1 times: once at every level on the way down, at the coarsest,
and once at every level on the way up. A node is in the receptive field of another if a path through these steps leads
from it to the other. Sizes are counted for a sample of nodes. Without coarsening they are `neighbourhood_sizes`.
"""

import numpy as np

from hiergcn.coarsening.hierarchy import Hierarchy
from hiergcn.compiled.csr import Int64s, rows_of
from hiergcn.graph.neighbourhoods import count_marks, sampled_marks, spread_marks


def receptive_field_sizes(hierarchy: Hierarchy) -> Int64s:
    """Return (levels, sampled nodes): the size of the receptive field if the network goes that many levels down."""
    marks, sample = sampled_marks(hierarchy.levels[0].n_nodes)
    sizes = []
    for depth, level in enumerate(hierarchy.levels):
        marks = spread_marks(rows_of(level.adjacency), marks)
        refined = marks
        for finer in reversed(hierarchy.levels[:depth]):  # back up to the input nodes
            refined = spread_marks(rows_of(finer.adjacency), refined[finer.grouping()])
        sizes.append(count_marks(refined)[:sample])
        if level.group is not None:
            pooled = np.zeros(hierarchy.levels[depth + 1].n_nodes, dtype=np.uint64)
            np.bitwise_or.at(pooled, level.group, marks)
            marks = pooled
    return np.array(sizes)
