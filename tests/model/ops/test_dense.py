"""Products with weights: the same whichever library computes them. Of replicas: their layout."""

import pytest
import torch

from hiergcn.model.ops import dense
from hiergcn.model.ops.dense import _nodes_first_product, dense_product, inner_products

needs_onednn = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch without oneDNN")


def test_a_product_of_replicas_lies_by_nodes_and_can_be_changed_in_place() -> None:
    left, right = torch.randn(3, 5, 4), torch.randn(3, 4, 2)
    found = _nodes_first_product(left, right)
    torch.testing.assert_close(found, left @ right)
    assert found.stride() == (2, 6, 1)
    assert not found._is_view()


@needs_onednn
@pytest.mark.parametrize("faster", [False, True])
@pytest.mark.parametrize(("n", "k", "m"), [(700, 40, 128), (5000, 64, 10), (5000, 10, 64), (9000, 8, 16), (3, 4, 5)])
def test_products_are_those_in_double_precision(
    monkeypatch: pytest.MonkeyPatch, faster: bool, n: int, k: int, m: int
) -> None:
    monkeypatch.setattr(dense, "_onednn_is_faster", lambda: faster)
    H, W, G = torch.randn(n, k), torch.randn(k, m), torch.randn(n, m)
    with torch.no_grad():
        found = dense_product(H, W), dense_product(G, W.t()), inner_products(H, G)
    exact = H.double() @ W.double(), G.double() @ W.double().t(), H.double().t() @ G.double()
    for one, other in zip(found, exact, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-3)


@needs_onednn
def test_a_product_that_is_recorded_has_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "_onednn_is_faster", lambda: True)
    H, W = torch.randn(700, 40, requires_grad=True), torch.randn(40, 128, requires_grad=True)
    dense_product(H, W).sum().backward()
    assert H.grad is not None
    assert W.grad is not None
    torch.testing.assert_close(H.grad, W.detach().sum(dim=1).expand(700, 40))
    torch.testing.assert_close(W.grad, H.detach().sum(dim=0).unsqueeze(1).expand(40, 128), rtol=1e-4, atol=1e-3)


@needs_onednn
def test_double_precision_stays_double(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "_onednn_is_faster", lambda: True)
    H, W = torch.randn(700, 40, dtype=torch.float64), torch.randn(40, 128, dtype=torch.float64)
    with torch.no_grad():
        assert torch.equal(dense_product(H, W), H @ W)
