"""Partitions of a hierarchy: parts of about the same size with few edges between them, for training in batches.

Multilevel partitioning (Karypis & Kumar 1998): the coarsest level is coarsened further, the few pieces that are left
are packed into parts, and on the way back every level improves the cut by moving nodes to the part that most of their
edges lead to. The hyper-nodes of the hierarchy itself stay whole.
"""

from typing import NamedTuple

import numpy as np

from hiergcn.coarsening.hierarchy import Hierarchy, Level
from hiergcn.coarsening.multilevel import coarsen
from hiergcn.compiled.csr import Bools, Float64s, Int64s, Rows, frozen, rows_of
from hiergcn.compiled.jit import kernel
from hiergcn.errors import InputError
from hiergcn.graph.adjacency import read_only_csr
from hiergcn.settings.fields import CoarsenConfig

PIECES = 16
"""About how many pieces a part is made of: many make parts of even size, few keep neighbours together."""
SLACK = 1.1
"""The heaviest part may weigh this many times the mean."""
PASSES = 8
"""The most passes over the nodes of a level; fewer if the cut no longer improves."""


def part_labels(hierarchy: Hierarchy, count: int) -> Int64s:
    """Return the part of each node of the coarsest level, 0..count-1; with few nodes, parts may be empty."""
    if count < 1:
        raise InputError(f"The number of parts must be at least 1, not {count}.")
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
    _pack(rows_of(above.levels[-1].adjacency), np.argsort(-weights[-1], kind="stable"), weights[-1], room, label, load)
    for level, weight in zip(reversed(above.levels), reversed(weights), strict=True):
        label = label if level.group is None else label[level.group]
        _improve(rows_of(level.adjacency), weight, room, label, load)
    return label


@kernel(plain=0)
def _pack(rows: Rows, order: Int64s, weight: Float64s, room: float, part: Int64s, load: Float64s) -> None:
    """Put each piece into the part that most of its edges lead to and that has room, or else into the lightest."""
    indptr, indices, data = rows
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


@kernel(plain=0)
def _improve(rows: Rows, weight: Float64s, room: float, part: Int64s, load: Float64s) -> None:
    """Move nodes to the part that more of their edges lead to, if it has room; out of a full part, to any such part."""
    indptr, indices, data = rows
    joined = np.zeros(len(load))
    for _ in range(PASSES):
        moved = 0
        for i in range(len(part)):
            joined[:] = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                if indices[p] != i:
                    joined[part[indices[p]]] += data[p]
            current = best = part[i]
            most = -1.0 if load[current] > room else joined[current]
            for c in range(len(load)):
                if c != current and joined[c] > most and load[c] + weight[i] <= room:
                    best, most = c, joined[c]
            if best != current:
                part[i] = best
                load[current] -= weight[i]
                load[best] += weight[i]
                moved += 1
        if moved == 0:
            break


class Part(NamedTuple):
    """The nodes of a part, and the hierarchy over them: at every level, the edges between nodes of the part."""

    nodes: Int64s
    """Nodes of the input graph, ascending; node i of the part's hierarchy is nodes[i]."""
    hierarchy: Hierarchy


def restrict(hierarchy: Hierarchy, kept: Bools) -> Part:
    """Return the part below those hyper-nodes of the coarsest level that are `kept`, (n_L,).

    Hyper-nodes stay whole, so node weights stay the same. Nodes keep their order.
    """
    coarsest = hierarchy.levels[-1]
    if kept.shape != (coarsest.n_nodes,) or not kept.any():
        raise InputError(f"A part must keep some of the {coarsest.n_nodes} hyper-nodes of the coarsest level.")
    levels: list[Level] = []
    number = np.empty(0, np.int32)  # new number of each kept node of the level; -1 for the others
    for level in reversed(hierarchy.levels):
        group = None
        if level.group is not None:
            kept = kept[level.group]
            group = frozen(number[level.group[kept]], np.int32)
        number = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        induced = read_only_csr(level.adjacency[kept][:, kept])  # rows stay sorted, since nodes keep their order
        levels.append(Level(induced, frozen(level.node_weight[kept], np.int64), group))
    return Part(np.flatnonzero(kept), Hierarchy(tuple(reversed(levels)), hierarchy.config, hierarchy.requested))
