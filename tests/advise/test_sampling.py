"""The sampling plan: groups by weight, a node for each part of the graph, properties over random graphs."""

from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp

from hiergcn.advise import suggest as sampling
from hiergcn.advise.suggest import DEPTH, comparable_features, split_groups, spread_sample
from hiergcn.coarsening import coarsen
from hiergcn.graph import Graph


def cliques(count: int, size: int) -> sp.csr_array:
    """Cliques in a ring, each joined to the next by one edge."""
    n = count * size
    A = np.kron(np.eye(count), np.ones((size, size))) - np.eye(n)
    for k in range(count):
        i, j = k * size, ((k + 1) % count) * size + 1
        A[i, j] = A[j, i] = 1
    return sp.csr_array(A)


@pytest.mark.parametrize("seed", range(12))
def test_as_many_nodes_as_asked_for(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, budget = int(rng.integers(1, 30)), int(rng.integers(1, 20))
    edges = np.triu(rng.random((n, n)) < 0.1, 1)
    A, weight = sp.csr_array((edges | edges.T).astype(float)), rng.integers(0, 3, n).astype(float)
    found = spread_sample(coarsen(A, DEPTH), weight, budget, seed=seed)
    assert len(np.unique(found.nodes)) == len(found.nodes) == min(budget, np.count_nonzero(weight))
    assert (weight[found.nodes] > 0).all()
    np.testing.assert_array_equal(found.cluster[found.nodes], np.arange(len(found.nodes)))
    assert found.cluster.shape == (n,)


@pytest.mark.parametrize("most_rows", [10**6, 40])  # rows are nodes, or hyper-nodes
def test_every_clique_gets_a_node(most_rows: int) -> None:
    A = cliques(8, 10)
    with mock.patch.object(sampling, "MOST_ROWS", most_rows):
        found = spread_sample(coarsen(A, DEPTH), np.ones(80), 8)
    assert sorted(found.nodes // 10) == list(range(8))
    np.testing.assert_array_equal(np.bincount(found.cluster), 10)
    assert all(len(set(found.cluster[10 * k : 10 * k + 10])) == 1 for k in range(8))


def test_without_k_means_the_heaviest_groups_get_a_node() -> None:
    A = cliques(8, 10)
    with mock.patch.object(sampling, "MOST_CLUSTERS", 2):
        found = spread_sample(coarsen(A, DEPTH), np.ones(80), 8)
    assert len(set(found.nodes // 10)) >= 6


def test_weight_decides_where_nodes_are_picked() -> None:
    weight = np.where(np.arange(80) < 20, 1.0, 0.0)
    assert spread_sample(coarsen(cliques(8, 10), DEPTH), weight, 5).nodes.max() < 20


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("measured", [False, True])
def test_features_tell_apart_what_edges_do_not(sparse: bool, measured: bool) -> None:
    """Two cliques without an edge between them: in each, half of the nodes have other features."""
    kind = np.arange(60) % 2
    X = np.eye(2)[kind]
    X = (X + 0.01) * [1e6, 1e-6] if measured else X
    A = sp.csr_array(sp.block_diag([cliques(2, 15), cliques(2, 15)]))
    features = comparable_features(Graph(A, sp.csr_array(X) if sparse else X))
    found = spread_sample(coarsen(A, DEPTH), np.ones(60), 4, features=features)
    assert set(kind[found.nodes]) == {0, 1}
    assert set(found.nodes // 30) == {0, 1}


def test_few_measurements_do_not_outweigh_places() -> None:
    """One column tells two kinds of nodes apart; 8 nodes are wanted, one of each clique."""
    X = np.where(np.arange(80) % 2, 1.0, -1.0)[:, None]
    found = spread_sample(coarsen(cliques(8, 10), DEPTH), np.ones(80), 8, features=X)
    assert len(set(found.nodes // 10)) >= 7


def test_effective_rank_and_leading_directions() -> None:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(2000, 3)) @ np.linalg.qr(rng.normal(size=(40, 3)))[0].T).astype(np.float32)
    assert sampling.effective_rank(X) == pytest.approx(3, abs=0.1)
    assert sampling.effective_rank(np.ones((5, 2), dtype=np.float32)) == 0
    V = sampling.leading_directions(X, 3)
    np.testing.assert_allclose(X @ V @ V.T, X, atol=1e-4)


def test_groups_are_as_coarse_as_the_limit_allows() -> None:
    hierarchy = coarsen(cliques(4, 8), DEPTH)
    whole = split_groups(hierarchy, 0, np.ones(32), limit=32.0)
    assert set(whole) == {0}
    for limit in (1.0, 5.0, 9.0):
        size = np.bincount(split_groups(hierarchy, 0, np.ones(32), limit))
        assert size.max() <= max(limit, 1)
        assert size.sum() == 32
    assert len(set(split_groups(hierarchy, 0, np.ones(32), 0.5))) == 32
