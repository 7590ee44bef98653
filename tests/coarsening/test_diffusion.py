"""Diffused labels against a dense solution, and conjugate gradients against the factorisation."""

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp
from coarsen_graphs import graph_of, real_graph
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from hiergcn.coarsening import coarsen, diffusion
from hiergcn.coarsening.diffusion import Diffusion, conjugate_gradients, multigrid
from hiergcn.graph.split import FOLDS, stratified_folds


def dense_harmonic(adjacency: sp.csr_array, nodes: np.ndarray, classes: np.ndarray, n_classes: int) -> np.ndarray:
    """The definition: (D - A)_UU F_U = A_UL Y_L; a component without labels gets the shares of the labels."""
    A = adjacency.toarray()
    Y = np.eye(n_classes)[classes]
    F = np.tile(Y.mean(axis=0), (len(A), 1))
    F[nodes] = Y
    _, part = connected_components(adjacency)
    U = np.flatnonzero(np.isin(part, part[nodes]) & ~np.isin(np.arange(len(A)), nodes))
    L = np.diag(A.sum(axis=1)) - A
    F[U] = np.linalg.solve(L[np.ix_(U, U)], A[np.ix_(U, nodes)] @ Y)
    return F


def grid(side: int) -> sp.csr_array:
    line = sp.csr_array(np.eye(side, k=1) + np.eye(side, k=-1))
    eye = sp.eye_array(side)
    return sp.csr_array(sp.kron(eye, line) + sp.kron(line, eye))


def random_graph(n: int, degree: float, seed: int) -> sp.csr_array:
    """Random edges, some of them parallel, so that weights differ; a few nodes are isolated."""
    rng = np.random.default_rng(seed)
    m = round(n * degree / 2)
    half = sp.coo_array((rng.uniform(0.5, 2.0, m), (rng.integers(n, size=m), rng.integers(n, size=m))), shape=(n, n))
    return sp.csr_array(half + half.T)


def some_labels(n: int, count: int, n_classes: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    nodes = np.sort(rng.permutation(n)[:count])
    return nodes, np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=count - n_classes)])


def test_path_of_five_nodes() -> None:
    """With labels at both ends, the share of a class falls by a quarter with each step."""
    path = graph_of(5, [(i, i + 1, 1.0) for i in range(4)])
    F = Diffusion(path).harmonic(np.array([0, 4]), np.array([0, 1]), 2)
    np.testing.assert_allclose(F[:, 0], [1.0, 0.75, 0.5, 0.25, 0.0], atol=1e-6)
    np.testing.assert_allclose(F[:, 1], [0.0, 0.25, 0.5, 0.75, 1.0], atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("density", [0.03, 0.1, 0.4])
def test_equals_the_dense_solution(density: float, seed: int) -> None:
    """Thin graphs have components without a label and isolated nodes."""
    adjacency = real_graph(40, density, seed)
    nodes, classes = some_labels(40, 6, 3, seed)
    F = Diffusion(adjacency).harmonic(nodes, classes, 3)
    np.testing.assert_allclose(F, dense_harmonic(adjacency, nodes, classes, 3), atol=1e-5)
    np.testing.assert_allclose(F.sum(axis=1), 1.0, atol=1e-6)
    assert F.min() >= 0


def test_a_self_loop_says_nothing() -> None:
    """A node whose only edge is a self-loop is isolated; on others a self-loop changes nothing."""
    edges = [(0, 1, 1.0), (1, 2, 1.0)]
    nodes, classes = np.array([0, 2]), np.array([0, 1])
    with_loops = Diffusion(graph_of(4, [*edges, (1, 1, 5.0), (3, 3, 2.0), (0, 0, 3.0)])).harmonic(nodes, classes, 2)
    np.testing.assert_allclose(with_loops, [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.5, 0.5]], atol=1e-6)


def test_all_nodes_or_none_have_a_label() -> None:
    classes = np.array([2, 0, 1, 0])
    F = Diffusion(graph_of(4, [(0, 1, 1.0), (2, 3, 1.0)])).harmonic(np.arange(4), classes, 3)
    assert np.array_equal(F, np.eye(3)[classes])
    none = np.empty(0, dtype=np.int64)
    F = Diffusion(graph_of(3, [(0, 1, 1.0)])).harmonic(none, none, 4)
    np.testing.assert_allclose(F, np.full((3, 4), 0.25))
    np.testing.assert_allclose(Diffusion(graph_of(3, [(0, 1, 1.0)])).cross_fitted(none, none, 4), F)


