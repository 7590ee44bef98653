"""The graph convolution against plain torch, with and without kernels."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from hiergcn.model.ops import cpu
from hiergcn.model.ops import layer as layer_module
from hiergcn.model.ops import sparse as sparse_module
from hiergcn.model.ops.dense import dense_product, inner_products
from hiergcn.model.ops.layer import ChannelMix, choose_backend, convolve, mix_channels
from hiergcn.model.ops.replicas import vmap
from hiergcn.model.ops.sparse import SparseMatrix

R, N, D, C = 3, 7, 5, 4
ROWS, WIDTH = 2400, 12


@pytest.mark.parametrize("how", ["alone", "replicas", "numba"])
def test_channels_and_their_gradients(how: str) -> None:
    generator = torch.Generator().manual_seed(0)
    Z, w = torch.randn(R, N, D * C, generator=generator), torch.randn(R, C, generator=generator)
    weight = torch.linspace(-1.0, 2.0, R * N * D).view(R, N, D)
    Z, w = Z.requires_grad_(), w.requires_grad_()
    plain = (torch.relu(Z).unflatten(2, (D, C)) * w[:, None, None]).sum(3)
    expected = [plain, *torch.autograd.grad((plain * weight).sum(), (Z, w))]
    if how == "numba":
        each = [
            (cpu.mix_channels(*pair), *cpu.mix_channels_backward(grad, *pair))
            for *pair, grad in zip(Z.detach(), w.detach(), weight, strict=True)
        ]
        found = [torch.stack(parts) for parts in zip(*each, strict=True)]
    else:
        mixed = vmap(mix_channels)(Z, w) if how == "replicas" else torch.stack(list(map(mix_channels, Z, w)))
        found = [mixed, *torch.autograd.grad((mixed * weight).sum(), (Z, w))]
    for result, other in zip(found, expected, strict=True):
        torch.testing.assert_close(result, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize(("mix", "relu"), [("after_relu", True), ("before_relu", True), ("after_relu", False)])
@pytest.mark.parametrize("H_kind", ["narrow", "wide", "sparse"])
@pytest.mark.parametrize(("embedding", "joint"), [(False, True), (True, True), (True, False)])
def test_convolve(H_kind: str, embedding: bool, joint: bool, mix: ChannelMix, relu: bool, recompute: bool) -> None:
    """Every way to order the products gives Σ_j w_j ReLU(Â [H ‖ S] θ_j) and its gradients."""
    rng = np.random.default_rng(0)
    A = rng.random((N, N)) * (rng.random((N, N)) < 0.5)
    A = (A + A.T).astype(np.float32)
    k = {"narrow": 3, "wide": 30, "sparse": 6}[H_kind]
    X = (rng.random((N, k)) * (rng.random((N, k)) < 0.5)).astype(np.float32)
    H, S = torch.from_numpy(X), torch.randn(N, 2, requires_grad=True) if embedding else None
    theta, w = torch.randn(k + 2 * embedding, D * C, requires_grad=True), torch.randn(C, requires_grad=True)
    given = SparseMatrix.from_scipy(sp.csr_array(X)) if H_kind == "sparse" else H
    options = {"mix": mix, "relu": relu, "joint": joint, "recompute": recompute}
    found = convolve(SparseMatrix.from_scipy(sp.csr_array(A)), given, S, theta, w, **options)  # type: ignore[arg-type]
    HS = H if S is None else torch.cat([H, S], dim=1)
    Z = [torch.from_numpy(A) @ HS @ theta[:, j::C] for j in range(C)]
    rectify = torch.relu if relu else lambda Z_j: Z_j
    expected = sum(w[j] * rectify(Z[j]) for j in range(C)) if mix == "after_relu" else None
    if expected is None:
        expected = rectify(torch.stack([w[j] * Z[j] for j in range(C)]).sum(dim=0))
    assert isinstance(expected, Tensor)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    learned = [part for part in (S, theta, w) if part is not None]
    weight = torch.randn(N, D)
    ours, theirs = (torch.autograd.grad((G * weight).sum(), learned) for G in (found, expected))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_dropout_draws_one_joint_mask_or_two() -> None:
    A, H, S, theta = (
        SparseMatrix.from_scipy(sp.eye_array(50, format="csr")),
        torch.ones(50, 4),
        torch.ones(50, 2),
        torch.eye(6),
    )
    joint, two, again = (
        convolve(A, H, S, theta, None, rate=0.5, generator=torch.Generator().manual_seed(0), joint=joint)
        for joint in (True, False, False)
    )
    for dropped in (joint, two):
        assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert torch.equal(two, again)
    assert not torch.equal(joint, two)


def symmetric(n: int) -> sp.csr_array:
    A = sp.random_array((n, n), density=4 / n, rng=np.random.default_rng(0), dtype=np.float32)
    return sp.csr_array(A + A.T)


@pytest.mark.parametrize("rate", [0.0, 0.6])
@pytest.mark.parametrize("channels", [1, 4])
@pytest.mark.parametrize("kind", ["hidden", "sparse features", "dense features", "output"])
def test_one_operation_equals_many(kind: str, channels: int, rate: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same draws, results and gradients."""
    monkeypatch.setattr(sparse_module, "_SMALL", 0)  # drop entries of sparse features as on large graphs
    generator = torch.Generator().manual_seed(0)
    A, width = SparseMatrix.from_scipy(symmetric(ROWS)), 5 if kind == "output" else 16 * channels
    X = torch.randn(ROWS, WIDTH, generator=generator).clamp_min(0.5).sub_(0.5)
    H = SparseMatrix.from_scipy(sp.csr_array(X.numpy())) if kind == "sparse features" else X
    S = None if kind == "output" else torch.randn(ROWS, 4, generator=generator, requires_grad=True)
    theta = torch.randn(WIDTH + (0 if S is None else 4), width, generator=generator, requires_grad=True)
    w = torch.randn(channels, generator=generator, requires_grad=True) if channels > 1 and kind != "output" else None
    if kind in ("hidden", "output"):
        X.requires_grad_()
    given = [one for one in (X if X.requires_grad else None, S, theta, w) if one is not None]
    seen = torch.randn(ROWS, 5 if kind == "output" else width // channels, generator=generator)

    def result(alone: bool) -> list[Tensor]:
        if not alone:
            monkeypatch.setattr(layer_module, "on_cpu_alone", lambda *_: False)
        draws = torch.Generator().manual_seed(1)
        G = convolve(A, H, S, theta, w, rate=rate, generator=draws, joint=kind == "hidden")
        return [G.detach(), *torch.autograd.grad((G * seen).sum(), given)]

    for one, other in zip(result(True), result(False), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_the_backend_follows_settings_and_device() -> None:
    theta, w, generator = torch.empty(3, 8), torch.empty(4), torch.Generator()
    settings: tuple[tuple[Tensor | None, ChannelMix, bool], ...]
    settings = (None, "after_relu", True), (theta, "after_relu", True), (None, "before_relu", True)
    backends = [choose_backend(theta, w, own, mix, relu, generator) for own, mix, relu in settings]
    assert backends == ["numba", "torch", "torch"]
    assert choose_backend(theta, None, None, "after_relu", False, generator) == "numba"

    def replica(part: Tensor) -> Tensor:
        assert choose_backend(theta, w, None, "after_relu", True, generator) == "torch"
        return part

    vmap(replica)(theta)


@pytest.mark.parametrize(("n", "k", "m"), [(700, 40, 128), (5000, 64, 10), (5000, 10, 64), (9000, 8, 16), (3, 4, 5)])
def test_products_are_those_in_double_precision(n: int, k: int, m: int) -> None:
    H, W, G = torch.randn(n, k), torch.randn(k, m), torch.randn(n, m)
    found = dense_product(H, W), dense_product(G, W.t()), inner_products(H, G)
    exact = H.double() @ W.double(), G.double() @ W.double().t(), H.double().t() @ G.double()
    for product, expected in zip(found, exact, strict=True):
        torch.testing.assert_close(product.double(), expected, rtol=1e-4, atol=1e-3)
