"""The weighted sum of the channels of a layer, alone or with the product that they come from."""

from typing import Any

import torch
from torch import Tensor

from hiergcn.model.ops import cpu as loops
from hiergcn.model.ops.gpu import gpu_kernels
from hiergcn.model.ops.sparse import dense_product, gradients_of_product, with_product
from hiergcn.model.ops.vmap import ReplicaRule, replicas_first, side_by_side


def mixed_channels(Z: Tensor, w: Tensor, rectify: bool) -> Tensor:
    """Sum over j of w_j Z_j, or of w_j ReLU(Z_j), where Z_j is every c-th column from j on; (n, d * c) -> (n, d)."""
    mixed: Tensor
    if not rectify:
        mixed = (Z.unflatten(1, (-1, w.shape[0])) * w).sum(dim=2)
    elif _passes(Z) is None:
        mixed = mixed_channels(Z.clamp_min(0.0), w, rectify=False)
    elif side_by_side():
        mixed = _MixedChannelsOfReplicas.apply(Z, w)  # type: ignore[no-untyped-call]
    else:
        mixed = _MixedChannels.apply(Z.unsqueeze(0), w.unsqueeze(0)).squeeze(0)  # type: ignore[no-untyped-call]
    return mixed


class _MixedChannels(torch.autograd.Function):
    """With ReLU, of Z (models, n, d * c) and w (models, c), in one pass each way."""

    @staticmethod
    def forward(ctx: Any, Z: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(Z, w)
        mixed: Tensor = _passes(Z).mixed_channels(Z, w)
        return mixed

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        Z, w = ctx.saved_tensors
        by_Z, by_w = _passes(Z).mixed_channels_backward(grads[0], Z, w)
        return by_Z, by_w


def _passes(Z: Tensor) -> Any:
    """The module that has them; None on a GPU without Triton."""
    return gpu_kernels() if Z.is_cuda else loops


class _MixedChannelsOfReplicas(ReplicaRule):
    @staticmethod
    def vmap(info: Any, in_dims: tuple[int, int], Z: Tensor, w: Tensor) -> tuple[Tensor, int]:
        each, weights = (replicas_first(*pair, info.batch_size) for pair in zip((Z, w), in_dims, strict=True))
        return _MixedChannels.apply(each, weights), 0  # type: ignore[no-untyped-call]


def mixed_product(Z: Tensor | None, H: Tensor, theta: Tensor, w: Tensor) -> Tensor:
    """The same, with ReLU, of Z + H θ, where Z is lost, or of H θ alone; (n, d * c) (n, k) (k, d * c) -> (n, d)."""
    if H.is_cuda and gpu_kernels() and side_by_side() and gpu_kernels().mixes_products(theta.shape[1], w.shape[0]):
        keep = torch.is_grad_enabled()
        mixed: Tensor = _MixedProductOfReplicas.apply(Z, H, theta, w, keep)  # type: ignore[no-untyped-call]
        return mixed
    product = dense_product(H, theta) if Z is None else with_product(Z, H, theta)
    return mixed_channels(product, w, rectify=True)


class _MixedProductOfReplicas(ReplicaRule):
    @staticmethod
    def vmap(
        info: Any,
        in_dims: tuple[int | None, ...],
        Z: Tensor | None,
        H: Tensor,
        theta: Tensor,
        w: Tensor,
        keep: bool,
    ) -> tuple[Tensor, int]:
        pairs = zip((H, theta, w), in_dims[1:4], strict=True)
        each = [replicas_first(*pair, info.batch_size) for pair in pairs]
        onto = None if Z is None else replicas_first(Z, in_dims[0], info.batch_size)
        return _MixedProductOnGPU.apply(onto, *each, keep), 0  # type: ignore[no-untyped-call]


class _MixedProductOnGPU(torch.autograd.Function):
    """Of replicas, in one pass that writes Z + H θ only for the gradients."""

    @staticmethod
    def forward(ctx: Any, Z: Tensor | None, H: Tensor, theta: Tensor, w: Tensor, keep: bool) -> Tensor:
        onto = None if Z is None else Z.detach()  # nothing else has a use for it
        mixed, total = gpu_kernels().mixed_product(H, theta, w, onto, keep)
        ctx.save_for_backward(H, theta, w, total)
        made: Tensor = mixed
        return made

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        H, theta, w, total = ctx.saved_tensors
        by_total, by_w = gpu_kernels().mixed_channels_backward(grads[0], total, w)
        by_H, by_theta = gradients_of_product(by_total, H, theta, ctx.needs_input_grad[1])
        return by_total if ctx.needs_input_grad[0] else None, by_H, by_theta, by_w, None
