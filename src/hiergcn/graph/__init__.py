"""What a user brings: a graph, its labels and their split, with readers that check what they read."""

from hiergcn.graph.graph import Graph as Graph
from hiergcn.graph.split import Split as Split
