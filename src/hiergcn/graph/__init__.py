"""Graphs, splits and learning tasks, with readers that check the user's files."""

from hiergcn.graph.graph import Graph as Graph
from hiergcn.graph.split import Split as Split
