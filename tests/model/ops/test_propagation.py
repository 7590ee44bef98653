"""Propagation in blocks of columns against dense formulas in double precision."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from hiergcn.model.ops import propagation
from hiergcn.model.ops.dropout import Mask, draw_mask
from hiergcn.model.ops.propagation import Spread, SpreadLevel, masked_product, spread, spread_entries, spread_features
from hiergcn.model.ops.sparse import SparseMatrix, normalised_adjacency

Dense = NDArray[np.float64]


def random_spread(seed: int, depth: int, weighted: bool = False) -> tuple[Spread, Dense]:
    """Return the propagation of a random hierarchy, and its P."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    weight = rng.integers(1, 4, n) if weighted else np.ones(n, dtype=np.int64)
    orders, shares = rng.integers(0, 5, depth + 1), rng.random(depth + 1) * (rng.random(depth + 1) < 0.8)
    levels: list[SpreadLevel] = []
    M, P = np.eye(n), np.zeros((n, n))
    for share, order in zip(shares.tolist(), orders.tolist(), strict=True):
        size = len(weight)
        random = rng.random((size, size)) * (rng.random((size, size)) < 0.1)
        matrix = normalised_adjacency(sp.csr_array(random + random.T))
        A, adjacency = matrix.toarray(), SparseMatrix.from_scipy(matrix)
        mean = sum(np.linalg.matrix_power(A, k) for k in range(order + 1)) / (order + 1)
        B = M / np.sqrt(weight)
        P += share * B @ mean @ B.T
        if len(levels) == depth:
            return Spread([*levels, SpreadLevel(adjacency, weight, share, order)]), P
        coarser = int(rng.integers(1, size + 1))
        group = np.append(np.arange(coarser), rng.integers(0, coarser, size - coarser))
        gather = SparseMatrix.from_scipy(sp.csr_array(np.eye(coarser)[group].T))
        levels.append(SpreadLevel(adjacency, weight, share, order, torch.from_numpy(group), gather))
        weight, M = np.bincount(group, weights=weight), M @ np.eye(coarser)[group]
    raise AssertionError


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("depth", [0, 1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_spread_equals_the_dense_formula(seed: int, depth: int, weighted: bool) -> None:
    graph, P = random_spread(seed, depth, weighted)
    for columns in (1, 31, 32, 33, 70):
        H = torch.randn(2, len(P), columns, generator=torch.Generator().manual_seed(seed))
        for product in (spread(graph.stacked, H), torch.stack([graph.plain(each) for each in H])):
            np.testing.assert_allclose(product.numpy(), P @ H.double().numpy(), rtol=0, atol=1e-5)


@pytest.mark.parametrize("rate", [0.0, 0.6])
@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("columns", [5, 32, 100, 300])
def test_features_equal_the_dense_formula(rate: float, normalised: bool, columns: int) -> None:
    graph, P = random_spread(3, 2)
    n, generator = len(P), torch.Generator().manual_seed(0)
    X = torch.rand(n, columns, generator=generator) + 3.0  # a mean that is large beside the deviation
    keep = (torch.rand(n, 1, generator=generator) < 0.5).float()
    mask = draw_mask(rate, (n, columns), X.device, generator)
    panels, mean, variance = spread_features(graph.stacked, X, keep, mask, 1e-5 if normalised else None)
    expected = P @ (X * keep).double().numpy()
    if normalised:
        np.testing.assert_allclose(mean, expected.mean(axis=0), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(variance, expected.var(axis=0), rtol=1e-4, atol=1e-6)
        expected = (expected - expected.mean(axis=0)) / np.sqrt(expected.var(axis=0) + 1e-5)
    expected = expected * factors(mask, n, columns)
    joined = torch.cat(list(panels), dim=1).numpy()
    np.testing.assert_allclose(joined[:, :columns], expected, rtol=1e-4, atol=1e-4)
    assert not joined[:, columns:].any()


@pytest.mark.parametrize("columns", [5, 100, 300])
@pytest.mark.parametrize("rate", [0.0, 0.6])
def test_entries_and_dense_propagation_equal_the_dense_formula(columns: int, rate: float) -> None:
    graph, P = random_spread(3, 2, weighted=True)
    n, generator = len(P), torch.Generator().manual_seed(0)
    X = torch.rand(n, columns, generator=generator) * (torch.rand(n, columns, generator=generator) < 0.1)
    keep = 0.5 * (torch.rand(n, 1, generator=generator) < 0.5).float()
    mask = draw_mask(rate, (n, columns), X.device, generator)
    panels = spread_entries(graph.dense, sp.csr_array(X.numpy().T), keep, mask)
    joined = torch.cat(list(panels), dim=1).numpy()
    expected = P @ (X * keep).double().numpy() * factors(mask, n, columns)
    np.testing.assert_allclose(joined[:, :columns], expected, rtol=0, atol=1e-5)
    assert not joined[:, columns:].any()


def test_dense_propagation_is_for_small_graphs_with_sparse_features() -> None:
    graph, _ = random_spread(3, 0)
    assert graph.is_cheaper_dense(entries=0, f=1)
    assert not graph.is_cheaper_dense(entries=10**9, f=1)


def factors(mask: Mask | None, n: int, columns: int) -> Dense:
    if mask is None:
        return np.ones((n, columns))
    return np.where(mask.cpu_bits[: n * columns].view(n, columns).numpy() < mask.limit, mask.scale, 0.0)


@pytest.mark.parametrize("shifted", [False, True])
def test_masked_product_and_its_gradients_equal_the_dense_formula(
    shifted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(propagation, "_CACHED", 700)  # several blocks of rows
    graph, P = random_spread(3, 0)
    n, f, generator = len(P), 75, torch.Generator().manual_seed(0)
    mask = draw_mask(0.4, (n, f), torch.device("cpu"), generator)
    panels, _, _ = spread_features(graph.stacked, torch.randn(n, f, generator=generator), torch.ones(n, 1), mask)
    W, S = (torch.randn(f, 6, generator=generator, requires_grad=True) for _ in range(2))
    G = torch.randn(n, 6, generator=generator)
    product = masked_product(panels, W, S if shifted else None, mask)
    gradients = torch.autograd.grad(product, (W, S) if shifted else (W,), G)
    dense, M = torch.cat(list(panels), dim=1)[:, :f].double().numpy(), factors(mask, n, f)
    expected = dense @ W.detach().double().numpy() + (M @ S.detach().double().numpy() if shifted else 0.0)
    np.testing.assert_allclose(product.detach(), expected, atol=1e-4)
    for gradient, factor in zip(gradients, (dense, M), strict=False):
        np.testing.assert_allclose(gradient, factor.T @ G.double().numpy(), atol=1e-4)


def test_threads_do_not_change_a_bit() -> None:
    graph, P = random_spread(5, 2)
    generator = torch.Generator().manual_seed(0)
    X, keep = torch.randn(len(P), 200, generator=generator), torch.ones(len(P), 1)
    mask = draw_mask(0.5, X.shape, X.device, generator)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            found.append((spread(graph.stacked, X.unsqueeze(0)), *spread_features(graph.stacked, X, keep, mask, 1e-5)))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))
