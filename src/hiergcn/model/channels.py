"""The weighted sum of the channels of a layer."""

from typing import Any

import torch
from torch import Tensor


class _WeightedChannels(torch.autograd.Function):
    """A product with a vector, and two in the backward pass; for replicas, whose weights differ, a sum."""

    @staticmethod
    def forward(Z: Tensor, w: Tensor) -> Tensor:
        return (Z.view(-1, w.numel()) @ w).view(Z.shape[0], -1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG004
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        Z, w = ctx.saved_tensors
        grad = grads[0].flatten()
        return torch.outer(grad, w).view(Z.shape), Z.view(-1, w.numel()).T @ grad

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int, int], Z: Tensor, w: Tensor) -> tuple[Tensor, int]:  # noqa: ARG004
        each, weights = Z.movedim(in_dims[0], 0), w.movedim(in_dims[1], 0)
        return (each.unflatten(2, (-1, weights.shape[1])) * weights[:, None, None]).sum(dim=3), 0


def weighted_channels(Z: Tensor, w: Tensor) -> Tensor:
    """Sum over j of w_j Z_j, where Z_j is every c-th column from j on; (n, d * c) -> (n, d)."""
    mixed: Tensor = _WeightedChannels.apply(Z, w)  # type: ignore[no-untyped-call]
    return mixed
