"""From a graph to a hierarchy of ever coarser graphs (Section 3.3 of the paper).

    hierarchy = coarsen(adjacency, levels=4)
    hierarchy.sizes()             # nodes and edges of each level
    hierarchy.hyper_nodes(2)      # the hyper-node of every node at level 2

Read `multilevel.py` first, then `equivalence_similarity.py`.
"""

from hiergcn.coarsen import equivalence_similarity, heavy_edge, random_matching, two_hop  # noqa: F401  (each registers itself)
from hiergcn.coarsen.config import CoarsenConfig
from hiergcn.coarsen.hierarchy import Hierarchy, Level, Sizes
from hiergcn.coarsen.multilevel import coarsen
from hiergcn.coarsen.strategy import Strategy, register_strategy, strategy_names

__all__ = ["CoarsenConfig", "Hierarchy", "Level", "Sizes", "Strategy", "coarsen", "register_strategy", "strategy_names"]
