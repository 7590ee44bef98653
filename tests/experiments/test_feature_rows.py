"""Rows of features: products and gradients as of dense ones."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.model.ops.sparse import SparseMatrix
from hiergcn_experiments.methods.planetoid import FewColumns, feature_rows, few_rows


@pytest.mark.parametrize("nodes", [[4, 0, 4, 2], [1], []])
@pytest.mark.parametrize("sparse", [True, False])
def test_rows_multiply_and_give_gradients_like_dense_ones(nodes: list[int], sparse: bool) -> None:
    rng = np.random.default_rng(0)
    dense = (rng.random((6, 5)) * (rng.random((6, 5)) < 0.5)).astype(np.float32)
    dense[1] = 0
    chosen = torch.tensor(nodes, dtype=torch.int64)
    rows = feature_rows(SparseMatrix.from_scipy(sp.csr_array(dense)) if sparse else torch.from_numpy(dense), chosen)
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
    rows = few_rows(SparseMatrix.from_scipy(sp.csr_array(dense)), chosen)
    assert isinstance(rows, FewColumns)
    W = torch.randn(40, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    expected = torch.from_numpy(dense)[chosen]
    product = rows @ W
    torch.testing.assert_close(product, expected @ W)
    target = torch.arange(product.numel(), dtype=torch.float32).view_as(product)
    (gradient,) = torch.autograd.grad(product, W, target)
    assert gradient.is_sparse
    torch.testing.assert_close(gradient.to_dense(), expected.T @ target)
