"""Layers of four channels in one pass against the same formulas in double precision."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from hiergcn.model.ops import cpu, cpu_four_channels
from hiergcn.model.ops.cpu_four_channels import backward, feature_gradients, forward, mixed_product, suits
from hiergcn.model.ops.cpu_layer import layer_on_cpu
from hiergcn.model.ops.sparse import csr_parts, csr_tensor

SIZES = [0, 1, 3, 33, 1029]  # nodes: fewer than a tile, and no whole number of tiles, blocks or parts
SHAPES = [(16, 64), (40, 128), (44, 64), (64, 192)]  # columns of Y, and of Z


@pytest.fixture(autouse=True, params=[1, 3])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """On any processor: without wide registers, an instruction becomes several."""
    before = torch.get_num_threads()
    monkeypatch.setattr(cpu_four_channels, "_has_wide_registers", lambda: True)
    monkeypatch.setattr(cpu, "_SMALL", 0)
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def matrix(n: int, m: int, seed: int = 0, symmetric: bool = False) -> Tensor:
    A = sp.random_array((n, m), density=min(1.0, 4 / max(m, 1)), rng=np.random.default_rng(seed), dtype=np.float32)
    return csr_tensor(sp.csr_array(A + A.T) if symmetric else sp.csr_array(A))


def parts_of(A: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    row_start, column, values = map(torch.from_numpy, csr_parts(A))
    return row_start, column, values


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def channels(Z: Tensor, w: Tensor) -> Tensor:
    """Return G of Eq. 7, in double precision; column k of channel j is column 4 k + j of Z."""
    return torch.stack([w[j] * Z[:, j::4].relu() for j in range(4)]).sum(dim=0)


def close(ours: Tensor, theirs: Tensor) -> None:
    largest = float(theirs.abs().max()) if theirs.numel() else 0.0
    torch.testing.assert_close(ours.double(), theirs, rtol=1e-5, atol=1e-5 * (1 + largest))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("k", "width"), SHAPES)
def test_a_layer_and_its_gradients(n: int, k: int, width: int) -> None:
    A, X, theta, w = matrix(n, n + 2), drawn(n + 2, k, seed=1), drawn(k, width, seed=2), drawn(4, seed=3)
    grad = drawn(n, width // 4, seed=4)
    assert suits(X, None, theta, w)
    Y, parameters = A.to_dense().double() @ X.double(), [theta.double(), w.double()]
    G, expected = _with_gradients(lambda Y, theta, w: channels(Y @ theta, w), [Y, *parameters], grad)
    for keep in (False, True):
        passed = forward(csr_parts(A), X, theta, w, keep)
        close(passed.G, G)
        assert n * keep <= len(passed.Y) == len(passed.Z) <= (n + 3) * keep
    for by_Y in (False, True):
        gradients = backward(grad, passed.Y, passed.Z, theta, w, by_Y)
        for ours, theirs in zip(gradients, expected, strict=True):
            assert (ours is None) == (theirs is expected[0] and not by_Y)
            if ours is not None:
                close(ours, theirs)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("p", "width"), [(4, 64), (8, 128), (12, 192)])
def test_the_layer_of_sparse_features_and_its_gradients(n: int, p: int, width: int) -> None:
    f = 7
    A, X, S = matrix(n, n, symmetric=True), matrix(n, f, seed=1), drawn(n, p, seed=2)
    theta, w, grad = drawn(f + p, width, seed=3), drawn(4, seed=4), drawn(n, width // 4, seed=5)
    joined = csr_tensor(sp.csr_array(np.hstack([X.to_dense().numpy(), S.numpy()])))
    given = [S.double(), theta.double(), w.double()]

    def layer(S: Tensor, theta: Tensor, w: Tensor) -> Tensor:
        return channels(A.to_dense().double() @ torch.cat([X.to_dense().double(), S], dim=1) @ theta, w)

    expected, gradients = _with_gradients(layer, given, grad)
    parts = parts_of(joined)
    without, nothing = mixed_product(csr_parts(A), cpu.csr_product(*parts, theta), w, False)
    assert len(nothing) == 0
    G, Z = mixed_product(csr_parts(A), cpu.csr_product(*parts, theta), w, True)
    assert torch.equal(G, without)
    close(G, expected)
    for ours, theirs in zip(feature_gradients(grad, Z, w, theta, p, csr_parts(A), parts), gradients, strict=True):
        close(ours, theirs)


def test_results_do_not_depend_on_the_number_of_threads(threads: int) -> None:
    n, k, width, p = 5003, 40, 128, 8
    A, X, theta, w = matrix(n, n, symmetric=True), drawn(n, k), drawn(k, width, seed=1), drawn(4, seed=2)
    grad, features = drawn(n, width // 4, seed=3), parts_of(matrix(n, k, seed=4))

    def every() -> list[Tensor | None]:
        passed = forward(csr_parts(A), X, theta, w, True)
        G, Z = mixed_product(csr_parts(A), passed.Z[:n], w, True)
        gradients = backward(grad, passed.Y, passed.Z, theta, w, True)
        return [passed.G, G, *gradients, *feature_gradients(grad, Z, w, theta, p, csr_parts(A), features)]

    results = every()
    torch.set_num_threads(1)
    for one, other in zip(results, every(), strict=True):
        assert one is not None
        assert other is not None
        assert torch.equal(one, other), threads


@pytest.mark.parametrize(
    ("columns", "k", "width", "weights"),
    [(40, 40, 128, 3), (15, 15, 64, 4), (41, 41, 128, 4), (40, 40, 100, 4), (128, 128, 64, 4), (36, 40, 128, 4)],
)
def test_other_shapes_are_left_to_separate_operations(columns: int, k: int, width: int, weights: int) -> None:
    H, theta, w = torch.empty(5, 32), torch.empty(40, 128), torch.empty(4)
    assert suits(H, torch.empty(5, 8), theta, w)
    assert not suits(torch.empty(5, columns - 8), torch.empty(5, 8), torch.empty(k, width), torch.empty(weights))
    assert not suits(H.double(), torch.empty(5, 8), theta, w)
    assert not suits(H.double(), torch.empty(5, 8), theta.double(), w.double())


def test_other_processors_take_separate_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_four_channels, "_has_wide_registers", lambda: False)
    assert not suits(torch.empty(5, 40), None, torch.empty(40, 128), torch.empty(4))


def test_the_gradient_by_w_of_many_rows_is_exact() -> None:
    """All terms have one sign: a single sum of floats would lose a thousandth."""
    n, k, width = 300_000, 16, 64
    grad, Z = torch.full((n, width // 4), 0.1), torch.full((n, width), 0.3)
    gradients = backward(grad, torch.zeros(n, k), Z, torch.zeros(k, width), torch.ones(4), False)
    expected = float(np.float32(0.1)) * float(np.float32(0.3)) * n * width / 4
    assert gradients.w.tolist() == pytest.approx([expected] * 4, rel=3e-6)


def layer(H: Tensor, S: Tensor, theta: Tensor, w: Tensor) -> Tensor:
    A = matrix(len(H), len(H), symmetric=True)
    return layer_on_cpu(A, A, H, S, theta, w)


def test_what_is_not_a_number_stays_so() -> None:
    H, S, theta, w = drawn(50, 32), drawn(50, 8), drawn(40, 128), drawn(4)
    H[7] = torch.nan
    assert torch.equal(layer(H, S, theta, w).isnan().all(dim=1), matrix(50, 50, symmetric=True).to_dense()[:, 7] != 0)


def test_evaluation_keeps_nothing_for_a_backward_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[bool] = []

    def watched(*given: Any) -> Any:
        kept.append(given[-1])
        return forward(*given)

    monkeypatch.setattr(cpu_four_channels, "forward", watched)
    given = drawn(50, 32), drawn(50, 8), drawn(40, 128).requires_grad_(), drawn(4)
    with torch.no_grad():
        layer(*given)
    layer(*given).relu_().sum().backward()  # the result may be overwritten
    assert kept == [False, True]


def _with_gradients(
    layer: Callable[..., Tensor], given: list[Tensor], grad: Tensor
) -> tuple[Tensor, tuple[Tensor, ...]]:
    inputs = [one.requires_grad_() for one in given]
    G = layer(*inputs)
    return G.detach(), torch.autograd.grad(G, inputs, grad.double())
