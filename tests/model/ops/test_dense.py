"""Products with weights: exact for every shape."""

import pytest
import torch

from hiergcn.model.ops.dense import dense_product, inner_products


@pytest.mark.parametrize(("n", "k", "m"), [(700, 40, 128), (5000, 64, 10), (5000, 10, 64), (9000, 8, 16), (3, 4, 5)])
def test_products_are_those_in_double_precision(n: int, k: int, m: int) -> None:
    H, W, G = torch.randn(n, k), torch.randn(k, m), torch.randn(n, m)
    found = dense_product(H, W), dense_product(G, W.t()), inner_products(H, G)
    exact = H.double() @ W.double(), G.double() @ W.double().t(), H.double().t() @ G.double()
    for product, expected in zip(found, exact, strict=True):
        torch.testing.assert_close(product.double(), expected, rtol=1e-4, atol=1e-3)
