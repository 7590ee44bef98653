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
@pytest.mark.parametrize("learned", [(True, True), (False, True), (True, False)])
def test_gradients_of_products_are_those_of_torch(monkeypatch: pytest.MonkeyPatch, learned: tuple[bool, bool]) -> None:
    H, W, G = torch.randn(700, 40), torch.randn(40, 128), torch.randn(700, 128)
    found = []
    for faster in (True, False):
        monkeypatch.setattr(dense, "_onednn_is_faster", lambda faster=faster: faster)
        given = [one.clone().requires_grad_(needs) for one, needs in zip((H, W), learned, strict=True)]
        product = dense_product(*given)
        assert ("OneDNN" in type(product.grad_fn).__name__) == faster
        product.relu_().backward(G)
        found.append([one.grad for one in given])
    for one, other, needs in zip(*found, learned, strict=True):
        assert (one is not None) == needs
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-3)


@needs_onednn
def test_second_derivatives_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "_onednn_is_faster", lambda: True)
    H, W = torch.randn(700, 40, requires_grad=True), torch.randn(40, 128, requires_grad=True)
    (by_H,) = torch.autograd.grad(dense_product(H, W).square().sum(), H, create_graph=True)
    (twice,) = torch.autograd.grad(by_H.sum(), W)
    D, V = H.detach().requires_grad_(), W.detach().requires_grad_()
    (plain,) = torch.autograd.grad((D @ V).square().sum(), D, create_graph=True)
    torch.testing.assert_close(twice, torch.autograd.grad(plain.sum(), V)[0], rtol=1e-3, atol=1e-1)


@needs_onednn
def test_double_precision_stays_double(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "_onednn_is_faster", lambda: True)
    H, W = torch.randn(700, 40, dtype=torch.float64), torch.randn(40, 128, dtype=torch.float64)
    with torch.no_grad():
        assert torch.equal(dense_product(H, W), H @ W)
