"""Graphs, splits and learning tasks, with readers that check the user's files."""

from hiergcn.graph.adjacency import symmetric_adjacency
from hiergcn.graph.coordinates import Coordinates
from hiergcn.graph.graph import Graph
from hiergcn.graph.order import canonical_order
from hiergcn.graph.split import PUBLIC, Drawn, Split, SplitSpec, drawn_splits, few_labels

__all__ = ["PUBLIC"]
__all__ += ["Coordinates", "Drawn", "Graph", "Split", "SplitSpec"]
__all__ += ["canonical_order", "drawn_splits", "few_labels", "symmetric_adjacency"]