@pytest.mark.parametrize("coarsest", [1_000, 40])
@pytest.mark.parametrize("make", [lambda: grid(36), lambda: random_graph(1_300, 3.0, seed=1)], ids=["grid", "random"])
def test_conjugate_gradients_equal_the_factorisation(
    make: Callable[[], sp.csr_array], coarsest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 17 classes, which are solved in two parts; a level or several. The random graph needs no hierarchy."""
    adjacency = make()
    nodes, classes = some_labels(adjacency.shape[0], 60, 17, seed=2)
    monkeypatch.setattr(diffusion, "SMALL", 2_000)
    exact = Diffusion(adjacency).harmonic(nodes, classes, 17)
    monkeypatch.setattr(diffusion, "SMALL", 0)
    with monkeypatch.context() as slow:  # so slow that the factorisation helps
        slow.setattr(diffusion, "_PLAIN_STEPS", 5)
        np.testing.assert_allclose(Diffusion(adjacency).harmonic(nodes, classes, 17), exact, atol=1e-9)
    monkeypatch.setattr(diffusion, "EXACT", 0)
    monkeypatch.setattr(diffusion, "EXACT_SPARSE", 0)
    monkeypatch.setattr(diffusion, "_COARSEST", coarsest)
    monkeypatch.setattr(diffusion, "_AT_ONCE", 16 * adjacency.shape[0])
    found = Diffusion(adjacency)
    np.testing.assert_allclose(found.harmonic(nodes, classes, 17), exact, atol=2e-5)
    monkeypatch.setattr(diffusion, "_FEWER_STEPS", 3)
    np.testing.assert_allclose(found.harmonic(nodes, classes, 17), exact, atol=2e-5)
    assert found._hierarchy is not None
    assert found._hierarchy.depth >= (4 if coarsest == 40 else 1)


def test_multigrid_takes_fewer_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a grid with labels in one corner, a step of the preconditioner saves many without."""
    adjacency = grid(40)
    monkeypatch.setattr(diffusion, "_COARSEST", 100)
    L = sp.csr_array(sp.diags_array(adjacency.sum(axis=1) * (1 + 1e-8)) - adjacency)[3:, 3:]
    hierarchy = coarsen(adjacency, 4)
    cycle = multigrid(L, hierarchy, np.arange(3, 1_600))
    B = np.asarray(adjacency[3:, :3].toarray())
    X, is_solved = conjugate_gradients(L, B, cycle, np.zeros_like(B), steps=30)
    assert is_solved
    assert np.linalg.norm(L @ X - B, axis=0).max() < 1e-5
    assert not conjugate_gradients(L, B, lambda R: R, np.zeros_like(B), steps=90)[1]


def test_the_preconditioner_is_symmetric_and_positive() -> None:
    """Conjugate gradients need both."""
    adjacency, unknown = grid(12), np.arange(5, 144)
    L = sp.csr_array(sp.diags_array(adjacency.sum(axis=1)) - adjacency)[5:, 5:]
    cycle = multigrid(sp.csr_array(L), coarsen(adjacency, 3), unknown)
    P = cycle(np.eye(139))
    np.testing.assert_allclose(P, P.T, atol=1e-10)
    assert np.linalg.eigvalsh((P + P.T) / 2).min() > 0


def test_cross_fitted_values_are_those_of_the_other_folds() -> None:
    adjacency = real_graph(30, 0.2, seed=6)
    nodes, classes = some_labels(30, 11, 2, seed=6)
    F, plain, fold = Diffusion(adjacency).cross_fitted(nodes, classes, 2), dense_harmonic, stratified_folds(classes)
    others = np.setdiff1d(np.arange(30), nodes)
    np.testing.assert_allclose(F[others], plain(adjacency, nodes, classes, 2)[others], atol=1e-5)
    for place, node in enumerate(nodes):
        kept = fold != fold[place]
        np.testing.assert_allclose(F[node], plain(adjacency, nodes[kept], classes[kept], 2)[node], atol=1e-5)


@pytest.mark.parametrize("count", [1, 3, 5, 47])
def test_folds_spread_each_class(count: int) -> None:
    classes = np.random.default_rng(count).integers(3, size=count)
    fold = stratified_folds(classes)
    assert np.array_equal(fold, stratified_folds(classes))
    assert set(fold) <= set(range(FOLDS))
    for k in np.unique(classes):
        sizes = np.bincount(fold[classes == k], minlength=FOLDS)
        assert sizes.max() - sizes.min() <= 1


def test_a_sharp_diffusion_puts_the_border_at_the_bottleneck() -> None:
    """Two triangles joined by a path: labels at one corner each; the border lies on the path."""
    edges = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (5, 6), (4, 6)]
    graph = graph_of(7, [(i, j, 1.0) for i, j in edges])
    nodes, classes = np.array([0, 6]), np.array([0, 1])
    plain, sharp = (Diffusion(graph, sharp).harmonic(nodes, classes, 2)[:, 0] for sharp in (False, True))
    assert sharp[2] - sharp[4] > plain[2] - plain[4] + 0.1
    assert sharp[1] > plain[1]
    np.testing.assert_allclose(sharp[3], 0.5, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_label_weights_are_a_row_of_the_harmonic_function(seed: int) -> None:
    graph = random_graph(60, 5, seed)
    nodes, classes = some_labels(60, 9, 3, seed)
    found = Diffusion(graph)
    F, reached = found.harmonic(nodes, classes, 3), 0
    for node in range(60):
        weights = found.label_weights(node, nodes)
        if weights.sum() > 0.5:  # else no label reaches it
            reached += 1
            np.testing.assert_allclose(weights @ np.eye(3)[classes], F[node], atol=1e-5)
    assert reached > 40
