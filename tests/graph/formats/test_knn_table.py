"""A graph of nearest rows."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from format_graphs import classes_by_name, different_edges
from hypothesis import given, settings
from hypothesis import strategies as st

from hiergcn.errors import InputError
from hiergcn.graph import Graph

LINE = np.array([[0.0], [1.0], [2.1], [10.0]])


def test_union_and_mutual() -> None:
    union = Graph.from_table(LINE, k=1, standardise=False)
    assert union.adjacency.toarray().tolist() == [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    mutual = Graph.from_table(LINE, k=1, join="mutual", standardise=False)
    assert mutual.adjacency.toarray().tolist() == [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert "without an edge: 2" in mutual.notes[0]


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 40), st.integers(1, 6), st.integers(0, 10_000))
def test_neighbours_are_those_of_a_plain_search(n: int, k: int, seed: int) -> None:
    X = np.random.default_rng(seed).standard_normal((n, 3))
    distance = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    nearest = np.argsort(distance, axis=1)[:, : min(k, n - 1)]
    expected = np.zeros((n, n))
    np.put_along_axis(expected, nearest, 1, axis=1)
    for join, both in (("union", np.maximum), ("mutual", np.minimum)):
        graph = Graph.from_table(X, k=k, join=join, standardise=False)  # type: ignore[arg-type]
        np.testing.assert_array_equal(graph.adjacency.toarray(), both(expected, expected.T))


def test_units_of_columns_do_not_matter() -> None:
    X = np.random.default_rng(0).standard_normal((30, 2))
    scaled = X * [1, 1e6]
    assert different_edges(Graph.from_table(X, k=3), Graph.from_table(scaled, k=3)) == 0
    plain = Graph.from_table(scaled, k=3, standardise=False)
    assert different_edges(Graph.from_table(X, k=3), plain) > 0
    features = Graph.from_table(scaled, k=3).features
    assert isinstance(features, np.ndarray)
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(features.std(axis=0), 1)


def test_labels() -> None:
    assert classes_by_name(Graph.from_table(LINE, [1, -1, 0, -1])) == ["1", None, "0", None]
    assert classes_by_name(Graph.from_table(LINE, ["b", None, "", "a"])) == ["b", None, None, "a"]
    assert Graph.from_table(LINE).labels is None
    with pytest.raises(InputError, match="There are 3 labels for 4 nodes"):
        Graph.from_table(LINE, [0, 1, 2])


def test_a_frame() -> None:
    frame = pd.DataFrame({"size": [1, 2, None], "colour": ["red", "red", "blue"]}, index=["p", "q", "r"])
    graph = Graph.from_table(frame, k=1)
    assert graph.ids.tolist() == ["p", "q", "r"]
    assert graph.n_features == 3
    assert len(graph.notes) == 2
    assert [name for column in graph.columns for name in column.features] == ["size", "colour=blue", "colour=red"]
    assert Graph.from_table(frame.reset_index(drop=True), ids=[7, 8, 9]).ids.tolist() == [7, 8, 9]


def test_sparse_stays_sparse() -> None:
    X: Any = sp.random_array((40, 200), density=0.05, format="csr", rng=np.random.default_rng(0))
    graph = Graph.from_table(X, k=3)
    assert isinstance(graph.features, sp.csr_array)
    assert graph.features.nnz == X.nnz


def test_rows_that_are_equal_are_not_their_own_neighbours() -> None:
    graph = Graph.from_table(np.ones((5, 2)), k=2)
    assert graph.adjacency.diagonal().sum() == 0
    assert (np.diff(graph.adjacency.indptr) >= 2).all()


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (LINE, {"k": 0}, "at least 1, not 0"),
        (LINE, {"k": 2.5}, "at least 1, not 2.5"),
        (LINE, {"join": "both"}, "'union' or 'mutual'"),
        (LINE[:1], {}, "The table has 1 row"),
        (LINE[:, 0], {}, "a row per node and a column per feature"),
        (LINE[:, :0], {}, "a row per node and a column per feature"),
        (np.array([[1.0], [np.nan]]), {}, "Feature 0 of node 1 is nan"),
        (np.array([["a"], ["b"]]), {}, "turn them into numbers first"),
        (LINE, {"metric": "nonsense"}, "The metric 'nonsense' finds no neighbours"),
    ],
)
def test_defects(table: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Graph.from_table(table, **options)  # type: ignore[arg-type]
