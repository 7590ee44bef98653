"""Multilevel coarsening: group the nodes, contract the graph, repeat."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiergcn.coarsening.contraction import contract, group_sums
from hiergcn.coarsening.hierarchy import Hierarchy, Level
from hiergcn.compiled.csr import frozen, matrix_of, rows_of
from hiergcn.errors import InputError
from hiergcn.graph import Graph
from hiergcn.graph.adjacency import checked_adjacency
from hiergcn.settings.fields import CoarsenConfig, find_strategy, strategy_name


def coarsen(
    graph: Graph | Any,
    levels: int,
    config: CoarsenConfig | None = None,
    on_level: Callable[[int, Level], None] | None = None,
) -> Hierarchy:
    """Coarsen a graph up to `levels` times (Section 3.3, Algorithm 1).

    `graph` is a Graph or its adjacency, a scipy sparse matrix, square and symmetric with weights that are not
    negative; a canonical CSR matrix of float64 is not copied. Each of its nodes has weight 1. Hyper-nodes are
    numbered by their smallest member. Coarsening stops early if a level would not be smaller than the one before.
    `on_level(l, level)` is called with each new level, which has no grouping yet. The result depends on the graph and
    `config` alone, not on threads or machine.
    """
    if isinstance(levels, bool) or not isinstance(levels, int) or levels < 0:
        raise InputError(f"The number of levels must be a whole number of at least 0, not {levels!r}.")
    config = config or CoarsenConfig()
    rng, group_nodes = np.random.default_rng(config.seed), find_strategy(config.strategy)
    current = first_level(graph.adjacency if isinstance(graph, Graph) else checked_adjacency(graph))
    done: list[Level] = []
    while len(done) < levels:
        n = current.n_nodes
        labels = np.asarray(group_nodes(current.adjacency, current.node_weight, config, rng))
        if labels.shape != (n,) or labels.dtype.kind not in "iu" or (n and not 0 <= labels.min() <= labels.max() < n):
            raise InputError(
                f"The grouping strategy {strategy_name(config.strategy)!r} must return {n} integer labels of 0 to "
                f"{n - 1}, one for each node."
            )
        nodes, first = np.arange(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        first[labels[::-1]] = nodes[::-1]  # of each label: the last that is written, its smallest node
        heads = first[labels]
        number = np.cumsum(heads == nodes, dtype=np.int32)  # hyper-nodes in the order of their smallest members
        if number[-1] == n:
            break
        done.append(Level(current.adjacency, current.node_weight, frozen(number[heads] - 1, np.int32)))
        current = next_level(done[-1], int(number[-1]))
        if on_level is not None:
            on_level(len(done), current)
    return Hierarchy((*done, current), config, levels)


def first_level(adjacency: sp.csr_array) -> Level:
    """Return the input graph as a level, each node with weight 1."""
    return Level(adjacency, frozen(np.ones(adjacency.shape[0], dtype=np.int64), np.int64))


def next_level(level: Level, n_coarse: int) -> Level:
    """Contract `level` by its grouping: A' = MᵀAM (Eq. 5), node weights summed."""
    rows = contract(rows_of(level.adjacency), level.grouping(), n_coarse)
    weight = group_sums(level.grouping(), level.node_weight, n_coarse)
    return Level(matrix_of(rows), frozen(weight, np.int64))
