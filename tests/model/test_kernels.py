"""The kernels for a GPU against the same computed plainly."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.model.gpu import gpu_kernels

if not torch.cuda.is_available() or gpu_kernels() is None:
    pytest.skip("the kernels need a GPU and Triton", allow_module_level=True)

kernels = gpu_kernels()


def on_gpu(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(array).cuda()


@pytest.mark.parametrize(("n", "m", "width", "density"), [(7, 5, 1, 0.5), (300, 40, 33, 0.2), (50, 2000, 700, 0.9)])
def test_csr_product(n: int, m: int, width: int, density: float) -> None:
    rng = np.random.default_rng(n)
    matrix = sp.csr_array(sp.random_array((n, m), density=density, rng=rng, dtype=np.float32))
    matrix.data[::3] = 0.0  # as dropout leaves them
    dense = rng.normal(size=(m, width)).astype(np.float32)
    parts = on_gpu(matrix.indptr), on_gpu(matrix.indices), on_gpu(matrix.data)
    product = kernels.csr_product(*parts, on_gpu(dense))
    np.testing.assert_allclose(product.cpu().numpy(), matrix @ dense, rtol=1e-4, atol=1e-4)
    assert torch.equal(product, kernels.csr_product(*parts, on_gpu(dense)))


@pytest.mark.parametrize("layout", ["replicas first", "nodes first", "shared"])
def test_replica_dropout(layout: str) -> None:
    R, n, d = 3, 37, 11
    values = torch.randn(R, n, d, device="cuda")
    if layout == "nodes first":
        values = values.transpose(0, 1).contiguous().transpose(0, 1)
    elif layout == "shared":
        values = values[:1].expand(R, n, d)
    bits = torch.randint(-(2**15), 2**15, (R, n * d + 3), device="cuda").to(torch.int16)
    kept = (bits[:, : n * d] < 500).view(R, n, d)
    torch.testing.assert_close(kernels.replica_dropout(values, bits, 500, 1.7), values * kept * 1.7)


@pytest.mark.parametrize("nodes_first", [False, True])
def test_mixed_channels_and_their_gradients(nodes_first: bool) -> None:
    R, n, d, c = 3, 61, 10, 4
    Z = torch.randn(R, n, d * c, device="cuda")
    if nodes_first:
        Z = Z.transpose(0, 1).contiguous().transpose(0, 1)
    Z.requires_grad_()
    w = torch.randn(R, c, device="cuda", requires_grad=True)
    grad = torch.randn(R, n, d, device="cuda")
    plain = (torch.relu(Z).unflatten(2, (d, c)) * w[:, None, None]).sum(3)
    torch.testing.assert_close(kernels.mixed_channels(Z.detach(), w.detach()), plain)
    expected = torch.autograd.grad(plain, (Z, w), grad)
    found = kernels.mixed_channels_backward(grad, Z.detach(), w.detach())
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("n", "k", "m"), [(1, 3, 5), (700, 40, 128), (5000, 72, 200)])
def test_inner_products(n: int, k: int, m: int) -> None:
    left, right = torch.randn(n, 2, k, device="cuda").transpose(0, 1), torch.randn(2, n, m, device="cuda")
    exact = (left.double().transpose(1, 2) @ right.double()).float()
    torch.testing.assert_close(kernels.inner_products(left, right), exact, rtol=1e-4, atol=1e-3)


def test_csr_product_of_replicas() -> None:
    rng = np.random.default_rng(0)
    matrix = sp.csr_array(sp.random_array((60, 35), density=0.2, rng=rng, dtype=np.float32))
    values, dense = torch.randn(3, matrix.nnz), torch.randn(3, 35, 19)
    product = kernels.csr_product_of_replicas(
        on_gpu(matrix.indptr), on_gpu(matrix.indices), values.cuda(), dense.cuda()
    )
    for r in range(3):
        alone = sp.csr_array((values[r].numpy(), matrix.indices, matrix.indptr), shape=matrix.shape)
        np.testing.assert_allclose(product[r].cpu().numpy(), alone @ dense[r].numpy(), rtol=1e-4, atol=1e-4)
