"""The toy graph of the paper's coarsening figure, taken through its two steps.

The figure itself is not in the text, which gives the edge weights a meaning and no values: those here are ours. What
it says in words is computed: B and D share their neighbours, C and E are most similar, A remains.
"""

from typing import Any

from hiergcn.coarsen import CoarsenConfig, coarsen
from hiergcn.coarsen.contraction import number_groups
from hiergcn.coarsen.equivalence import equivalence_groups
from hiergcn.compiled.csr import rows_of
from hiergcn.graph import Graph

NAMES = "ABCDE"
EDGES: tuple[tuple[str, str, float], ...] = (
    ("A", "B", 1.0),
    ("A", "D", 4.0),
    ("A", "C", 1.0),
    ("A", "E", 2.0),
    ("C", "E", 3.0),
)


def measure() -> dict[str, Any]:
    source = [NAMES.index(one) for one, _, _ in EDGES]
    target = [NAMES.index(other) for _, other, _ in EDGES]
    graph = Graph.from_edges(source, target, [weight for _, _, weight in EDGES], n=len(NAMES))
    config = CoarsenConfig()
    equivalent, _ = number_groups(equivalence_groups(rows_of(graph.adjacency), config))
    hierarchy = coarsen(graph.adjacency, 1, config)
    fine, coarse = hierarchy.levels
    return {
        "names": list(NAMES),
        "edges": [list(edge) for edge in EDGES],
        "equivalence": equivalent.tolist(),
        "groups": fine.grouping().tolist(),
        "node_weight": coarse.node_weight.tolist(),
        "coarse": coarse.adjacency.toarray().tolist(),
    }
