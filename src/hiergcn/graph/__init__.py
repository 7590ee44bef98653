"""Graphs, splits and learning tasks, with readers that check the user's files."""

from hiergcn.graph.adjacency import symmetric_adjacency
from hiergcn.graph.coordinates import Coordinates
from hiergcn.graph.graph import Graph
from hiergcn.graph.order import canonical_order
from hiergcn.graph.split import Split

__all__ = ["Coordinates", "Graph", "Split", "canonical_order", "symmetric_adjacency"]
