"""NetworkX graphs of every kind."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from format_graphs import classes_by_name

from hiergcn.errors import InputError
from hiergcn.graph import Graph


def test_the_karate_club() -> None:
    graph = Graph.from_networkx(nx.karate_club_graph(), label="club")
    assert (graph.n_nodes, graph.n_edges) == (34, 78)
    assert graph.class_names == ("Mr. Hi", "Officer")
    assert graph.adjacency[[0], [1]][0] == 4  # networkx brings how often two members met
    assert graph.name == "Zachary's Karate Club"


def test_attributes_by_name_become_columns() -> None:
    g = nx.Graph([("a", "b"), ("b", "c")])
    nx.set_node_attributes(
        g, {"a": {"age": 30, "sex": "f", "kind": "x"}, "b": {"age": 40, "sex": "m"}, "c": {"age": 50}}
    )
    graph = Graph.from_networkx(g, label="kind", features=["age", "sex"])
    assert np.asarray(graph.features).tolist() == [[30, 1, 0], [40, 0, 1], [50, 0, 0]]
    assert classes_by_name(graph) == ["x", None, None]
    assert [name for column in graph.columns for name in column.features] == ["age", "sex=f", "sex=m"]
    plain = Graph.from_networkx(g)
    assert plain.features is None
    assert plain.labels is None
    assert plain.notes == ("node attributes that were not used: age, kind, sex",)


def test_directions_and_parallel_edges() -> None:
    directed = nx.DiGraph()
    directed.add_weighted_edges_from([("a", "b", 2), ("b", "a", 5), ("b", "c", 1), ("c", "c", 9)])
    graph = Graph.from_networkx(directed)
    assert graph.adjacency.toarray().tolist() == [[0, 5, 0], [5, 0, 1], [0, 1, 0]]
    assert set(graph.notes) == {"self-loops dropped: 1", "directed edges were made undirected"}
    parallel = nx.MultiGraph()
    parallel.add_weighted_edges_from([("a", "b", 2), ("b", "a", 5), ("a", "c", 1)])
    parallel.add_edge("b", "c")  # without a weight among others that have one: 1
    assert Graph.from_networkx(parallel).adjacency.toarray().tolist() == [[0, 7, 1], [7, 0, 1], [1, 1, 0]]


def test_nodes_of_other_kinds_are_named_by_their_text() -> None:
    graph = Graph.from_networkx(nx.grid_2d_graph(2, 2))
    assert graph.ids.tolist() == ["(0, 0)", "(0, 1)", "(1, 0)", "(1, 1)"]
    assert "named by their text" in graph.notes[0]
    huge = Graph.from_networkx(nx.Graph([(2**70, 1)]))
    assert huge.ids.tolist() == [str(2**70), "1"]
    with pytest.raises(InputError, match="is that of an earlier node"):
        Graph.from_networkx(nx.Graph([(1, "1")]))


def test_sparse_rows() -> None:
    g = nx.path_graph(2)
    nx.set_node_attributes(g, {0: {3: 2.5}, 1: {}}, "x")
    graph = Graph.from_networkx(g)
    assert isinstance(graph.features, sp.csr_array)
    assert graph.features.toarray().tolist() == [[0, 0, 0, 2.5], [0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("attributes", "options", "message"),
    [
        ({0: {"x": [1, 2]}}, {}, "Node 1 has no attribute 'x'"),
        ({0: {"x": [1, 2]}, 1: {"x": [1]}}, {}, r"^Node 1: attribute 'x' is \[1\], but"),
        ({0: {"x": "tall"}, 1: {"x": "short"}}, {}, r"features=\['x'\]"),
        ({0: {"x": {-1: 2}}, 1: {"x": {}}}, {}, "columns from 0"),
        ({0: {"a": 1}}, {"label": "topic"}, "No node has an attribute 'topic' to be its label; nodes have 'a'"),
        ({0: {"a": 1}}, {"features": ["a", "b"]}, "No node has an attribute 'b' to be a feature"),
    ],
)
def test_defects(attributes: object, options: dict[str, str], message: str) -> None:
    g = nx.path_graph(2)
    nx.set_node_attributes(g, attributes)
    with pytest.raises(InputError, match=message):
        Graph.from_networkx(g, **options)


def test_what_is_no_graph() -> None:
    with pytest.raises(InputError, match="is not a NetworkX graph"):
        Graph.from_networkx([(0, 1)])
    with pytest.raises(InputError, match="has no nodes"):
        Graph.from_networkx(nx.Graph())
    g = nx.Graph()
    g.add_edge("a", "b", weight="heavy")
    with pytest.raises(InputError, match="edge a to b has weight 'heavy'"):
        Graph.from_networkx(g)
