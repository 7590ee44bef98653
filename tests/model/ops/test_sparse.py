"""The sparse matrix, linear maps and their gradients, and rows cut into chunks for a GPU."""

import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from hiergcn.model import ops
from hiergcn.model.ops.dense import add_product
from hiergcn.model.ops.dropout import dropout
from hiergcn.model.ops.row_chunks import RowChunks, row_chunks
from hiergcn.model.ops.sparse import FeatureLinear, SparseMatrix, linear_map


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
    dense = rng.normal(size=(40, 7)).astype(np.float32)
    found = SparseMatrix.from_scipy(matrix)._plain_product(torch.from_numpy(dense))
    np.testing.assert_allclose(found.numpy(), matrix @ dense, rtol=1e-5, atol=1e-5)


def test_a_small_graph_needs_no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other threads decide for themselves; a gradient on a thread of torch's decides as its operation did."""
    kernels, found, asked = object(), [], []
    monkeypatch.setattr(ops, "triton_kernels", lambda: kernels)
    small = sp.eye_array(ops.FEW_ENTRIES // 8, format="csr")

    def in_another_thread(ask: Callable[[], object]) -> object:
        thread = threading.Thread(target=lambda: found.append(ask()))
        thread.start()
        thread.join()
        return found.pop()

    def back(grad: Tensor) -> Tensor:
        asked.append(ops.gpu_kernels())
        return grad

    for models, expected in ((4, None), (5, kernels)):
        with ops.kernels_if_worthwhile(small, models):
            assert ops.gpu_kernels() is expected
            assert in_another_thread(ops.gpu_kernels) is kernels
            H = torch.ones(2, 2, requires_grad=True)
            mapped = linear_map(H, lambda G: 2.0 * G, back)
        in_another_thread(mapped.sum().backward)
        assert asked.pop() is expected
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
        found = SparseMatrix.from_scipy(matrix).product(
            torch.from_numpy(dense), torch.from_numpy(plus) if beside else None
        )
        np.testing.assert_array_equal(found.numpy(), expected)
    torch.set_num_threads(1)


@pytest.fixture
def features() -> np.ndarray:
    rng = np.random.default_rng(0)
    return (rng.random((30, 8)) * (rng.random((30, 8)) < 0.4)).astype(np.float32)


@pytest.mark.parametrize("rate", [0.0, 0.8])
def test_sparse_and_dense_features_give_the_same_product_and_gradient(features: np.ndarray, rate: float) -> None:
    layer = FeatureLinear(8, 4, 0.5, torch.Generator().manual_seed(0)).eval()
    sparse = SparseMatrix.from_scipy(sp.csr_array(features)).dropped(rate, torch.Generator().manual_seed(0))
    dense, gradients = sparse.to_dense(), []
    for X in (dense, sparse):
        product = layer(X)
        torch.testing.assert_close(product, dense @ layer.weight)
        gradients.append(torch.autograd.grad(product.square().sum(), layer.weight)[0])
    torch.testing.assert_close(*gradients)


def test_dropped_entries_are_those_that_dropout_makes_zero() -> None:
    rng = np.random.default_rng(1)
    X = SparseMatrix.from_scipy(sp.csr_array(rng.random((400, 500)) * (rng.random((400, 500)) < 0.3)))
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


def test_the_transpose_of_a_pattern() -> None:
    matrix = sp.csr_array(sp.random_array((9, 5), density=0.4, rng=np.random.default_rng(0)))
    features = SparseMatrix.from_scipy(matrix)
    there, order = features.pattern.transpose
    turned = SparseMatrix(features.values[order], there).to_dense()
    assert torch.equal(turned, features.to_dense().T)
    dense = torch.randn(9, 3)
    torch.testing.assert_close(features.transpose_product(dense), turned @ dense)


def added_up(chunks: RowChunks, terms: torch.Tensor) -> torch.Tensor:
    """Add the terms as a product with ones does, chunk by chunk."""
    long = 0 if chunks.sums is None else chunks.sums.column.numel()
    out = torch.full((chunks.rows + long,), torch.nan)
    for start, end, target in zip(chunks.start, chunks.end, chunks.target, strict=True):
        out[target] = terms[start:end].sum()
    if chunks.sums is not None:
        above = chunks.sums.chunks
        for start, end, target in zip(above.start, above.end, above.target, strict=True):
            out[target] = out[chunks.rows + chunks.sums.column[start:end].long()].sum()
    assert not out.isnan().any()
    return out[: chunks.rows]


@pytest.mark.parametrize("lengths", [[0], [3, 0, 1], [4, 5, 0, 20, 1, 9], [8, 8], [100]])
def test_chunks_make_up_their_rows(lengths: list[int]) -> None:
    row_start = torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)
    terms = torch.arange(float(row_start[-1])) + 1.0
    chunks = row_chunks(row_start, longest=4)
    assert (chunks.end - chunks.start).max() <= 4
    assert {part.dtype for part in (chunks.start, chunks.end, chunks.target)} == {torch.int32}
    expected = torch.stack([terms[a:b].sum() for a, b in pairwise(row_start)])
    assert torch.equal(added_up(chunks, terms), expected)


def test_short_rows_are_not_cut() -> None:
    assert row_chunks(torch.tensor([0, 2, 2, 5]), longest=4).sums is None
