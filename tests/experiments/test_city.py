"""Generated cities are connected, of the requested size, and labelled by what lies within 16 hops."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from hiergcn.datasets import load_dataset
from hiergcn.datasets.dataset_info import dataset_info
from hiergcn.errors import InputError
from hiergcn.graph import Graph
from hiergcn_experiments.graphs.city import city_graph, city_points, deciles, eccentricity


def streets(graph: Graph, seed: int = 0) -> nx.Graph:
    """The city with the length of each street, measured between the points."""
    points = city_points(graph.n_nodes, seed=seed)
    source, target = graph.adjacency.tocoo().coords
    length = np.linalg.norm(points[source] - points[target], axis=1)
    found = nx.Graph()
    found.add_weighted_edges_from(zip(source.tolist(), target.tolist(), length.tolist(), strict=True))
    return found


def brute_eccentricity(graph: nx.Graph, node: int, hops: int) -> float:
    near = nx.single_source_shortest_path_length(graph, node, cutoff=hops)
    metres = nx.single_source_dijkstra_path_length(graph, node)
    return float(max(metres[other] for other in near))


def test_sizes() -> None:
    graph = city_graph(3000)
    assert repr(graph) == "Graph('city-3000', nodes=3000, edges=4650, features=8, classes=10, labelled=3000)"
    assert np.bincount(graph.truth).tolist() == [300] * 10
    found = streets(graph)
    assert nx.is_connected(found)
    assert nx.is_planar(found)
    assert city_graph(3000, degree=2.5).n_edges == 3750


def test_features_are_degree_lengths_and_noise() -> None:
    graph = city_graph(2000)
    features, found = np.asarray(graph.features), streets(graph)
    lengths = [[edge["weight"] for edge in found[node].values()] for node in range(2000)]
    assert features[:, 0].tolist() == [len(own) for own in lengths]
    expected = np.array([(np.mean(own), max(own), min(own)) for own in lengths])
    assert np.expm1(features[:, 1:4]) == pytest.approx(expected, rel=1e-4)
    assert features[:, 4:].mean(axis=0) == pytest.approx(np.zeros(4), abs=0.1)
    assert features[:, 4:].std(axis=0) == pytest.approx(np.ones(4), abs=0.1)


def test_the_same_seed_gives_the_same_city_whatever_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = city_graph(500), city_graph(500, seed=1)
    monkeypatch.setattr("hiergcn_experiments.graphs.city.thread_count", lambda: 7)
    again = city_graph(500)
    assert np.array_equal(one.adjacency.indices, again.adjacency.indices)
    assert np.array_equal(one.labels, again.labels)  # type: ignore[arg-type]
    assert np.array_equal(np.asarray(one.features), np.asarray(again.features))
    assert not np.array_equal(one.adjacency.indptr, other.adjacency.indptr)


def test_a_city_of_any_size_has_a_name() -> None:
    dataset = load_dataset("city-777")
    assert (dataset.graph.n_nodes, dataset.graph.n_edges) == (777, dataset.info.edges)
    assert repr(dataset.split) == "Split(train=80, validation=80, test=617)"
    assert dataset.coordinates is not None
    assert np.array_equal(dataset.coordinates, city_points(777))
    clustered = load_dataset("city-777-clustered")
    assert (clustered.graph.name, clustered.graph.n_edges) == ("city-777-clustered", clustered.info.edges)
    assert clustered.coordinates is not None
    assert np.array_equal(clustered.coordinates, city_points(777, clustered=0.8))
    assert dataset_info("city-12")
    for name in ("city-", "city-x", "city--5", "city-007", "city-1e3", "12", "city--clustered", "12-clustered"):
        assert not dataset_info(name)
    with pytest.raises(InputError, match="city of 9 nodes is too small"):
        load_dataset("city-9")


@pytest.mark.parametrize(
    "options", [{"degree": 1.5}, {"degree": 5.5}, {"degree": float("nan")}, {"hops": 0}, {"clustered": 1.1}]
)
def test_bad_arguments(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match=r"give 2 to 5|at least 1|give 0 to 1"):
        city_graph(100, **options)  # type: ignore[arg-type]


class TestEccentricity:
    def test_a_path_that_leaves_the_neighbourhood(self) -> None:
        """Node 1 is one hop from node 0, but the way over 2 and 3, more hops than one, is shorter."""
        entries = ((0, 1, 9.0), (0, 2, 1.0), (2, 3, 1.0), (3, 1, 1.5), (3, 4, 50.0))
        source, target, length = (np.array(part) for part in zip(*entries, strict=True))
        half = sp.csr_array((length, (source, target)), shape=(6, 6))
        lengths = sp.csr_array(half + half.T)
        assert eccentricity(lengths, 1).tolist() == [3.5, 3.5, 1.0, 50.0, 50.0, 0.0]
        assert eccentricity(lengths, 9).tolist() == [52.0, 51.5, 51.0, 50.0, 52.0, 0.0]

    def test_random_graphs(self) -> None:
        for seed in range(5):
            graph = nx.gnm_random_graph(60, 80, seed=seed)
            rng = np.random.default_rng(seed)
            for _, _, edge in graph.edges(data=True):
                edge["weight"] = float(rng.random() ** 4 + 0.001)
            matrix = nx.to_scipy_sparse_array(graph, format="csr")
            matrix.sort_indices()
            for hops in (1, 3, 60):
                found = eccentricity(matrix, hops)
                assert found == pytest.approx([brute_eccentricity(graph, node, hops) for node in range(60)])

    def test_deciles(self) -> None:
        values = np.array([3.0, 1.0, 2.0, 2.0, 5.0])
        assert deciles(values).tolist() == [6, 0, 2, 4, 8]
        assert deciles(values, ties=np.array([0, 0, 9, 1, 0])).tolist() == [6, 0, 4, 2, 8]
        assert deciles(np.zeros(0)).tolist() == []
