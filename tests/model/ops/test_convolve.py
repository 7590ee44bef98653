"""The graph convolution against plain torch, with and without kernels."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from hiergcn.model.ops import convolve as convolve_module
from hiergcn.model.ops.convolve import ChannelMix, convolve, mix_channels
from hiergcn.model.ops.sparse import csr_tensor
from hiergcn.model.ops.sparse_features import SparseFeatures

R, N, D, C = 3, 7, 5, 4


def mixed_and_gradients(Z: Tensor, w: Tensor, side_by_side: bool) -> list[Tensor]:
    Z, w = Z.clone().requires_grad_(), w.clone().requires_grad_()
    each = zip(Z, w, strict=True)
    mixed = torch.vmap(mix_channels)(Z, w) if side_by_side else torch.stack([mix_channels(*pair) for pair in each])
    weight = torch.linspace(-1.0, 2.0, mixed.numel()).view_as(mixed)
    return [mixed.detach(), *torch.autograd.grad((mixed * weight).sum(), (Z, w))]


@pytest.mark.parametrize("side_by_side", [False, True])
@pytest.mark.parametrize("kernels", [True, False], ids=["kernels", "none"])
def test_channels_and_their_gradients(side_by_side: bool, kernels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not kernels:  # as on a GPU without Triton
        monkeypatch.setattr(convolve_module, "_kernels", lambda _: None)
    generator = torch.Generator().manual_seed(0)
    Z, w = torch.randn(R, N, D * C, generator=generator), torch.randn(R, C, generator=generator)
    found = mixed_and_gradients(Z, w, side_by_side)
    Z, w = Z.requires_grad_(), w.requires_grad_()
    plain = (torch.relu(Z).unflatten(2, (D, C)) * w[:, None, None]).sum(3)
    weight = torch.linspace(-1.0, 2.0, plain.numel()).view_as(plain)
    for one, other in zip(found, [plain, *torch.autograd.grad((plain * weight).sum(), (Z, w))], strict=True):
        torch.testing.assert_close(one, other.detach(), rtol=1e-4, atol=1e-5)


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
    given = SparseFeatures.from_scipy(sp.csr_array(X)) if H_kind == "sparse" else H
    options = {"mix": mix, "relu": relu, "joint": joint, "recompute": recompute}
    found = convolve(csr_tensor(sp.csr_array(A)), given, S, theta, w, **options)  # type: ignore[arg-type]
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
    A, H, S, theta = csr_tensor(sp.eye_array(50, format="csr")), torch.ones(50, 4), torch.ones(50, 2), torch.eye(6)
    joint, two, again = (
        convolve(A, H, S, theta, None, rate=0.5, generator=torch.Generator().manual_seed(0), joint=joint)
        for joint in (True, False, False)
    )
    for dropped in (joint, two):
        assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert torch.equal(two, again)
    assert not torch.equal(joint, two)
