"""Rows of features: products and gradients as of dense ones."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.model.ops.sparse import SparseMatrix
from hiergcn_experiments.methods.planetoid import feature_rows, few_rows


@pytest.mark.parametrize("nodes", [[4, 0, 4, 2], [1], []])
@pytest.mark.parametrize("kind", ["dense", "sparse", "few"])
def test_rows_multiply_and_give_gradients_like_dense_ones(nodes: list[int], kind: str) -> None:
    rng = np.random.default_rng(0)
    dense = (rng.random((6, 40)) * (rng.random((6, 40)) < 0.2)).astype(np.float32)
    dense[1] = 0
    chosen = torch.tensor(nodes, dtype=torch.int64)
    features = torch.from_numpy(dense) if kind == "dense" else SparseMatrix.from_scipy(sp.csr_array(dense))
    rows = (few_rows if kind == "few" else feature_rows)(features, chosen)
    W = torch.randn(40, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    expected = torch.from_numpy(dense)[chosen]
    product = rows @ W
    torch.testing.assert_close(product, expected @ W)
    target = torch.arange(product.numel(), dtype=torch.float32).view_as(product)
    (gradient,) = torch.autograd.grad(product, W, target)
    assert gradient.is_sparse == (kind == "few")
    torch.testing.assert_close(gradient.to_dense(), expected.T @ target)
