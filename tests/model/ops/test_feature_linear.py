"""The first product of the networks, with sparse and with dense features."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.model.ops.feature_linear import FeatureLinear
from hiergcn.model.ops.sparse import SparseFeatures


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


def test_initial_weights_are_glorots_and_from_the_generator() -> None:
    one = FeatureLinear(600, 200, 0.0, torch.Generator().manual_seed(1))
    again = FeatureLinear(600, 200, 0.0, torch.Generator().manual_seed(1))
    assert torch.equal(one.weight, again.weight)
    bound = (6 / 800) ** 0.5
    assert bound * 0.99 < one.weight.detach().abs().max() <= bound
    assert one.weight.detach().std().item() == pytest.approx(bound / 3**0.5, rel=0.02)
    assert repr(one) == "FeatureLinear(600, 200)"
