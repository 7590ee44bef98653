"""Coarsening: from a graph to a hierarchy of coarser and coarser graphs (Section 3.3 of the paper).

    hierarchy = coarsen(adjacency, levels=4)
    hierarchy.sizes()             # nodes and edges of each level
    hierarchy.hyper_nodes(2)      # the hyper-node of every node at level 2

Read `reference.py` first, the whole method in 100 plain lines; then `multilevel.py`.
"""

from hiergcn.coarsening import groupings  # noqa: F401  (its strategies register themselves)
from hiergcn.coarsening.hierarchy import Hierarchy, Level, Sizes
from hiergcn.coarsening.multilevel import coarsen
from hiergcn.settings.fields import CoarsenConfig, Strategy, register_strategy, strategy_names

__all__ = ["CoarsenConfig", "Hierarchy", "Level", "Sizes", "Strategy", "coarsen", "register_strategy", "strategy_names"]
