"""The paper's coarsening (Section 3.3, Algorithm 1) in scipy and plain Python: slow, but short enough to read.

The kernels in `equivalence`, `matching` and `contraction` compute the same. The tests compare them with this file over
random graphs, and the benchmarks measure how much faster they are.
"""

from itertools import pairwise
from math import inf

import numpy as np
import scipy.sparse as sp

from hiergcn.coarsening.hierarchy import Hierarchy, Level
from hiergcn.compiled.csr import Int32s, Int64s
from hiergcn.settings.fields import CoarsenConfig

Rows = list[dict[int, float]]  # of each node: neighbour -> edge weight, with a self-loop under its own index


def plain_coarsen(adjacency: sp.csr_array, levels: int, config: CoarsenConfig) -> Hierarchy:
    """Return up to `levels` coarser graphs. `config.strategy` is ignored: this is the paper's."""
    A = sp.csr_array(adjacency)
    node_weight = np.ones(A.shape[0], dtype=np.int64)
    done: list[Level] = []
    for _ in range(levels):
        group = plain_group(A, node_weight, config)
        parts = np.ones(len(group), dtype=np.int64), (np.arange(len(group)), group)
        M = sp.csr_array(parts, shape=(len(group), int(group.max()) + 1))  # Eq. 3: 1 if node j is in hyper-node k
        if M.shape[0] == M.shape[1]:
            break
        done.append(Level(A, node_weight, group))
        A = sp.csr_array(M.T @ A @ M)  # Eq. 5
        node_weight = M.T @ node_weight
    return Hierarchy((*done, Level(A, node_weight)), config, levels)


def plain_group(adjacency: sp.csr_array, node_weight: Int64s, config: CoarsenConfig) -> Int32s:
    """Return each node's hyper-node: structural equivalence first, then structural similarity of unmarked nodes."""
    columns, weights = adjacency.indices.tolist(), adjacency.data.tolist()
    bounds = pairwise(adjacency.indptr.tolist())
    rows = [dict(zip(columns[start:end], weights[start:end], strict=True)) for start, end in bounds]
    hyper_nodes = equivalent_nodes(rows, config)
    marked = {node for members in hyper_nodes for node in members}
    hyper_nodes += similar_nodes(rows, node_weight.tolist(), set(range(len(rows))) - marked, config)
    group = np.empty(len(rows), dtype=np.int32)
    for number, members in enumerate(sorted(hyper_nodes, key=min)):  # numbered by their smallest members
        group[members] = number
    return group


def equivalent_nodes(rows: Rows, config: CoarsenConfig) -> list[list[int]]:
    """Return the groups of two or more nodes with the same set of neighbours."""
    classes: dict[frozenset[int], list[int]] = {}
    for node in range(len(rows)):
        neighbours = _neighbours(rows, node, config)
        if neighbours or config.isolated == "merge":
            classes.setdefault(neighbours, []).append(node)
    groups = []
    for members in classes.values():
        limit = config.equivalence_limit or len(members)
        groups += [members[start : start + limit] for start in range(0, len(members), limit)]
    return [group for group in groups if len(group) > 1]


def similar_nodes(rows: Rows, node_weight: list[int], unmarked: set[int], config: CoarsenConfig) -> list[list[int]]:
    """Return the pairs that similarity makes of unmarked nodes, and the nodes that are left alone.

    Nodes with few neighbours choose first, then those with less edge weight. Each takes the unmarked neighbour with the
    largest s(j, k) = A_jk / sqrt(D_j D_k) (Eq. 2); of equally similar ones that which would have chosen first.
    """
    neighbours = {j: _neighbours(rows, j, config) for j in unmarked}
    order = sorted(
        unmarked, key=lambda j: (len(neighbours[j]), sum(w for k, w in rows[j].items() if k in neighbours[j]), j)
    )
    place = {j: number for number, j in enumerate(order)}
    D = node_weight if config.similarity == "node_weight" else [sum(row.values()) for row in rows]
    heaviest = config.max_node_weight or inf
    groups = []
    for j in order:
        if j not in unmarked:
            continue
        unmarked.remove(j)
        candidates = [k for k in rows[j] if k in unmarked and node_weight[j] + node_weight[k] <= heaviest]
        if not candidates:
            groups.append([j])
            continue
        # the square of Eq. 2 without 1 / D_j, which all candidates share: a root would make and break ties
        best = max(candidates, key=lambda k: (rows[j][k] ** 2 / D[k], -place[k]))
        unmarked.remove(best)
        groups.append([j, best])
    return groups


def _neighbours(rows: Rows, node: int, config: CoarsenConfig) -> frozenset[int]:
    """Return the neighbours of a node, itself only if `config.loops_are_neighbours` and it has a self-loop."""
    return frozenset(k for k in rows[node] if k != node or config.loops_are_neighbours)
