"""A part of a hierarchy: some hyper-nodes of its coarsest level with everything below them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from hiergcn.coarsen.hierarchy import Hierarchy, Level
from hiergcn.compiled.csr import Rows, frozen, matrix_of
from hiergcn.errors import InputError


@dataclass(frozen=True, eq=False)
class Part:
    """The nodes of a part, and the hierarchy over them alone: of every level, the edges between nodes of the part."""

    nodes: npt.NDArray[np.int64]
    """Of the input graph, ascending; node i of the part's hierarchy is nodes[i]."""

    hierarchy: Hierarchy


def restrict(hierarchy: Hierarchy, kept: npt.NDArray[np.bool_]) -> Part:
    """The part below the hyper-nodes of the coarsest level where `kept`, (n_L,), is true.

    Hyper-nodes stay whole, so node weights stay what they were; nodes keep their order.
    """
    coarsest = hierarchy.levels[-1]
    if kept.shape != (coarsest.n_nodes,) or not kept.any():
        raise InputError(f"A part must keep some of the {coarsest.n_nodes} hyper-nodes of the coarsest level.")
    levels: list[Level] = []
    number = _numbers(kept)  # of the kept nodes of the level above, among themselves
    for level in reversed(hierarchy.levels):
        group = None
        if level.group is not None:
            kept = kept[level.group]
            group = frozen(number[level.group[kept]], np.int32)
            number = _numbers(kept)
        levels.append(Level(_induced(level.adjacency, kept, number), frozen(level.node_weight[kept], np.int64), group))
    return Part(np.flatnonzero(kept), Hierarchy(tuple(reversed(levels)), hierarchy.config, hierarchy.requested))


def _numbers(kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
    """The place of each kept node among the kept; -1 for the others."""
    return np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)


def _induced(adjacency: sp.csr_array, kept: npt.NDArray[np.bool_], number: npt.NDArray[np.int32]) -> sp.csr_array:
    """The edges between kept nodes; rows stay sorted, as the kept nodes keep their order."""
    rows: Any = adjacency[np.flatnonzero(kept)]
    inside = kept[rows.indices]
    ends = np.concatenate(([0], np.cumsum(inside)))[rows.indptr]
    data = rows.data[inside]
    return matrix_of(
        Rows(frozen(ends, np.int64), frozen(number[rows.indices[inside]], np.int32), frozen(data, data.dtype))
    )
