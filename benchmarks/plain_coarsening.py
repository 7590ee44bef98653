"""The paper's coarsening in plain Python: the yardstick of the speed benchmark and the reference of the tests.

It shares no code with `hiergcn.coarsen`. A graph is a list of dictionaries, neighbour -> edge weight, with a node's
self-loop under its own index.
"""

from math import inf

from hiergcn.coarsen import CoarsenConfig

PlainGraph = list[dict[int, float]]


def plain_coarsen(
    graph: PlainGraph, levels: int, config: CoarsenConfig
) -> tuple[list[PlainGraph], list[list[int]], list[list[int]]]:
    """Graphs and node weights of every level, finest first, and the groupings between them."""
    graphs, weights = [graph], [[1] * len(graph)]
    groups: list[list[int]] = []
    for _ in range(levels):
        group = plain_group(graphs[-1], weights[-1], config)
        if max(group) + 1 == len(group):
            break
        coarse, weight = plain_contract(graphs[-1], weights[-1], group)
        groups.append(group)
        graphs.append(coarse)
        weights.append(weight)
    return graphs, weights, groups


def plain_group(graph: PlainGraph, node_weight: list[int], config: CoarsenConfig) -> list[int]:
    """Equivalence grouping, then similarity grouping; hyper-nodes numbered by smallest member."""
    head = _equivalence(graph, config)
    size = [0] * len(graph)
    for h in head:
        size[h] += 1
    _similarity(graph, node_weight, [i for i, h in enumerate(head) if size[h] == 1], head, config)
    number: dict[int, int] = {}
    return [number.setdefault(h, len(number)) for h in head]


def plain_contract(graph: PlainGraph, node_weight: list[int], group: list[int]) -> tuple[PlainGraph, list[int]]:
    """A' = MᵀAM and the summed node weights."""
    n = max(group) + 1
    coarse: PlainGraph = [{} for _ in range(n)]
    weight = [0] * n
    for i, row in enumerate(graph):
        target = coarse[group[i]]
        weight[group[i]] += node_weight[i]
        for j, w in row.items():
            target[group[j]] = target.get(group[j], 0.0) + w
    return coarse, weight


def _neighbours(graph: PlainGraph, i: int, config: CoarsenConfig) -> frozenset[int]:
    return frozenset(j for j in graph[i] if j != i or config.loops_are_neighbours)


def _equivalence(graph: PlainGraph, config: CoarsenConfig) -> list[int]:
    classes: dict[frozenset[int], list[int]] = {}
    for i in range(len(graph)):
        neighbours = _neighbours(graph, i, config)
        if neighbours or config.isolated == "merge":
            classes.setdefault(neighbours, []).append(i)
    head = list(range(len(graph)))
    for members in classes.values():
        limit = config.equivalence_limit or len(members)
        for start in range(0, len(members), limit):
            for i in members[start : start + limit]:
                head[i] = members[start]
    return head


def _similarity(
    graph: PlainGraph, node_weight: list[int], unmarked: list[int], head: list[int], config: CoarsenConfig
) -> None:
    neighbours = {i: _neighbours(graph, i, config) for i in unmarked}
    unmarked.sort(key=lambda i: (len(neighbours[i]), sum(graph[i][j] for j in neighbours[i]), i))
    scale = node_weight if config.similarity == "node_weight" else [sum(row.values()) for row in graph]
    limit = config.max_node_weight or inf
    free = {i: rank for rank, i in enumerate(unmarked)}
    for j in unmarked:
        if free.pop(j, None) is None:
            continue
        candidates = [k for k in graph[j] if k in free and node_weight[j] + node_weight[k] <= limit]
        if candidates:
            # the square of the similarity, without the factor 1 / D_j that all candidates share
            best = max(candidates, key=lambda k: (graph[j][k] ** 2 / scale[k], -free[k]))
            del free[best]
            head[j] = head[best] = min(j, best)
