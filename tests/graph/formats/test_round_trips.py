"""To every format and back."""

from pathlib import Path

import pytest
import scipy.sparse as sp
from format_graphs import assert_same, assert_same_values, graphs
from hypothesis import HealthCheck, assume, given, settings

from hiergcn.graph import Graph

quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("form", ["npz", "networkx", "graphml"])
@quick
@given(graph=graphs())
def test_everything_is_kept(tmp_path: Path, form: str, graph: Graph) -> None:
    path = tmp_path / f"g.{form}"
    if form == "npz":
        graph.to_npz(path)
        assert Graph.from_npz(path).notes == graph.notes
        assert_same(graph, Graph.from_npz(path))
        return
    if graph.labels is not None:
        assume(graph.labelled.size)
    if form == "networkx":
        assert_same(graph, Graph.from_networkx(graph.to_networkx()))
        return
    graph.to_graphml(path)
    assert_same(graph, Graph.from_graphml(path))
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@quick
@given(graphs())
def test_scipy_keeps_the_adjacency(graph: Graph) -> None:
    changed = graph.to_scipy()
    changed.data[:] = -1  # a copy: the graph does not follow
    adjacency = graph.to_scipy()
    again = Graph.from_scipy(
        adjacency, graph.features, graph.labels, ids=graph.ids, class_names=graph.class_names, name=graph.name
    )
    assert_same(graph, again)
    assert (graph.adjacency.data > 0).all()


@quick
@given(graphs())
def test_pyg_keeps_everything(graph: Graph) -> None:
    pytest.importorskip("torch_geometric", reason="PyG is not installed")
    assert_same(graph, Graph.from_pyg(graph.to_pyg(sparse_features=True, exact=True)))
    assert_same_values(graph, Graph.from_pyg(graph.to_pyg(exact=True)))


@quick
@given(graphs())
def test_pandas_keeps_all_but_the_numbers_of_classes(graph: Graph) -> None:
    again = Graph.from_pandas(*graph.to_pandas(), id="id", unknown=[])
    assert_same_values(graph, again)
    assert sp.issparse(again.features) == sp.issparse(graph.features)
