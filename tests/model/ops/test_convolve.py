"""The weighted sum of channels, with and without the kernels made for it, and recomputation."""

import pytest
import torch
from torch import Tensor

from hiergcn.model.ops import convolve as convolve_module
from hiergcn.model.ops.convolve import mix_channels

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
