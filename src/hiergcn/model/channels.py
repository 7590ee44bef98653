"""The weighted sum of the channels of a layer."""

from typing import Any

import torch
from torch import Tensor

from hiergcn.model import loops
from hiergcn.model.gpu import gpu_kernels
from hiergcn.model.side_by_side import ReplicaRule, replicas_first, side_by_side


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
