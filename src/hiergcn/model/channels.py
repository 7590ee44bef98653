"""The weighted sum of the channels of a layer."""

from typing import Any

import torch
from torch import Tensor

from hiergcn.model.gpu import gpu_kernels


class _MixedChannels(torch.autograd.Function):
    """A product with a vector, and two in the backward pass; for replicas, whose weights differ, a sum."""

    @staticmethod
    def forward(Z: Tensor, w: Tensor, rectify: bool) -> tuple[Tensor, Tensor]:
        rectified = Z.clamp_min(0.0) if rectify else Z.view_as(Z)
        return (rectified.view(-1, w.numel()) @ w).view(Z.shape[0], -1), rectified

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        _, w, ctx.rectify = inputs
        ctx.save_for_backward(output[1], w)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        rectified, w = ctx.saved_tensors
        grad = grads[0].flatten()
        by_Z = torch.outer(grad, w).view(rectified.shape)
        by_w = rectified.view(-1, w.numel()).T @ grad
        return by_Z.mul_(rectified > 0) if ctx.rectify else by_Z, by_w, None

    @staticmethod
    def vmap(
        info: Any,  # noqa: ARG004
        in_dims: tuple[int, int, None],
        Z: Tensor,
        w: Tensor,
        rectify: bool,
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        each, weights = Z.movedim(in_dims[0], 0), w.movedim(in_dims[1], 0)
        if rectify and each.is_cuda and gpu_kernels():
            return (_MixedOnGPU.apply(each, weights), each), (0, 0)  # type: ignore[no-untyped-call]
        rectified = each.clamp_min(0.0) if rectify else each
        return ((rectified.unflatten(2, (-1, weights.shape[1])) * weights[:, None, None]).sum(dim=3), rectified), (0, 0)


class _MixedOnGPU(torch.autograd.Function):
    """The same for replicas, Z (replicas, n, d * c), in one pass each way."""

    @staticmethod
    def forward(ctx: Any, Z: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(Z, w)
        mixed: Tensor = gpu_kernels().mixed_channels(Z, w)
        return mixed

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        by_Z, by_w = gpu_kernels().mixed_channels_backward(grads[0], *ctx.saved_tensors)
        return by_Z, by_w


def mixed_channels(Z: Tensor, w: Tensor, rectify: bool) -> Tensor:
    """Sum over j of w_j Z_j, or of w_j ReLU(Z_j), where Z_j is every c-th column from j on; (n, d * c) -> (n, d)."""
    mixed: Tensor = _MixedChannels.apply(Z, w, rectify)[0]  # type: ignore[no-untyped-call]
    return mixed
