"""Sparse features: products, dropout and rows against dense ones."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.model.ops.dropout import dropout
from hiergcn.model.ops.sparse_features import FeatureLinear, FewColumns, SparseFeatures, feature_rows, few_rows


@pytest.fixture
def features() -> np.ndarray:
    rng = np.random.default_rng(0)
    return (rng.random((30, 8)) * (rng.random((30, 8)) < 0.4)).astype(np.float32)


def test_sparse_and_dense_features_give_the_same_product_and_gradient(features: np.ndarray) -> None:
    layer = FeatureLinear(8, 4, 0.5, torch.Generator().manual_seed(0)).eval()
    gradients = []
    for X in (torch.from_numpy(features), SparseFeatures.from_scipy(sp.csr_array(features))):
        product = layer(X)
        torch.testing.assert_close(product, torch.from_numpy(features) @ layer.weight)
        gradients.append(torch.autograd.grad(product.square().sum(), layer.weight)[0])
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("sparse", [False, True])
def test_dropout_is_unbiased_and_for_training_only(features: np.ndarray, sparse: bool) -> None:
    layer = FeatureLinear(8, 4, 0.5, torch.Generator().manual_seed(0))
    X = SparseFeatures.from_scipy(sp.csr_array(features)) if sparse else torch.from_numpy(features)
    whole = layer.eval()(X)
    layer.train()
    draws = torch.stack([layer(X) for _ in range(2000)])
    assert not torch.equal(draws[0], draws[1])
    torch.testing.assert_close(draws.mean(dim=0), whole, atol=0.1, rtol=0)


def test_dropped_entries_are_those_that_dropout_makes_zero() -> None:
    rng = np.random.default_rng(1)
    X = SparseFeatures.from_scipy(sp.csr_array(rng.random((400, 500)) * (rng.random((400, 500)) < 0.3)))
    dropped = X.dropped(0.7, torch.Generator().manual_seed(3))
    values = dropout(X.values, 0.7, torch.Generator().manual_seed(3))
    assert dropped.values.numel() == values.count_nonzero() < 0.35 * X.values.numel()
    assert torch.equal(dropped.to_dense(), replace(X, values=values).to_dense())


def test_initial_weights_are_glorots_and_from_the_generator() -> None:
    one = FeatureLinear(600, 200, 0.0, torch.Generator().manual_seed(1))
    again = FeatureLinear(600, 200, 0.0, torch.Generator().manual_seed(1))
    assert torch.equal(one.weight, again.weight)
    bound = (6 / 800) ** 0.5
    assert bound * 0.99 < one.weight.detach().abs().max() <= bound
    assert one.weight.detach().std().item() == pytest.approx(bound / 3**0.5, rel=0.02)
    assert repr(one) == "FeatureLinear(600, 200)"


@pytest.mark.parametrize("nodes", [[4, 0, 4, 2], [1], []])
@pytest.mark.parametrize("sparse", [True, False])
def test_rows_multiply_and_give_gradients_like_dense_ones(nodes: list[int], sparse: bool) -> None:
    rng = np.random.default_rng(0)
    dense = (rng.random((6, 5)) * (rng.random((6, 5)) < 0.5)).astype(np.float32)
    dense[1] = 0
    chosen = torch.tensor(nodes, dtype=torch.int64)
    rows = feature_rows(SparseFeatures.from_scipy(sp.csr_array(dense)) if sparse else torch.from_numpy(dense), chosen)
    W = torch.randn(5, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    expected = torch.from_numpy(dense)[chosen]
    assert tuple(rows.shape) == (len(nodes), 5)
    product = rows @ W
    torch.testing.assert_close(product, expected @ W)
    target = torch.arange(product.numel(), dtype=torch.float32).view_as(product)
    (gradient,) = torch.autograd.grad(product, W, target)
    torch.testing.assert_close(gradient, expected.T @ target)


@pytest.mark.parametrize("nodes", [[4, 0, 4, 2], [1], []])
def test_few_rows_give_the_same_as_all_columns_with_a_sparse_gradient(nodes: list[int]) -> None:
    rng = np.random.default_rng(1)
    dense = (rng.random((6, 40)) * (rng.random((6, 40)) < 0.1)).astype(np.float32)
    chosen = torch.tensor(nodes, dtype=torch.int64)
    rows = few_rows(SparseFeatures.from_scipy(sp.csr_array(dense)), chosen)
    assert isinstance(rows, FewColumns)
    W = torch.randn(40, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    expected = torch.from_numpy(dense)[chosen]
    product = rows @ W
    torch.testing.assert_close(product, expected @ W)
    target = torch.arange(product.numel(), dtype=torch.float32).view_as(product)
    (gradient,) = torch.autograd.grad(product, W, target)
    assert gradient.is_sparse
    torch.testing.assert_close(gradient.to_dense(), expected.T @ target)


def test_features_with_dropout_multiply_as_dense_ones_do() -> None:
    matrix = sp.csr_array(sp.random_array((30, 12), density=0.5, rng=np.random.default_rng(1)))
    dropped = SparseFeatures.from_scipy(matrix).dropped(0.8, torch.Generator().manual_seed(0))
    dense = dropped.to_dense()
    assert 0 < dense.count_nonzero() < 0.5 * matrix.nnz
    gradients = []
    for features in (dropped, dense):
        W = torch.arange(24.0).view(12, 2).requires_grad_()
        product = features @ W
        torch.testing.assert_close(product, dense @ W)
        gradients.append(torch.autograd.grad(product.square().sum(), W)[0])
    torch.testing.assert_close(*gradients)


def test_the_transpose_of_a_pattern() -> None:
    matrix = sp.csr_array(sp.random_array((9, 5), density=0.4, rng=np.random.default_rng(0)))
    features = SparseFeatures.from_scipy(matrix)
    there, order = features.pattern.transpose
    turned = SparseFeatures(features.values[order], there).to_dense()
    assert torch.equal(turned, features.to_dense().T)
    dense = torch.randn(9, 3)
    torch.testing.assert_close(features.pattern.transpose_product(features.values, dense), turned @ dense)
