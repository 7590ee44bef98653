"""`node_table`: means over neighbours and hyper-nodes, and labels nearby."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from hiergcn import Graph, InputError, Split, node_table
from hiergcn.coarsening import coarsen
from hiergcn.datasets import planted_graph


def path_of_four() -> Graph:
    adjacency = sp.csr_array(np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1))
    features = np.array([[1.0], [2.0], [4.0], [8.0]])
    return Graph(adjacency, features, np.array([0, -1, -1, 1]), np.array(["a", "b", "c", "d"]), ("left", "right"))


def test_means_of_a_path() -> None:
    graph = path_of_four()
    with pytest.raises(InputError, match="hops is -1"):
        node_table(graph, hops=-1)
    with pytest.raises(InputError, match="two labels or more"):
        node_table(graph, train=[0])
    table = node_table(graph, hops=2, levels=1)
    assert list(table.index) == ["a", "b", "c", "d"]
    assert list(table["degree"]) == [1, 2, 2, 1]
    assert list(table["hop1:x0"]) == [2.0, 2.5, 5.0, 4.0]
    assert list(table["hop2:x0"]) == [2.5, 3.5, 3.25, 5.0]
    group = coarsen(graph, 1).hyper_nodes(1)
    for k, mean in enumerate(table["level1:x0"]):
        assert mean == graph.features[group == group[k]].mean()  # type: ignore[index]
    assert {"near:left", "near:right"} <= set(table)


def test_every_feature_of_a_category_and_of_text_has_a_column() -> None:
    texts = [f"{'red wine' if k % 2 else 'white bread'} number {k}" for k in range(60)]
    nodes = pd.DataFrame({"id": range(60), "size": np.arange(60.0), "kind": ["a", "b", "c"] * 20, "about": texts})
    edges = pd.DataFrame({"source": np.arange(59), "target": np.arange(1, 60)})
    graph = Graph.from_pandas(edges, nodes)
    table = node_table(graph, hops=1, levels=0)
    assert {"size", "kind=b", "about: wine", "hop1:kind=b", "hop1:about: bread"} <= set(table)
    assert table.shape == (60, 1 + 2 * graph.n_features)


def test_no_node_sees_its_own_label() -> None:
    graph = planted_graph(60, classes=2, seed=3)
    before = node_table(graph, hops=0, levels=0)
    flipped = graph.truth.copy()
    flipped[7] = 1 - flipped[7]
    after = node_table(replace(graph, labels=flipped), hops=0, levels=0)
    near = [name for name in before if str(name).startswith("near:")]
    others = np.delete(np.arange(60), 7)
    assert not np.allclose(before[near].to_numpy()[others], after[near].to_numpy()[others])
    alone = node_table(graph, 0, 0, train=np.delete(np.arange(60), 7))[near].to_numpy()[7]
    again = node_table(replace(graph, labels=flipped), 0, 0, train=np.delete(np.arange(60), 7))[near].to_numpy()[7]
    np.testing.assert_allclose(alone, again)


def test_only_training_labels_are_used() -> None:
    graph = planted_graph(60, classes=2, seed=3)
    nodes = np.arange(60)
    split = Split(nodes[:20], nodes[20:40], nodes[40:])
    hidden = np.where(nodes < 20, graph.truth, 1 - graph.truth)
    one, other = (node_table(replace(graph, labels=labels, split=split)) for labels in (graph.truth, hidden))
    assert one.equals(other)
    assert not [name for name in node_table(replace(graph, labels=None)) if str(name).startswith("near:")]
