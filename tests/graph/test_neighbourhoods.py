"""Sizes of neighbourhoods, compared with shortest paths of scipy."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path

from hiergcn.datasets import planted_graph
from hiergcn.graph import neighbourhoods
from hiergcn.graph.neighbourhoods import SAMPLE, neighbourhood_sizes, within_hops


def test_sizes_are_those_of_shortest_paths() -> None:
    adjacency = planted_graph(300, degree=2, seed=4).adjacency  # in several components
    sample = np.linspace(0, 299, SAMPLE).astype(int)
    distance = shortest_path(adjacency, unweighted=True)[sample]
    steps = (0, 1, 2, 5, 9, 300)
    expected = [(distance <= one).sum(axis=1) for one in steps]
    np.testing.assert_array_equal(neighbourhood_sizes(adjacency, steps), expected)
    path = sp.csr_array(np.eye(5, k=1) + np.eye(5, k=-1))  # few nodes are all sampled
    np.testing.assert_array_equal(neighbourhood_sizes(path, [1, 2]), [[2, 3, 3, 3, 2], [3, 4, 5, 4, 3]])


RADII = (0, 1, 2, 5, 9, 300)


@pytest.mark.parametrize("seed", range(6))
def test_counts_and_means_are_those_of_shortest_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 120))
    dense = rng.random((n, n)) < rng.uniform(0, 3) / n  # in several components, some of one node, with self-loops
    adjacency = sp.csr_array((dense | dense.T).astype(float))
    values = rng.standard_normal((n, 3))
    distance = shortest_path(adjacency, unweighted=True)
    np.fill_diagonal(distance, 0)
    counts, means = within_hops(adjacency, RADII, values)
    for at, radius in enumerate(RADII):
        near = distance <= radius
        np.testing.assert_array_equal(counts[:, at], near.sum(axis=1))
        np.testing.assert_allclose(means[:, at], near @ values / near.sum(axis=1, keepdims=True), atol=1e-12)


def test_threads_do_not_change_the_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = planted_graph(700, degree=4, seed=2)
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(neighbourhoods, "thread_count", lambda threads=threads: threads)
        monkeypatch.setattr("hiergcn.compiled.jit.thread_count", lambda threads=threads: threads)
        found.append(within_hops(graph.adjacency, (1, 4, 16), np.asarray(graph.features)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_search_ends_before_too_many_edges_whatever_the_order_of_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbourhoods, "MOST_ENDS", 12)
    star = sp.csr_array(nx.to_scipy_sparse_array(nx.star_graph(20)))
    counts, _ = within_hops(star, (1, 2, 3))
    np.testing.assert_array_equal(counts[0], [1, 1, 1])  # its 20 edges are too many
    np.testing.assert_array_equal(counts[1], [2, 2, 2])
    adjacency = planted_graph(80, degree=3, seed=1).adjacency
    order = np.random.default_rng(0).permutation(80)
    first, second = (within_hops(one, (1, 2, 4))[0] for one in (adjacency, adjacency[order][:, order]))
    np.testing.assert_array_equal(first[order], second)
