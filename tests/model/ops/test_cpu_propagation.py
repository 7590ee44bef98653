"""Propagation in blocks of columns against dense formulas in double precision."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from hiergcn.model.ops import cpu_propagation
from hiergcn.model.ops.cpu_propagation import (
    Spread,
    Stacked,
    masked_product,
    spread,
    spread_entries,
    spread_features,
    stacked_levels,
)
from hiergcn.model.ops.dropout import Mask, draw_mask
from hiergcn.model.ops.sparse import normalised_adjacency

Dense = NDArray[np.float64]


def random_levels(seed: int, depth: int, weighted: bool = False) -> tuple[Stacked, Dense]:
    """Return the levels of a random hierarchy, and its P."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    weight = rng.integers(1, 4, n) if weighted else np.ones(n, dtype=np.int64)
    orders, shares = rng.integers(0, 5, depth + 1), rng.random(depth + 1) * (rng.random(depth + 1) < 0.8)
    adjacencies, weights, groups = [], [weight], []
    M, P = np.eye(n), np.zeros((n, n))
    for level in range(depth + 1):
        size = len(weights[-1])
        random = rng.random((size, size)) * (rng.random((size, size)) < 0.1)
        adjacencies.append(normalised_adjacency(sp.csr_array(random + random.T)))
        A = adjacencies[-1].toarray()
        mean = sum(np.linalg.matrix_power(A, k) for k in range(orders[level] + 1)) / (orders[level] + 1)
        B = M / np.sqrt(weights[-1])
        P += shares[level] * B @ mean @ B.T
        if level < depth:
            coarser = int(rng.integers(1, size + 1))
            groups.append(np.append(np.arange(coarser), rng.integers(0, coarser, size - coarser)))
            weights.append(np.bincount(groups[-1], weights=weights[-1]))
            M = M @ np.eye(coarser)[groups[-1]]
    return stacked_levels(adjacencies, weights, groups, shares.tolist(), orders.tolist()), P


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("depth", [0, 1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_spread_equals_the_dense_formula(seed: int, depth: int, weighted: bool) -> None:
    levels, P = random_levels(seed, depth, weighted)
    for columns in (1, 31, 32, 33, 70):
        H = torch.randn(2, len(P), columns, generator=torch.Generator().manual_seed(seed))
        np.testing.assert_allclose(spread(levels, H).numpy(), P @ H.double().numpy(), rtol=0, atol=1e-5)


@pytest.mark.parametrize("rate", [0.0, 0.6])
@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("columns", [5, 32, 100, 300])
def test_features_equal_the_dense_formula(rate: float, normalised: bool, columns: int) -> None:
    levels, P = random_levels(3, 2)
    n, generator = len(P), torch.Generator().manual_seed(0)
    X = torch.rand(n, columns, generator=generator) + 3.0  # a mean that is large beside the deviation
    keep = (torch.rand(n, 1, generator=generator) < 0.5).float()
    mask = draw_mask(rate, (n, columns), X.device, generator)
    found = spread_features(levels, X, keep, mask, 1e-5 if normalised else None)
    expected = P @ (X * keep).double().numpy()
    if normalised:
        np.testing.assert_allclose(found.mean, expected.mean(axis=0), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.variance, expected.var(axis=0), rtol=1e-4, atol=1e-6)
        expected = (expected - expected.mean(axis=0)) / np.sqrt(expected.var(axis=0) + 1e-5)
    expected = expected * factors(mask, n, columns)
    joined = torch.cat(list(found.panels), dim=1).numpy()
    np.testing.assert_allclose(joined[:, :columns], expected, rtol=1e-4, atol=1e-4)
    assert not joined[:, columns:].any()


@pytest.mark.parametrize("columns", [5, 100, 300])
@pytest.mark.parametrize("rate", [0.0, 0.6])
def test_entries_and_dense_propagation_equal_the_dense_formula(columns: int, rate: float) -> None:
    graph = OfLevels(*random_levels(3, 2, weighted=True))
    n, generator = len(graph.P), torch.Generator().manual_seed(0)
    X = torch.rand(n, columns, generator=generator) * (torch.rand(n, columns, generator=generator) < 0.1)
    keep = 0.5 * (torch.rand(n, 1, generator=generator) < 0.5).float()
    mask = draw_mask(rate, (n, columns), X.device, generator)
    panels = spread_entries(graph.dense, sp.csr_array(X.numpy().T), keep, mask)
    joined = torch.cat(list(panels), dim=1).numpy()
    expected = graph.P @ (X * keep).double().numpy() * factors(mask, n, columns)
    np.testing.assert_allclose(joined[:, :columns], expected, rtol=0, atol=1e-5)
    assert not joined[:, columns:].any()


def test_dense_propagation_is_for_small_graphs_with_sparse_features() -> None:
    graph = OfLevels(*random_levels(3, 0))
    assert graph.is_cheaper_dense(entries=0, f=1)
    assert not graph.is_cheaper_dense(entries=10**9, f=1)


class OfLevels(Spread):
    """A propagation that is given by its levels."""

    def __init__(self, levels: Stacked, P: Dense) -> None:
        self.levels, self.P, self.entries = levels, P, len(levels.adjacency.column)

    def stack(self) -> Stacked:
        return self.levels

    def plain(self, H: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


def factors(mask: Mask | None, n: int, columns: int) -> Dense:
    if mask is None:
        return np.ones((n, columns))
    return np.where(mask.cpu_bits[: n * columns].view(n, columns).numpy() < mask.limit, mask.scale, 0.0)


@pytest.mark.parametrize("shifted", [False, True])
def test_masked_product_and_its_gradients_equal_the_dense_formula(
    shifted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu_propagation, "_CACHED", 700)  # several blocks of rows
    levels, _ = random_levels(3, 0)
    n, f, generator = int(levels.first[1]), 75, torch.Generator().manual_seed(0)
    mask = draw_mask(0.4, (n, f), torch.device("cpu"), generator)
    X = spread_features(levels, torch.randn(n, f, generator=generator), torch.ones(n, 1), mask)
    W, S = (torch.randn(f, 6, generator=generator, requires_grad=True) for _ in range(2))
    G = torch.randn(n, 6, generator=generator)
    product = masked_product(X.panels, W, S if shifted else None, mask)
    (product * G).sum().backward()
    dense, M = torch.cat(list(X.panels), dim=1)[:, :f].double().numpy(), factors(mask, n, f)
    expected = dense @ W.detach().double().numpy() + (M @ S.detach().double().numpy() if shifted else 0.0)
    np.testing.assert_allclose(product.detach(), expected, atol=1e-4)
    assert W.grad is not None
    np.testing.assert_allclose(W.grad, dense.T @ G.double().numpy(), atol=1e-4)
    if shifted:
        assert S.grad is not None
        np.testing.assert_allclose(S.grad, M.T @ G.double().numpy(), atol=1e-4)


def test_threads_do_not_change_a_bit() -> None:
    levels, P = random_levels(5, 2)
    generator = torch.Generator().manual_seed(0)
    X, keep = torch.randn(len(P), 200, generator=generator), torch.ones(len(P), 1)
    mask = draw_mask(0.5, X.shape, X.device, generator)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            found.append((spread(levels, X.unsqueeze(0)), *spread_features(levels, X, keep, mask, 1e-5)))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))
