"""Edges in any order and direction become one symmetric adjacency."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hiergcn.errors import InputError
from hiergcn.graph import Graph


def test_self_loops_are_dropped_with_a_note_and_isolated_nodes_stay() -> None:
    graph = Graph.from_edges([0, 1], [1, 1], n=4, labels=[0, 1, -1, 1], ids=["a", "b", "c", "d"])
    assert (graph.n_nodes, graph.n_edges) == (4, 1)
    assert graph.notes == ("self-loops dropped: 1",)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([0, 1], [1]), "2 sources but 1 targets"),
        (([0, -1], [1, 0]), "Edge 1 has source node -1"),
        (([0], [0.5]), "target nodes must be a list of whole numbers"),
        (([0, 5], [1, 0], None, 3), "node 5, but the graph has 3 nodes"),
        (([0, 1], [1, 0], [1.0]), "shape"),
        (([0, 1], [1, 0], [1.0, -2]), "Edge 1 has weight -2"),
        (([0, 1], [1, 0], [np.nan, 1]), "Edge 0 has weight nan"),
        (([], []), "give a square one"),
    ],
)
def test_bad_edges(arguments: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Graph.from_edges(*arguments)


edge_lists = st.integers(1, 9).flatmap(
    lambda n: st.tuples(
        st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(0, 4)), max_size=40)
    )
)


@given(edge_lists, st.booleans())
@settings(max_examples=200, deadline=None)
def test_equal_to_a_dense_calculation(edges: tuple[int, list[tuple[int, int, int]]], weighted: bool) -> None:
    n, rows = edges
    source, target, weight = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    directed = np.zeros((n, n))
    np.add.at(directed, (source, target), weight if weighted else 1)
    np.fill_diagonal(directed, 0)
    expected = np.maximum(directed, directed.T)
    graph = Graph.from_edges(source, target, weight if weighted else None, n)
    assert (graph.adjacency.toarray() == (expected if weighted else expected > 0)).all()
    assert graph.adjacency.has_canonical_format
    assert graph.adjacency.nnz == np.count_nonzero(expected)
