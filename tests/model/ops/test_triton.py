"""The Triton kernels against plain torch and scipy."""

import os
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.model.ops import gpu_kernels
from hiergcn.model.ops.dropout import DropoutConcat, Mask, ReplicaGenerator, dropout
from hiergcn.model.ops.replicas import apply, vmap
from hiergcn.model.ops.row_chunks import row_chunks
from hiergcn.model.ops.sparse import SparseMatrix

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"  # without a GPU, slowly
if gpu_kernels() is None or not (torch.cuda.is_available() or INTERPRETED):
    pytest.skip("the kernels need Triton and a GPU, or TRITON_INTERPRET=1", allow_module_level=True)

kernels = gpu_kernels()
DEVICE = "cpu" if INTERPRETED else "cuda"
needs_a_gpu = pytest.mark.skipif(INTERPRETED, reason="the generators of a GPU need one")


def on_gpu(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(array).to(DEVICE)


@pytest.mark.parametrize(("n", "m", "width", "density"), [(7, 5, 1, 0.5), (300, 40, 33, 0.2), (50, 2000, 700, 0.9)])
def test_csr_product(n: int, m: int, width: int, density: float) -> None:
    rng = np.random.default_rng(n)
    matrix = sp.csr_array(sp.random_array((n, m), density=density, rng=rng, dtype=np.float32))
    matrix.data[::3] = 0.0  # as dropout leaves them
    dense = rng.normal(size=(m, width)).astype(np.float32)
    parts = row_chunks(on_gpu(matrix.indptr)), on_gpu(matrix.indices), on_gpu(matrix.data)
    product = kernels.csr_product(*parts, on_gpu(dense))
    np.testing.assert_allclose(product.cpu().numpy(), matrix @ dense, rtol=1e-4, atol=1e-4)
    assert torch.equal(product, kernels.csr_product(*parts, on_gpu(dense)))
    other = rng.normal(size=(n, width)).astype(np.float32)
    for layout in (on_gpu(other), on_gpu(np.ascontiguousarray(other.T)).T):
        added = kernels.csr_product(*parts, on_gpu(dense), layout)
        np.testing.assert_allclose(added.cpu().numpy(), matrix @ dense + other, rtol=1e-4, atol=1e-4)


def philox_bits(seed: int, offset: int, n: int) -> np.ndarray:
    """Return 16 bits for each of n entries: Philox 4x32 of 10 rounds, as in torch's CUDA generators."""
    thread = np.arange(-(-n // 8), dtype=np.uint64)
    low, high, draw = np.uint64(2**32 - 1), np.uint64(32), np.uint64(offset // 4)
    c = [np.full_like(thread, draw & low), np.full_like(thread, draw >> high), thread & low, thread >> high]
    key = [seed % 2**32, seed % 2**64 >> 32]
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> high) ^ c[1] ^ np.uint64(key[0]), b & low, (a >> high) ^ c[3] ^ np.uint64(key[1]), a & low]
        key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
    words = np.stack(c, axis=1)
    return np.stack([words & np.uint64(0xFFFF), words >> np.uint64(16)], axis=2).reshape(-1)[:n].astype(np.int64)


@pytest.mark.parametrize("layout", ["replicas first", "nodes first", "columns first", "shared"])
@pytest.mark.parametrize(("n", "d"), [(37, 71), (1, 2500), (1025, 1), (1, 1)])
def test_dropout(layout: str, n: int, d: int) -> None:
    seeds, offsets, kept = [5, 2**40 + 3, -7], [0, 12, 2**36], 20_000
    values = torch.randn(3, n, d, device=DEVICE)
    if layout == "nodes first":
        values = values.transpose(0, 1).contiguous().transpose(0, 1)
    elif layout == "columns first":
        values = values.transpose(1, 2).contiguous().transpose(1, 2)
    elif layout == "shared":
        values = values[:1].expand(3, n, d)
    dropped = kernels.dropout(values, (on_gpu(np.array(seeds)), on_gpu(np.array(offsets)), kept))
    bits = np.stack([philox_bits(*pair, n * d) for pair in zip(seeds, offsets, strict=True)])
    torch.testing.assert_close(dropped, values * on_gpu(bits < kept).view(3, n, d) * (2**16 / kept))


@pytest.mark.parametrize("d", [8, 13])
def test_some_rows_drop_the_same_entries_as_among_all(d: int) -> None:
    bits = on_gpu(np.array([5, -8])), on_gpu(np.array([0, 2**36])), 30_000
    values, index = torch.randn(2, 300, d, device=DEVICE), torch.tensor([299, 0, 7, 151, 8], device=DEVICE)
    expected = kernels.dropout(values, bits)[:, index]
    assert torch.equal(kernels.dropout(values[:, index], bits, index), expected)
    left, right = values[:, index].split([5, d - 5], dim=2)
    assert torch.equal(kernels.dropout_concat(left, right, bits, index), expected)
    assert torch.equal(torch.cat(kernels.dropout_split(values[:, index], 5, bits, index), dim=2), expected)


@pytest.mark.parametrize("drop", [False, True])
def test_dropout_concat_and_split_agree_with_dropout(drop: bool) -> None:
    seed, offset = on_gpu(np.array([5, 8])), on_gpu(np.array([0, 12]))
    left, right = torch.randn(37, 2, 9, device=DEVICE).transpose(0, 1), torch.randn(2, 37, 5, device=DEVICE)
    joined, bits = torch.cat([left, right], dim=2), (seed, offset, 20_000) if drop else None
    expected = kernels.dropout(joined, bits) if bits else joined
    assert torch.equal(kernels.dropout_concat(left, right, bits), expected)
    for part, whole in zip(kernels.dropout_split(joined, 9, bits), expected.split([9, 5], dim=2), strict=True):
        assert torch.equal(part, whole)
        assert part.transpose(0, 1).is_contiguous()


@needs_a_gpu
def test_replicas_drop_the_same_entries_as_alone() -> None:
    seeds = (3, 8, 2**64 - 1)
    noise = ReplicaGenerator([torch.Generator(DEVICE).manual_seed(seed) for seed in seeds])
    values, shared = torch.randn(3, 50, 9, device=DEVICE, requires_grad=True), torch.ones(77, device=DEVICE)

    def one(own: torch.Tensor, replica: torch.Tensor) -> tuple[torch.Tensor, ...]:
        noise.replica = replica
        return dropout(own, 0.5, noise), dropout(shared, 0.3, noise), dropout(own, 0.5, noise)

    together = vmap(one)(values, torch.arange(3, device=DEVICE))
    (gradient,) = torch.autograd.grad(together[0].sum(), values)
    assert torch.equal(gradient, 2.0 * (together[0] != 0))
    assert not torch.equal(together[0], together[2])
    for r, seed in enumerate(seeds):
        generator = torch.Generator(DEVICE).manual_seed(seed)
        for given, rate, dropped in zip((values[r], shared, values[r]), (0.5, 0.3, 0.5), together, strict=True):
            assert torch.equal(dropped[r], dropout(given, rate, generator))


@needs_a_gpu
def test_a_generator_advances_and_can_be_set_back() -> None:
    generator, ones = torch.Generator(DEVICE).manual_seed(0), torch.ones(5000, device=DEVICE)
    torch.rand(3, generator=generator, device=DEVICE)  # torch's own kernels draw from it too
    before = generator.get_state()
    first, second = dropout(ones, 0.5, generator), dropout(ones, 0.5, generator)
    assert not torch.equal(first, second)
    generator.set_state(before)
    assert torch.equal(first, dropout(ones, 0.5, generator))
    torch.cuda.manual_seed(0)  # without a generator torch's own is taken
    first = dropout(ones, 0.5)
    torch.cuda.manual_seed(0)
    assert torch.equal(first, dropout(ones, 0.5))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_mix_channels_and_gradients(axis: int) -> None:
    R, n, d, c = 3, 61, 10, 4
    Z = torch.randn(R, n, d * c, device=DEVICE).transpose(axis, 1).contiguous().transpose(axis, 1)  # as it may lie
    Z.requires_grad_()
    w = torch.randn(R, c, device=DEVICE, requires_grad=True)
    grad = torch.randn(R, n, d, device=DEVICE)
    plain = (torch.relu(Z).unflatten(2, (d, c)) * w[:, None, None]).sum(3)
    torch.testing.assert_close(kernels.mix_channels(Z.detach(), w.detach()), plain)
    expected = torch.autograd.grad(plain, (Z, w), grad)
    found = kernels.mix_channels_backward(grad, Z.detach(), w.detach())
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_nan_in_a_channel_propagates() -> None:
    Z = torch.zeros(1, 3, 8, device=DEVICE)
    Z[0, 1, 5] = torch.nan
    mixed = kernels.mix_channels(Z, torch.ones(1, 4, device=DEVICE))
    assert mixed.isnan().nonzero().tolist() == [[0, 1, 1]]


@pytest.mark.parametrize(("n", "k", "d", "c"), [(1, 8, 5, 2), (70, 40, 32, 4), (45, 19, 50, 4), (45, 19, 12, 8)])
@pytest.mark.parametrize("onto", [False, True])
@pytest.mark.parametrize("keep", [False, True])
def test_mix_product(n: int, k: int, d: int, c: int, onto: bool, keep: bool) -> None:
    assert kernels.can_mix_product(d * c, c)
    assert not kernels.can_mix_product(30, 3)  # channels that are no power of 2
    H = torch.randn(n, 3, k, device=DEVICE).transpose(0, 1)
    theta, w = torch.randn(3, k + 2, d * c, device=DEVICE)[:, 2:], torch.randn(3, c, device=DEVICE)
    below = torch.randn(3, n, d * c, device=DEVICE) if onto else None
    Z = H @ theta if below is None else below + H @ theta
    mixed, kept = kernels.mix_product(H, theta, w, below, keep)
    torch.testing.assert_close(
        mixed, (torch.relu(Z).unflatten(2, (d, c)) * w[:, None, None]).sum(3), rtol=1e-4, atol=1e-4
    )
    assert mixed.transpose(0, 1).is_contiguous()
    if keep:
        torch.testing.assert_close(kept, Z, rtol=1e-4, atol=1e-4)
    else:
        assert kept is None


def test_a_product_of_replicas_lies_by_nodes_and_can_be_changed_in_place() -> None:
    left, right = torch.randn(3, 5, 4, device=DEVICE), torch.randn(3, 4, 2, device=DEVICE)
    product = kernels.nodes_first_product(left, right)
    torch.testing.assert_close(product, left @ right)
    assert product.stride() == (2, 6, 1)
    assert not product._is_view()


@pytest.mark.parametrize(("n", "k", "m"), [(1, 3, 5), (700, 40, 128), (5000, 72, 200)])
def test_inner_products(n: int, k: int, m: int) -> None:
    left, right = torch.randn(n, 2, k, device=DEVICE).transpose(0, 1), torch.randn(2, n, m, device=DEVICE)
    exact = (left.double().transpose(1, 2) @ right.double()).float()
    torch.testing.assert_close(kernels.inner_products(left, right), exact, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(("n", "m"), [(60, 35), (9, 700)])
@pytest.mark.parametrize("mostly_zero", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
def test_csr_product_of_replicas(n: int, m: int, mostly_zero: bool, ordered: bool) -> None:
    rng = np.random.default_rng(0)
    matrix = sp.csr_array(sp.random_array((n, m), density=0.4, rng=rng, dtype=np.float32))
    values, dense = torch.randn(3, matrix.nnz), torch.randn(3, m, 19)
    values[:, ::3] = 0.0
    order = torch.from_numpy(rng.permutation(matrix.nnz).astype(np.int32))
    given = torch.empty_like(values).index_copy_(1, order.long(), values) if ordered else values
    product = kernels.csr_product_of_replicas(
        row_chunks(on_gpu(matrix.indptr)), on_gpu(matrix.indices), given.to(DEVICE), dense.to(DEVICE),
        order.to(DEVICE) if ordered else None, mostly_zero=mostly_zero,
    )  # fmt: skip
    for r in range(3):
        alone = sp.csr_array((values[r].numpy(), matrix.indices, matrix.indptr), shape=matrix.shape)
        np.testing.assert_allclose(product[r].cpu().numpy(), alone @ dense[r].numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("nodes_first", [False, True])
def test_keep_better(nodes_first: bool) -> None:
    new, kept = torch.randn(3, 41, 7, device=DEVICE), torch.randn(3, 41, 7, device=DEVICE)
    if nodes_first:
        new = new.transpose(0, 1).contiguous().transpose(0, 1)
    better = torch.tensor([True, False, True], device=DEVICE)
    expected = torch.where(better[:, None, None], new, kept)
    kernels.keep_better(better, new, kept)
    assert torch.equal(kept, expected)


def test_indices_of_64_bits_give_the_same_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensor that needs 64 bits, 2^30 entries, is too large for a test."""
    Z, w = torch.randn(2, 300, 20, device=DEVICE), torch.randn(2, 4, device=DEVICE)
    grad, bits = torch.randn(2, 300, 5, device=DEVICE), (on_gpu(np.array([5, 8])), on_gpu(np.array([0, 12])), 20_000)

    def made() -> list[torch.Tensor]:
        kept = torch.zeros_like(Z)
        kernels.keep_better(torch.tensor([True, False], device=DEVICE), Z, kept)
        dropped = kernels.dropout(Z, bits), kernels.dropout_concat(Z, grad, bits), *kernels.dropout_split(Z, 7, bits)
        return [kept, *dropped, kernels.mix_channels(Z, w), *kernels.mix_channels_backward(grad, Z, w)]

    narrow = made()
    for name in ("channel_kernels", "entry_kernels"):
        monkeypatch.setattr(f"hiergcn.model.ops.triton.{name}.needs_64_bits", lambda _: True)
    for one, other in zip(made(), narrow, strict=True):
        assert torch.equal(one, other)


def test_autograd_functions_of_the_gpu() -> None:
    """They run under `vmap` on a GPU alone; here their kernels are called directly."""
    H, theta, w = (torch.randn(shape, device=DEVICE).requires_grad_() for shape in ((2, 9, 5), (2, 5, 6), (2, 2)))
    Z, S = (torch.randn(shape, device=DEVICE).requires_grad_() for shape in ((2, 9, 6), (2, 9, 3)))
    mask = Mask(2**15, 9 * 8, draw=(on_gpu(np.array([1, 2])), on_gpu(np.array([0, 4]))))
    mixed = apply(kernels.MixProduct, H, theta, w, Z.clone(), True)
    plain = (torch.relu(Z + H @ theta).unflatten(2, (3, 2)) * w[:, None, None]).sum(3)
    same_with_gradients(mixed, plain, (Z, H, theta, w))
    same_with_gradients(apply(kernels.DenseProduct, H, theta, Z.clone()), Z + H @ theta, (Z, H, theta))
    same_with_gradients(apply(kernels.DenseProduct, H, theta, None).relu_(), torch.relu(H @ theta), (H, theta))
    kept = apply(DropoutConcat, torch.ones_like(H), torch.ones_like(S), mask)
    dropped = apply(DropoutConcat, H, S, mask)
    same_with_gradients(dropped, torch.cat([H, S], dim=2) * kept, (H, S))
    matrix = sp.csr_array(sp.random_array((9, 5), density=0.5, rng=np.random.default_rng(0)))
    X = SparseMatrix.from_scipy(matrix, DEVICE)
    product = apply(kernels.SparseProduct, torch.stack([X.values, 2 * X.values]), theta, X.pattern)
    same_with_gradients(product, torch.stack([X.to_dense() @ theta[0], 2 * X.to_dense() @ theta[1]]), (theta,))


@pytest.mark.parametrize(("n", "p", "d", "c"), [(1, 1, 3, 2), (90, 8, 16, 4), (150, 5, 50, 4)])
@pytest.mark.parametrize("dropped", [False, True])
def test_feature_layer(n: int, p: int, d: int, c: int, dropped: bool) -> None:
    """Among its rows are long ones, which several programs share."""
    rng = np.random.default_rng(n)
    dense = sp.random_array((n, n), density=0.1, rng=rng).toarray()
    dense[0] = dense[:, 0] = 0.1
    A = SparseMatrix.from_scipy(sp.csr_array(dense + dense.T), DEVICE)
    X = SparseMatrix.from_scipy(sp.csr_array(sp.random_array((n, 40), density=0.5, rng=rng)), DEVICE)
    values = X.values * (torch.rand(2, len(X.values), device=DEVICE) < 0.5) if dropped else X.values.expand(2, -1)
    S = torch.randn(n, 2, p, device=DEVICE).transpose(0, 1).requires_grad_()
    theta, w = (torch.randn(shape, device=DEVICE).requires_grad_() for shape in ((2, 40 + p, d * c), (2, c)))
    assert kernels.can_propagate_mix(p, d * c, c)
    found = apply(kernels.FeatureLayer, values, S, theta, w, X.pattern, A, True)
    rows = torch.stack([replace(X, values=own).to_dense() for own in values])
    Z = A.to_dense() @ torch.cat([rows, S], dim=2) @ theta
    same_with_gradients(found, (torch.relu(Z).unflatten(2, (d, c)) * w[:, None, None]).sum(3), (S, theta, w))
    with torch.no_grad():
        assert torch.equal(apply(kernels.FeatureLayer, values, S, theta, w, X.pattern, A, False), found)


def same_with_gradients(found: torch.Tensor, expected: torch.Tensor, learned: tuple[torch.Tensor, ...]) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-3)
    weight = torch.randn_like(expected)
    ours, theirs = (torch.autograd.grad((result * weight).sum(), learned) for result in (found, expected))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
