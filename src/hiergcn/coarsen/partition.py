"""A hierarchy cut into parts of about the same size that few edges join.

Multilevel partitioning (Karypis & Kumar 1998): the coarsest level is coarsened further, the few pieces that are left
are packed into parts, and on the way back every level improves the cut by moving nodes to the part that most of their
edges lead to. The hyper-nodes of the hierarchy itself stay whole.
"""

import numpy as np
import numpy.typing as npt

from hiergcn.coarsen.config import CoarsenConfig
from hiergcn.coarsen.hierarchy import Hierarchy
from hiergcn.coarsen.multilevel import coarsen
from hiergcn.compiled.csr import rows_of
from hiergcn.compiled.jit import kernel
from hiergcn.errors import InputError

PIECES = 16
"""Pieces that a part is put together from, about: many make parts of even size, few keep neighbours together."""

SLACK = 1.1
"""A part may be heavier than the mean by this factor."""

PASSES = 8
"""Over the nodes of a level, at most, while the cut still improves."""


def part_labels(hierarchy: Hierarchy, count: int) -> npt.NDArray[np.int64]:
    """The part of each node of the coarsest level, 0..count-1; a level of few nodes may leave parts empty."""
    if count < 1:
        raise InputError(f"There must be at least 1 part, not {count}.")
    coarsest = hierarchy.levels[-1]
    heaviest = max(1, coarsest.n_nodes // (count * PIECES))  # of a piece, in nodes of the coarsest level
    config = CoarsenConfig(strategy="two-hop", max_node_weight=heaviest)
    above = coarsen(coarsest.adjacency, heaviest.bit_length(), config)
    weights = [coarsest.node_weight.astype(np.float64)]  # in nodes of the input graph, level by level
    for level in above.levels[:-1]:
        weights.append(np.bincount(level.grouping(), weights=weights[-1]).astype(np.float64))
    room = np.ceil(SLACK * weights[0].sum() / count)
    label = np.full(above.levels[-1].n_nodes, -1, dtype=np.int64)
    load = np.zeros(count)
    _pack(*rows_of(above.levels[-1].adjacency), np.argsort(-weights[-1], kind="stable"), weights[-1], room, label, load)
    for level, weight in zip(reversed(above.levels), reversed(weights), strict=True):
        label = label if level.group is None else label[level.group]
        _improve(*rows_of(level.adjacency), weight, room, label, load)
    return label


@kernel
def _pack(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    data: npt.NDArray[np.floating],
    order: npt.NDArray[np.int64],
    weight: npt.NDArray[np.float64],
    room: float,
    part: npt.NDArray[np.int64],
    load: npt.NDArray[np.float64],
) -> None:
    """Each piece in turn goes where most of its edges lead, among parts with room; if to none, to the lightest part."""
    joined = np.zeros(len(load))
    for i in order:
        joined[:] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            if part[indices[p]] >= 0:
                joined[part[indices[p]]] += data[p]
        best = int(np.argmin(load))
        for c in range(len(load)):
            if joined[c] > joined[best] and load[c] + weight[i] <= room:
                best = c
        part[i] = best
        load[best] += weight[i]


@kernel
def _improve(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    data: npt.NDArray[np.floating],
    weight: npt.NDArray[np.float64],
    room: float,
    part: npt.NDArray[np.int64],
    load: npt.NDArray[np.float64],
) -> None:
    """Move a node to the part that more of its edges lead to, where there is room, and from any part without it."""
    joined = np.zeros(len(load))
    for _ in range(PASSES):
        moved = 0
        for i in range(len(part)):
            joined[:] = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                if indices[p] != i:
                    joined[part[indices[p]]] += data[p]
            own = best = part[i]
            crowded = load[own] > room
            most = -1.0 if crowded else joined[own]
            for c in range(len(load)):
                if c != own and joined[c] > most and load[c] + weight[i] <= room:
                    best, most = c, joined[c]
            if best != own:
                part[i] = best
                load[own] -= weight[i]
                load[best] += weight[i]
                moved += 1
        if moved == 0:
            break
