"""Pandas frames: where ids are found, what is unknown, what becomes a feature."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from format_graphs import classes_by_name

from hiergcn.errors import InputError
from hiergcn.graph import Graph

EDGES = pd.DataFrame({"source": ["anna", "bo"], "target": ["bo", "cy"]})
NODES = pd.DataFrame({"id": ["cy", "anna", "bo"], "topic": ["art", None, "law"], "age": [30, 41, 52]})


def test_a_frame_of_each() -> None:
    graph = Graph.from_pandas(EDGES, NODES, label="topic", name="people")
    assert graph.ids.tolist() == ["cy", "anna", "bo"]
    assert classes_by_name(graph) == ["art", None, "law"]
    assert isinstance(graph.features, np.ndarray)
    assert graph.features.tolist() == [[30], [41], [52]]
    assert graph.adjacency.toarray().tolist() == [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
    assert graph.name == "people"


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


def test_a_split_column_is_the_split_and_no_feature() -> None:
    """A frame with a column of splits once gave features instead."""
    nodes = NODES.assign(topic=["art", "law", "art"], split=["train", "train", "test"])
    graph = Graph.from_pandas(EDGES, nodes, label="topic")
    assert graph.n_features == 1
    assert graph.split is not None
    assert graph.split.test.tolist() == [2]
    assert Graph.from_pandas(EDGES, nodes, label="topic", drop=["split"]).split is None


def test_features_of_every_kind() -> None:
    nodes = NODES.drop(columns="topic").assign(
        open=pd.array([True, None, False], dtype="boolean"),
        size=pd.array([1, None, 3], dtype="Int64"),
        mixed=pd.Series([1, None, 2.5], dtype=object),
        colour=pd.Categorical(["red", "blue", "red"]),
    )
    graph = Graph.from_pandas(EDGES, nodes)
    assert isinstance(graph.features, np.ndarray)
    expected = [[30, 1, 1, 1, 0, 1], [41, 0.5, 2, 1.75, 1, 0], [52, 0, 3, 2.5, 0, 1]]
    assert graph.features.tolist() == expected
    assert any("'size'" in note for note in graph.notes)


def test_sparse_columns_stay_sparse() -> None:
    matrix: Any = sp.random_array((50, 400), density=0.01, format="csr", rng=np.random.default_rng(0))
    graph = Graph.from_edges(np.arange(49), np.arange(1, 50), features=matrix)
    _, nodes = graph.to_pandas()
    assert nodes.shape == (50, 401)
    again = Graph.from_pandas(*graph.to_pandas())
    assert isinstance(again.features, sp.csr_array)
    assert again.features.nnz == matrix.nnz


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
