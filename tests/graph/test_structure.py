"""Features from the edges alone: right by hand, the same for a node wherever it stands, and worth more than noise."""

from dataclasses import replace

import networkx as nx
import numpy as np
import scipy.sparse as sp

from hiergcn.datasets import planted_graph
from hiergcn.graph import Graph
from hiergcn.graph.structure import SCALE, WIDTH, structural_features, with_structural_features


def test_surroundings_by_hand() -> None:
    graph = Graph.from_edges([0, 0, 1, 2], [1, 2, 2, 3], n=5)  # a triangle with a tail, and a node by itself
    found = structural_features(graph)
    assert found.shape == (5, WIDTH)
    np.testing.assert_allclose(np.linalg.norm(found[:, 3:], axis=1), 1, rtol=1e-5)
    degree = np.array([2, 2, 3, 1, 0])
    np.testing.assert_allclose(found[:, 0], SCALE * np.log1p(degree), rtol=1e-6)
    around = [(np.log(3) + np.log(4)) / 2, (np.log(3) + np.log(4)) / 2, (2 * np.log(3) + np.log(2)) / 3, np.log(4), 0]
    np.testing.assert_allclose(found[:, 1], SCALE * np.array(around), rtol=1e-6)
    np.testing.assert_allclose(4 * found[:, 2], [1, 1, 1 / 3, 0, 0], rtol=1e-6)


def test_clustering_is_that_of_networkx_and_loops_do_not_matter() -> None:
    graph = planted_graph(300, degree=14, seed=2)
    known = nx.clustering(nx.from_scipy_sparse_array(graph.adjacency))
    found = 4 * structural_features(graph)[:, 2]
    np.testing.assert_allclose(found, [known[k] for k in range(300)], atol=1e-6)


def test_a_node_keeps_its_features_in_another_order() -> None:
    graph = planted_graph(200, seed=1)
    order = np.random.default_rng(0).permutation(200)
    other = Graph(sp.csr_array(graph.adjacency[order][:, order]), ids=graph.ids[order].astype(str))
    np.testing.assert_allclose(structural_features(other), structural_features(graph)[order], atol=2e-4)


def test_a_node_nearly_keeps_its_features_when_the_graph_grows() -> None:
    graph = planted_graph(400, classes=4, depth=1, homophily=0.95, seed=1)
    rows, columns = graph.adjacency.nonzero()
    grown = Graph.from_edges([*rows, 400], [*columns, 0], n=401)
    before, after = structural_features(graph)[:, 3:], structural_features(grown)[:400, 3:]
    cosine = (before * after).sum(axis=1)
    assert np.median(cosine) > 0.95


def test_given_features_stay_and_made_ones_are_noted() -> None:
    graph = planted_graph(50, seed=0)
    assert with_structural_features(graph) is graph
    made = with_structural_features(replace(graph, features=None))
    assert made.n_features == WIDTH
    assert np.asarray(made.features).dtype == np.float32
    assert "the nodes have no features" in made.notes[-1]
