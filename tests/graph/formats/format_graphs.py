"""Graphs of every shape for round trips, and a comparison of two graphs."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hiergcn.graph import Graph

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=6)
NUMBERS = st.floats(-1e6, 1e6, width=32)
WEIGHTS = st.floats(2.0**-10, 1e6, width=32)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Text or whole ids, weights or none, features dense, sparse or absent, labels known, unknown or absent."""
    n = draw(st.integers(1, 7))
    pairs = [(i, j) for i in range(n) for j in range(i)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    weights = draw(st.none() | st.lists(WEIGHTS, min_size=len(edges), max_size=len(edges)))
    classes = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    labels = draw(st.none() | hnp.arrays(np.int64, n, elements=st.integers(-1, len(classes) - 1)))
    ids = draw(
        st.lists(NAMES, min_size=n, max_size=n, unique=True).map(lambda texts: np.array(texts, dtype=object))
        | hnp.arrays(np.int64, n, elements=st.integers(-(2**60), 2**60), unique=True)
    )
    width = draw(st.integers(1, 3))
    kind: Any = draw(st.sampled_from([np.float32, np.float64]))
    features: Any = draw(st.none() | hnp.arrays(kind, (n, width), elements=NUMBERS))
    if features is not None and draw(st.booleans()):
        features = sp.csr_array(features)
    return Graph.from_edges(
        np.array([edge[0] for edge in edges], dtype=np.int64),
        np.array([edge[1] for edge in edges], dtype=np.int64),
        weights,
        n,
        features=features,
        labels=labels,
        ids=ids,
        class_names=() if labels is None else classes,
        name=draw(NAMES),
    )


def dense(matrix: Any) -> Any:
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def different_edges(one: Graph, other: Graph) -> int:
    different: Any = one.adjacency != other.adjacency
    return int(different.nnz)


def assert_same_values(one: Graph, other: Graph) -> None:
    """Structure, features and which class each node has, by the names; not the form in which features are held."""
    assert one.ids.tolist() == other.ids.tolist()
    assert different_edges(one, other) == 0
    assert (one.features is None) == (other.features is None)
    if one.features is not None:
        np.testing.assert_array_equal(dense(one.features), dense(other.features))
    assert classes_by_name(one) == classes_by_name(other)


def classes_by_name(graph: Graph) -> list[str | None] | None:
    if graph.labels is None:
        return None
    return [None if k < 0 else graph.class_names[k] for k in graph.labels]


def assert_same(one: Graph, other: Graph) -> None:
    """Everything there is."""
    assert_same_values(one, other)
    assert one.class_names == other.class_names
    assert one.name == other.name
    assert sp.issparse(one.features) == sp.issparse(other.features)
    if one.features is not None and other.features is not None:
        assert one.features.dtype == other.features.dtype
