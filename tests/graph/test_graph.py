"""Graphs are checked when they are made, copy as little as possible, and are immutable."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from hiergcn.errors import InputError
from hiergcn.graph import Graph
from hiergcn.graph.structure import with_structural_features

PATH = sp.csr_array(np.array([[0, 2.0, 0], [2, 0, 1], [0, 1, 0]]))  # 0 -2- 1 -1- 2


def changed(row: int, column: int, value: float) -> sp.csr_array:
    dense = PATH.toarray()
    dense[row, column] = value
    return sp.csr_array(dense)


def test_a_small_graph_by_hand() -> None:
    graph = Graph(PATH, np.eye(3, dtype=np.float32), np.array([0, -1, 1]), name="path")
    assert (graph.n_nodes, graph.n_edges, graph.n_features, graph.n_classes) == (3, 2, 3, 2)
    assert graph.labelled.tolist() == [0, 2]
    assert graph.ids.tolist() == [0, 1, 2]
    assert graph.class_names == ("0", "1")
    assert repr(graph) == "Graph('path', nodes=3, edges=2, features=3, classes=2, labelled=2)"
    bare = Graph(PATH, ids=np.array([900, 5, 77]))
    assert (bare.n_features, bare.n_classes, bare.labelled.size, bare.ids.tolist()) == (0, 0, 0, [900, 5, 77])
    assert graph.has_own_features
    assert not with_structural_features(bare).has_own_features


def test_adjacency_becomes_canonical_and_the_callers_matrix_stays_as_it_is() -> None:
    rows, columns = [1, 0, 0, 1, 2, 0], [0, 1, 1, 2, 1, 2]
    given_matrix = sp.coo_array(([2.0, 1, 1, 1, 1, 0], (rows, columns)), shape=(3, 3)).tocsr()
    messy = sp.csr_array(([1.0, 1, 0, 2, 1, 1], [1, 1, 2, 0, 2, 1], [0, 3, 5, 6]), shape=(3, 3))
    for matrix in (given_matrix, messy):
        before = matrix.data.copy()
        adjacency = Graph(matrix).adjacency
        assert adjacency.has_canonical_format
        assert (adjacency.toarray() == PATH.toarray()).all()
        assert adjacency.nnz == 4
        assert (matrix.data == before).all()


def test_arrays_of_the_right_form_are_shared_and_read_only() -> None:
    matrix = PATH.copy()
    wide = sp.csr_array((PATH.data, PATH.indices.astype(np.int64), PATH.indptr.astype(np.int64)))
    assert Graph(wide).adjacency.indices.dtype == Graph(wide).adjacency.indptr.dtype == np.int32
    dense, labels = np.ones((3, 2), np.float32), np.array([0, 1, -1])
    graph = Graph(matrix, dense, labels)
    assert graph.features is not None
    pairs = ((graph.adjacency.data, matrix.data), (graph.adjacency.indices, matrix.indices), (graph.truth, labels))
    for held, own in (*pairs, (graph.features, dense)):
        assert np.shares_memory(held, own)
        with pytest.raises(ValueError, match="read-only"):
            held[0] = 0
    dense[0] = 7  # the caller's own array stays free
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.name = "other"  # type: ignore[misc]


KINDS = {"f4": "f4", "f8": "f8", "?": "f4", "u1": "f4", "i2": "f4", "i4": "f8", "i8": "f8"}
CASES = [(kind, kept, sparse) for kind, kept in KINDS.items() for sparse in (False, True)]


@pytest.mark.parametrize(("kind", "kept", "sparse"), [*CASES, ("f2", "f4", False)])  # scipy has no sparse half floats
def test_feature_types(kind: str, kept: str, sparse: bool) -> None:
    table: Any = np.eye(3).astype(kind)
    features = Graph.from_scipy(PATH, sp.csc_array(table) if sparse else table).features
    assert features is not None
    assert features.dtype == np.dtype(kept)
    assert sp.issparse(features) == sparse
    assert ((features.toarray() if sp.issparse(features) else features) == np.eye(3)).all()


def test_weights_that_are_all_1_take_no_memory() -> None:
    dense = np.ones((4, 4))
    graph = Graph(sp.csr_array(dense))
    assert graph.adjacency.data.strides == (0,)
    assert graph.adjacency.dtype == np.float64
    assert np.array_equal(graph.adjacency.toarray(), dense)
    assert np.array_equal(graph.adjacency @ np.arange(4.0), dense @ np.arange(4.0))
    assert graph.n_edges == 6
    dense[1, 2] = dense[2, 1] = 2.0
    assert Graph(sp.csr_array(dense)).adjacency.data.strides == (8,)


def test_with_labels_keeps_all_else() -> None:
    graph = Graph(PATH, np.eye(3), np.array([0, 1, 1]), np.array(["x", "y", "z"]), ("left", "right"), "path", ("read",))
    other = graph.with_labels([1, -1, -1])
    assert other.truth.tolist() == [1, -1, -1]
    assert (other.class_names, other.name, other.notes) == (("left", "right"), "path", ("read",))
    assert np.shares_memory(other.adjacency.data, graph.adjacency.data)
    assert graph.with_labels(None, ()).n_classes == 0
    assert graph.with_labels([0, 1, 2], ["a", "b", "c"]).class_names == ("a", "b", "c")


BIG = 1e19
NAN_TABLE = np.array([[0, 1.0], [2, np.nan], [3, 4]])


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"adjacency": np.eye(3)}, "not sparse; wrap it"),
        ({"adjacency": sp.csr_array((3, 2))}, "shape .3, 2."),
        ({"adjacency": sp.csr_array((0, 0))}, "shape .0, 0.; give a square one"),
        ({"adjacency": sp.coo_array(np.ones(3))}, "shape .3,.;"),
        ({"adjacency": PATH * 1j}, "real numbers"),
        ({"adjacency": changed(0, 1, 3.0)}, "node 0 to node 1 weighs 3.0, but 1 to 0 weighs 2.0"),
        ({"adjacency": changed(0, 2, 1.0)}, "node 0 to node 2 weighs 1.0, but 2 to 0 weighs 0.0"),
        ({"adjacency": changed(2, 0, 1.0)}, "node 2 to node 0 weighs 1.0, but 0 to 2 weighs 0.0"),
        ({"adjacency": changed(1, 2, -1.0)}, "of nodes 1 and 2 has weight -1.0"),
        ({"adjacency": changed(2, 1, np.nan)}, "of nodes 2 and 1 has weight nan"),
        ({"adjacency": changed(2, 1, np.inf)}, "of nodes 2 and 1 has weight inf"),
        ({"features": np.ones(3)}, "features have shape .3,."),
        ({"features": np.ones((2, 3))}, "shape .2, 3., but the graph has 3 nodes"),
        ({"features": np.array([["a"], ["b"], ["c"]])}, "turn them into numbers"),
        ({"features": np.eye(3) * 1j}, "turn them into numbers"),
        ({"features": NAN_TABLE}, "Feature 1 of node 1 is nan"),
        ({"features": sp.csr_array(NAN_TABLE)}, "Feature 1 of node 1 is nan"),
        ({"features": np.array([[BIG, BIG], [0, 0], [0, -np.inf]])}, "Feature 1 of node 2 is -inf"),
        ({"features": np.array([[BIG, 2], [3, 4], [5, 1e300]])}, "Feature 1 of node 2 is 1e\\+300; "),
        ({"features": sp.csr_array(np.array([[1, 2], [3, 4], [5, 1e300]]))}, "rescale numbers beyond 1e\\+19"),
        ({"adjacency": PATH * 1e300}, "2e\\+300; weights must be finite, not negative and at most 1e\\+100"),
        ({"labels": np.zeros(2, int)}, "shape"),
        ({"labels": np.zeros(3)}, "whole number per node"),
        ({"labels": np.array([0, -2, 1])}, "Node 1 has label -2"),
        ({"labels": np.array([0, 1, 2]), "class_names": ("a", "b")}, "2 class names, but a label is 2"),
        ({"labels": np.array([0, 1, 1]), "class_names": ("a", "a")}, "'a' is given twice"),
        ({"ids": np.array(["a", "b"])}, "shape"),
        ({"ids": np.array(["a", "b", "a"])}, "Id a of node 2"),
        ({"ids": np.array([0.5, 1, 2])}, "whole numbers or all as text"),
        ({"ids": np.array(["a", 1, None], object)}, "whole numbers or all as text"),
    ],
)
def test_bad_parts_are_refused(parts: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence.replace("(", r"\(")):
        Graph(**{"adjacency": PATH, **parts})


@st.composite
def square_matrices(draw: st.DrawFn) -> np.ndarray:
    n = draw(st.integers(1, 8))
    entries = st.sampled_from([0.0, 0.0, 1.0, 2.5])
    return np.array(draw(st.lists(entries, min_size=n * n, max_size=n * n))).reshape(n, n)


@given(square_matrices(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_matrix_is_accepted_exactly_if_it_is_symmetric(dense: np.ndarray, mirrored: bool) -> None:
    dense = np.maximum(dense, dense.T) if mirrored else dense
    if (dense == dense.T).all():
        graph = Graph.from_scipy(sp.csr_array(dense))
        assert (graph.adjacency.toarray() == dense).all()
        assert graph.n_edges == np.count_nonzero(np.triu(dense, 1))
    else:
        with pytest.raises(InputError, match="not symmetric"):
            Graph.from_scipy(sp.csr_array(dense))
