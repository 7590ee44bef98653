"""Pandas frames: where ids are found, what is unknown, what becomes a feature; and graphs of nearest rows."""

from pathlib import Path
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

EDGES = pd.DataFrame({"source": ["anna", "bo"], "target": ["bo", "cy"]})
NODES = pd.DataFrame({"id": ["cy", "anna", "bo"], "topic": ["art", None, "law"], "age": [30, 41, 52]})


def test_ids_in_the_index() -> None:
    by_index = Graph.from_pandas(EDGES, NODES.set_index("id"), label="topic")
    assert by_index.ids.tolist() == ["cy", "anna", "bo"]
    assert by_index.n_features == 1
    without_name = NODES.set_index("id").rename_axis(None)
    assert Graph.from_pandas(EDGES, without_name, label="topic").ids.tolist() == ["cy", "anna", "bo"]
    named = NODES.rename(columns={"id": "who"}).set_index("who")
    assert Graph.from_pandas(EDGES, named, id="who", label="topic").ids.tolist() == ["cy", "anna", "bo"]


def test_whole_numbers_that_pandas_holds_as_floats_are_the_same_ids() -> None:
    edges = pd.DataFrame({"source": [1.0, 2.0], "target": [2, 30]})
    nodes = pd.DataFrame({"id": [30, 2, 1], "label": [1.0, np.nan, 0.0]})
    graph = Graph.from_pandas(edges, nodes)
    assert graph.ids.tolist() == [30, 2, 1]
    assert graph.ids.dtype == np.int64
    assert classes_by_name(graph) == ["1", None, "0"]
    assert graph.n_edges == 2


def test_text_ids_stay_text_even_if_they_look_like_numbers() -> None:
    edges = pd.DataFrame({"source": ["1", "2"], "target": ["2", "3"]})
    assert Graph.from_pandas(edges).ids.tolist() == ["1", "2", "3"]


@pytest.mark.parametrize("kind", [int, float, str, object, "category"])
def test_minus_one_is_unknown_whatever_holds_it(kind: Any) -> None:
    nodes = pd.DataFrame({"id": [1, 2], "label": pd.Series([-1, 4]).astype(kind)})
    edges = pd.DataFrame({"source": [1], "target": [2]})
    assert classes_by_name(Graph.from_pandas(edges, nodes)) == [None, "4"]
    assert classes_by_name(Graph.from_pandas(edges, nodes, unknown=[])) == ["-1", "4"]


def test_features_of_every_kind() -> None:
    nodes = NODES.drop(columns="topic").assign(
        open=pd.array([True, None, False], dtype="boolean"),
        size=pd.array([1, None, 3], dtype="Int64"),
        mixed=pd.Series([1, None, 2.5], dtype=object),
        colour=pd.Categorical(["red", "blue", "red"]),
    )
    graph = Graph.from_pandas(EDGES, nodes)
    expected = [[30, 0, 1, 1, 1, 1], [41, 1, 0, 1.75, 0.5, 2], [52, 0, 1, 2.5, 0, 3]]
    assert np.asarray(graph.features).tolist() == expected
    assert any("'size'" in note for note in graph.notes)


