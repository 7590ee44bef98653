"""The npz layout of Shchur et al. (2018), which brings no split."""

from dataclasses import replace
from pathlib import Path

from hiergcn.graph import Graph, Split


def read_npz(path: Path, name: str) -> tuple[Graph, Split]:
    """Graph, made undirected and unweighted, and a split drawn with seed 0."""
    graph = replace(Graph.from_npz(path), name=name)
    assert graph.labels is not None
    return graph, Split.random(graph.labels)
