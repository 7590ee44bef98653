"""The kernels for a GPU against the same computed plainly."""

import os

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.model.gpu import gpu_kernels
from hiergcn.model.pieces import pieces_of

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"  # without a GPU, slowly
if gpu_kernels() is None or not (torch.cuda.is_available() or INTERPRETED):
    pytest.skip("the kernels need Triton and a GPU, or TRITON_INTERPRET=1", allow_module_level=True)

kernels = gpu_kernels()
DEVICE = "cpu" if INTERPRETED else "cuda"


def on_gpu(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(array).to(DEVICE)


@pytest.mark.parametrize(("n", "m", "width", "density"), [(7, 5, 1, 0.5), (300, 40, 33, 0.2), (50, 2000, 700, 0.9)])
def test_csr_product(n: int, m: int, width: int, density: float) -> None:
    rng = np.random.default_rng(n)
    matrix = sp.csr_array(sp.random_array((n, m), density=density, rng=rng, dtype=np.float32))
    matrix.data[::3] = 0.0  # as dropout leaves them
    dense = rng.normal(size=(m, width)).astype(np.float32)
    parts = pieces_of(on_gpu(matrix.indptr)), on_gpu(matrix.indices), on_gpu(matrix.data)
    product = kernels.csr_product(*parts, on_gpu(dense))
    np.testing.assert_allclose(product.cpu().numpy(), matrix @ dense, rtol=1e-4, atol=1e-4)
    assert torch.equal(product, kernels.csr_product(*parts, on_gpu(dense)))
    other = rng.normal(size=(n, width)).astype(np.float32)
    for lying in (on_gpu(other), on_gpu(np.ascontiguousarray(other.T)).T):
        added = kernels.csr_product(*parts, on_gpu(dense), lying)
        np.testing.assert_allclose(added.cpu().numpy(), matrix @ dense + other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("layout", ["replicas first", "nodes first", "shared"])
def test_replica_dropout(layout: str) -> None:
    R, n, d = 3, 37, 11
    values = torch.randn(R, n, d, device=DEVICE)
    if layout == "nodes first":
        values = values.transpose(0, 1).contiguous().transpose(0, 1)
    elif layout == "shared":
        values = values[:1].expand(R, n, d)
    bits = torch.randint(-(2**15), 2**15, (R, n * d + 3), device=DEVICE).to(torch.int16)
    kept = (bits[:, : n * d] < 500).view(R, n, d)
    torch.testing.assert_close(kernels.replica_dropout(values, bits, 500, 1.7), values * kept * 1.7)


@pytest.mark.parametrize("nodes_first", [False, True])
def test_mixed_channels_and_their_gradients(nodes_first: bool) -> None:
    R, n, d, c = 3, 61, 10, 4
    Z = torch.randn(R, n, d * c, device=DEVICE)
    if nodes_first:
        Z = Z.transpose(0, 1).contiguous().transpose(0, 1)
    Z.requires_grad_()
    w = torch.randn(R, c, device=DEVICE, requires_grad=True)
    grad = torch.randn(R, n, d, device=DEVICE)
    plain = (torch.relu(Z).unflatten(2, (d, c)) * w[:, None, None]).sum(3)
    torch.testing.assert_close(kernels.mixed_channels(Z.detach(), w.detach()), plain)
    expected = torch.autograd.grad(plain, (Z, w), grad)
    found = kernels.mixed_channels_backward(grad, Z.detach(), w.detach())
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_channels_that_are_not_numbers_show() -> None:
    Z = torch.zeros(1, 3, 8, device=DEVICE)
    Z[0, 1, 5] = torch.nan
    mixed = kernels.mixed_channels(Z, torch.ones(1, 4, device=DEVICE))
    assert mixed.isnan().nonzero().tolist() == [[0, 1, 1]]


@pytest.mark.parametrize(("n", "k", "m"), [(1, 3, 5), (700, 40, 128), (5000, 72, 200)])
def test_inner_products(n: int, k: int, m: int) -> None:
    left, right = torch.randn(n, 2, k, device=DEVICE).transpose(0, 1), torch.randn(2, n, m, device=DEVICE)
    exact = (left.double().transpose(1, 2) @ right.double()).float()
    torch.testing.assert_close(kernels.inner_products(left, right), exact, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(("n", "m"), [(60, 35), (9, 700)])
@pytest.mark.parametrize("thinned", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
def test_csr_product_of_replicas(n: int, m: int, thinned: bool, ordered: bool) -> None:
    rng = np.random.default_rng(0)
    matrix = sp.csr_array(sp.random_array((n, m), density=0.4, rng=rng, dtype=np.float32))
    values, dense = torch.randn(3, matrix.nnz), torch.randn(3, m, 19)
    values[:, ::3] = 0.0
    order = torch.from_numpy(rng.permutation(matrix.nnz).astype(np.int32))
    given = torch.empty_like(values).index_copy_(1, order.long(), values) if ordered else values
    product = kernels.csr_product_of_replicas(
        pieces_of(on_gpu(matrix.indptr)), on_gpu(matrix.indices), given.to(DEVICE), dense.to(DEVICE),
        order.to(DEVICE) if ordered else None, thinned=thinned,
    )  # fmt: skip
    for r in range(3):
        alone = sp.csr_array((values[r].numpy(), matrix.indices, matrix.indptr), shape=matrix.shape)
        np.testing.assert_allclose(product[r].cpu().numpy(), alone @ dense[r].numpy(), rtol=1e-4, atol=1e-4)


def test_values_that_replicas_share() -> None:
    rng = np.random.default_rng(0)
    matrix = sp.csr_array(sp.random_array((60, 35), density=0.2, rng=rng, dtype=np.float32))
    values, dense = on_gpu(matrix.data).expand(3, -1), torch.randn(3, 35, 19, device=DEVICE)
    product = kernels.csr_product_of_replicas(pieces_of(on_gpu(matrix.indptr)), on_gpu(matrix.indices), values, dense)
    for own, given in zip(product.cpu().numpy(), dense.cpu().numpy(), strict=True):
        np.testing.assert_allclose(own, matrix @ given, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("nodes_first", [False, True])
def test_keep(nodes_first: bool) -> None:
    new, kept = torch.randn(3, 41, 7, device=DEVICE), torch.randn(3, 41, 7, device=DEVICE)
    if nodes_first:
        new = new.transpose(0, 1).contiguous().transpose(0, 1)
    better = torch.tensor([True, False, True], device=DEVICE)
    expected = torch.where(better[:, None, None], new, kept)
    kernels.keep(better, new, kept)
    assert torch.equal(kept, expected)