@pytest.mark.parametrize(
    ("edges", "nodes", "options", "message"),
    [
        (EDGES.assign(target=["bo", np.nan]), None, {}, "The frame of edges, row 2, column 'target': the id is blank"),
        (EDGES, NODES, {"label": "topics"}, "The frame of nodes has no column 'topics'; did you mean 'topic'"),
        (
            EDGES,
            pd.concat([NODES, NODES[:1]]),
            {},
            "The frame of nodes, row 4, column 'id': id 'cy' is in an earlier row",
        ),
        (EDGES, NODES[:2], {"label": "topic"}, "The frame of edges, row 1: id 'bo' is not in the frame of nodes"),
        (EDGES[["source"]], None, {}, "The frame of edges: one column, but an edge has two ends"),
        (EDGES, None, {"label": "topic"}, "Column 'topic' belongs to a frame of nodes"),
        (EDGES.set_axis(["a", "a"], axis=1), None, {}, "The frame of edges: two columns are named 'a'"),
        (EDGES, NODES[[]], {}, "The frame of nodes has no columns"),
        (EDGES.assign(weight=[1, -2]), None, {}, "row 2, column 'weight': weight -2.0 must be"),
        (
            EDGES,
            NODES.assign(v=pd.Series([[1], [2], [3]], dtype=object)),
            {},
            "Column 'v' holds lists; give a column per number",
        ),
        (EDGES, NODES.assign(v=1j), {}, "The frame of nodes, column 'v': complex numbers; give real and"),
        (EDGES, NODES.set_index(["id", "topic"]), {}, "The frame of nodes has an index of several levels"),
    ],
)
def test_defects(edges: pd.DataFrame, nodes: pd.DataFrame | None, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Graph.from_pandas(edges, nodes, **options)


def test_the_frames_that_are_given_stay_as_they_are() -> None:
    edges, nodes = EDGES.copy(), NODES.copy()
    Graph.from_pandas(edges, nodes, label="topic")
    pd.testing.assert_frame_equal(edges, EDGES)
    pd.testing.assert_frame_equal(nodes, NODES)


def test_csv_files_are_written_whole_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hiergcn.graph.formats.frames.ROWS", 2)
    features = sp.csr_array(np.diag([1.0, 2, 3, 4, 5]))
    graph = Graph.from_edges([0, 1], [1, 2], [0.5, 2], 5, features=features, labels=[0, 1, -1, 0, 1], ids=list("vwxyz"))
    graph.to_csv(tmp_path / "edges.csv", tmp_path / "nodes.csv")
    assert (tmp_path / "edges.csv").read_text() == "source,target,weight\nv,w,0.5\nw,x,2.0\n"
    lines = (tmp_path / "nodes.csv").read_text().splitlines()
    assert lines[0] == "id,label,x0,x1,x2,x3,x4"
    assert lines[3:] == ["x,,0.0,0.0,3.0,0.0,0.0", "y,0,0.0,0.0,0.0,4.0,0.0", "z,1,0.0,0.0,0.0,0.0,5.0"]
    again = Graph.from_csv(tmp_path / "edges.csv", tmp_path / "nodes.csv")
    assert classes_by_name(again) == classes_by_name(graph)
    with pytest.raises(InputError, match=r"cannot be written|There is no folder"):
        graph.to_csv(tmp_path / "nowhere" / "edges.csv", tmp_path / "nodes.csv")


LINE = np.array([[0.0], [1.0], [2.1], [10.0]])


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
    features = np.asarray(Graph.from_table(scaled, k=3).features)
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(features.std(axis=0), 1)


def test_labels_of_rows() -> None:
    assert classes_by_name(Graph.from_table(LINE, [1, -1, 0, -1])) == ["1", None, "0", None]
    assert classes_by_name(Graph.from_table(LINE, ["b", None, "", "a"])) == ["b", None, None, "a"]
    assert Graph.from_table(LINE).labels is None
    with pytest.raises(InputError, match="There are 3 labels for 4 nodes"):
        Graph.from_table(LINE, [0, 1, 2])


def test_rows_of_a_frame() -> None:
    frame = pd.DataFrame({"size": [1, 2, None], "colour": ["red", "red", "blue"]}, index=["p", "q", "r"])
    graph = Graph.from_table(frame, k=1)
    assert graph.ids.tolist() == ["p", "q", "r"]
    assert graph.n_features == 3
    assert len(graph.notes) == 2
    assert [name for column in graph.columns for name in column.features] == ["colour=blue", "colour=red", "size"]
    assert Graph.from_table(frame.reset_index(drop=True), ids=[7, 8, 9]).ids.tolist() == [7, 8, 9]


def test_sparse_stays_sparse() -> None:
    X: Any = sp.random_array((40, 200), density=0.05, format="csr", rng=np.random.default_rng(0))
    graph = Graph.from_table(X, k=3)
    assert isinstance(graph.features, sp.csr_array)
    assert graph.features.nnz == X.nnz


def test_rows_that_are_equal_are_not_their_own_neighbours() -> None:
    graph = Graph.from_table(np.ones((5, 2)), k=2)
    assert graph.adjacency.diagonal().sum() == 0
    assert "without an edge: 2" in Graph.from_table(LINE, k=1, join="mutual", standardise=False).notes[0]
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
def test_defects_of_tables(table: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Graph.from_table(table, **options)  # type: ignore[arg-type]
