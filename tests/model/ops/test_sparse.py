"""Linear maps and their gradients."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from hiergcn.model import ops
from hiergcn.model.ops.dense import add_product
from hiergcn.model.ops.sparse import csr_product, csr_tensor, linear_map, plain_product


def doubled(dense: Tensor) -> Tensor:
    """Return 2 H as a view of a larger tensor, as the GPU kernels do."""
    n, width = dense.shape
    larger = torch.empty(n + 2, 1, width)
    larger[:n, 0] = 2.0 * dense
    return larger.transpose(0, 1)[:, :n].squeeze(0)


def test_a_product_is_added_in_place_to_the_result_of_a_map() -> None:
    H, S, W = (torch.randn(shape, requires_grad=True) for shape in ((4, 3), (4, 2), (2, 3)))
    weight = torch.randn(4, 3)
    total = add_product(linear_map(H, doubled, doubled), S, W)
    torch.testing.assert_close(total, 2.0 * H + S @ W)
    found = torch.autograd.grad((total * weight).sum(), (H, S, W))
    expected = torch.autograd.grad(((2.0 * H + S @ W) * weight).sum(), (H, S, W))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("density", [0.0, 0.05, 0.6])
def test_plain_product(density: float) -> None:
    rng = np.random.default_rng(0)
    matrix = sp.csr_array(sp.random_array((50, 40), density=density, rng=rng, dtype=np.float32))
    A, dense = csr_tensor(matrix), rng.normal(size=(40, 7)).astype(np.float32)
    found = plain_product(A.crow_indices(), A.col_indices(), A.values(), torch.from_numpy(dense))
    np.testing.assert_allclose(found.numpy(), matrix @ dense, rtol=1e-5, atol=1e-5)


def test_a_small_graph_needs_no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients are computed on other threads, which must agree."""
    kernels, found = object(), []
    monkeypatch.setattr(ops, "_kernels", lambda: kernels)
    small = sp.eye_array(ops.FEW_ENTRIES // 8, format="csr")
    for models, expected in ((4, None), (5, kernels)):
        with ops.kernels_if_worthwhile(small, models):
            thread = threading.Thread(target=lambda: found.append(ops.gpu_kernels()))
            thread.start()
            thread.join()
            assert found.pop() is expected
            assert ops.gpu_kernels() is expected
        assert ops.gpu_kernels() is kernels


@pytest.mark.parametrize("width", [1, 15, 16, 17, 40, 64, 65, 79, 130])
@pytest.mark.parametrize("beside", [False, True])
def test_the_product_has_the_bits_of_scipy_whatever_its_width(width: int, beside: bool) -> None:
    """The sum of a row is made in the order of its entries, rounded after each product and each addition."""
    rng = np.random.default_rng(width)
    matrix = sp.random_array((3000, 2500), density=0.01, rng=rng, dtype=np.float32).tocsr()
    dense = rng.standard_normal((2500, width)).astype(np.float32)
    plus = rng.standard_normal((3000, width)).astype(np.float32)
    expected = matrix @ dense + plus if beside else matrix @ dense
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found = csr_product(csr_tensor(matrix), torch.from_numpy(dense), torch.from_numpy(plus) if beside else None)
        np.testing.assert_array_equal(found.numpy(), expected)
    torch.set_num_threads(1)
