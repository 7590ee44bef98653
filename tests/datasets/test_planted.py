"""Planted graphs have the requested communities, homophily and features, and are reproducible."""

import numpy as np
import pytest

from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.graph import Graph


def homophily_of(graph: Graph) -> float:
    edges = graph.adjacency.tocoo()
    source, target = edges.coords
    return float(np.mean(graph.truth[source] == graph.truth[target]))


def test_sizes() -> None:
    graph = planted_graph(20_000, classes=5, degree=8, features=3)
    assert (graph.n_nodes, graph.n_classes, graph.n_features) == (20_000, 5, 3)
    assert graph.n_edges == pytest.approx(80_000, rel=0.01)
    assert np.bincount(graph.truth).tolist() == [4000] * 5
    assert graph.adjacency.diagonal().sum() == 0
    assert set(graph.adjacency.data.tolist()) == {1.0}


def test_the_same_arguments_give_the_same_graph_and_another_seed_another() -> None:
    one, two, three = planted_graph(500), planted_graph(500), planted_graph(500, seed=1)
    assert np.array_equal(one.adjacency.indices, two.adjacency.indices)
    assert np.array_equal(np.asarray(one.features), np.asarray(two.features))
    assert not np.array_equal(one.labels, three.labels)  # type: ignore[arg-type]


@pytest.mark.parametrize(("n", "homophily"), [(5, 0.5), (20_000, 0.0), (20_000, 0.9), (20_000, 1.0)])
def test_homophily(n: int, homophily: float) -> None:
    graph = planted_graph(n, classes=4, homophily=homophily, features=0, degree=min(10, n - 2))
    assert (graph.n_nodes, graph.n_classes) == (n, 4)
    if n < 100:
        return
    # edges between any two nodes join a class with probability 1/4, too
    assert homophily_of(graph) == pytest.approx(homophily + (1 - homophily) / 4, abs=0.02)
    assert graph.features is None


def test_features_lie_around_their_class() -> None:
    graph = planted_graph(10_000, classes=3, features=6, noise=0.5)
    assert isinstance(graph.features, np.ndarray)
    assert graph.features.dtype == np.float32
    for label in range(3):
        rows = graph.features[graph.labels == label]
        assert rows.std(axis=0) == pytest.approx(np.full(6, 0.5), rel=0.05)
    centres = np.array([graph.features[graph.labels == label].mean(axis=0) for label in range(3)])
    assert np.abs(centres[0] - centres[1]).max() > 0.2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n": 3}, "3 nodes cannot fill 4 classes"),
        ({"classes": 0}, "at least 1"),
        ({"depth": 0}, "at least 1"),
        ({"features": -1}, "features of at least 0"),
        ({"degree": -1}, r"Degree -?10? is impossible"),
        ({"n": 10, "degree": 10}, r"Degree -?10? is impossible"),
        ({"homophily": 1.5}, "between 0 and 1"),
        ({"decay": -0.1}, "between 0 and 1"),
    ],
)
def test_bad_arguments(options: dict[str, float], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        planted_graph(**options)  # type: ignore[arg-type]
