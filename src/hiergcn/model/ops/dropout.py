"""Dropout that draws from a generator that is handed in, so that nothing depends on global state."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hiergcn.model.ops import cpu as loops
from hiergcn.model.ops.gpu import gpu_kernels
from hiergcn.model.ops.philox import Draw, Noise, ReplicaNoise, next_draw
from hiergcn.model.ops.vmap import ReplicaRule, joined_columns, replicas_first

_STEPS = 2**16  # rates are exact to 1 / 65536


def dropout(values: Tensor, rate: float, generator: Noise = None) -> Tensor:
    """Zero each entry with probability `rate` and scale the others by 1 / (1 - rate)."""
    kept = _kept(rate)
    if kept == _STEPS:  # the rate is too small to tell from 0
        return values
    dropped: Tensor
    if isinstance(generator, ReplicaNoise):
        dropped = _DropoutOfReplicas.apply(values, generator.replica, kept, generator)  # type: ignore[no-untyped-call]
    elif values.is_cuda and gpu_kernels():
        draw = next_draw(generator or torch.cuda.default_generators[values.get_device()])
        dropped = _DropoutOnGPU.apply(values.unsqueeze(0), kept, draw).squeeze(0)  # type: ignore[no-untyped-call]
    else:
        dropped = _Dropout.apply(values.unsqueeze(0), kept, [generator]).squeeze(0)  # type: ignore[no-untyped-call]
    return dropped


def _kept(rate: float) -> int:
    """Of 2^16 values."""
    return max(round((1.0 - rate) * _STEPS), 1)


def dropped_join(left: Tensor, right: Tensor, rate: float, generator: Noise = None) -> Tensor:
    """[left ‖ right] with dropout; (n, d) (n, e) -> (n, d + e)."""
    if isinstance(generator, ReplicaNoise) and generator.on_gpu:
        joined: Tensor = _DroppedJoinOfReplicas.apply(left, right, rate, generator)  # type: ignore[no-untyped-call]
        return joined
    return dropout(joined_columns(left, right), rate, generator)


class _Dropout(torch.autograd.Function):
    """Of values (models, ...) with a generator for each model; the bits are kept for the gradient, not the factors."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, kept: int, generators: Sequence[torch.Generator | None]) -> Tensor:
        bits = _bits(values.shape[1:].numel(), values.device, generators)
        if ctx.needs_input_grad[0]:
            ctx.bits, ctx.kept = bits, kept
        return _dropped(values, bits, kept)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return _dropped(grads[0], ctx.bits, ctx.kept), None, None


def _dropped(values: Tensor, bits: Tensor, kept: int) -> Tensor:
    """The values, (models, ...), whose bits are among the lowest `kept` of 2^16."""
    limit, scale = kept - _STEPS // 2, _STEPS / kept
    if not values.is_cuda:
        return loops.dropout(values, bits, limit, scale)
    mask = bits[:, : values.shape[1:].numel()].view_as(values) < limit
    return torch.mul(values, mask.to(values.dtype).mul_(scale))


class _DropoutOnGPU(torch.autograd.Function):
    """The same in one pass that makes the bits, and makes them again for the gradient: none are kept."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, kept: int, draw: Draw) -> Tensor:
        ctx.kept, ctx.draw = kept, draw
        return _dropped_on_gpu(values, kept, draw)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return _dropped_on_gpu(grads[0], ctx.kept, ctx.draw), None, None


def _dropped_on_gpu(values: Tensor, kept: int, draw: Draw) -> Tensor:
    rows = values.reshape(len(values), values.shape[1:-1].numel(), values.shape[-1])
    dropped: Tensor = gpu_kernels().dropout(rows, draw.seed, draw.offset, kept)
    return dropped.view(values.shape)


class _DropoutOfReplicas(ReplicaRule):
    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], values: Tensor, _: Tensor, kept: int, noise: ReplicaNoise
    ) -> tuple[Tensor, int]:
        each = replicas_first(values, in_dims[0], info.batch_size)
        if noise.on_gpu:
            return _DropoutOnGPU.apply(each, kept, noise.next_draw()), 0  # type: ignore[no-untyped-call]
        return _Dropout.apply(each, kept, noise.generators), 0  # type: ignore[no-untyped-call]


class _DroppedJoinOfReplicas(ReplicaRule):
    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], left: Tensor, right: Tensor, rate: float, noise: ReplicaNoise
    ) -> tuple[Tensor, int]:
        each = [replicas_first(*pair, info.batch_size) for pair in zip((left, right), in_dims[:2], strict=True)]
        kept = _kept(rate)
        draw = None if kept == _STEPS else noise.next_draw()
        return _DroppedJoinOnGPU.apply(*each, kept, draw), 0  # type: ignore[no-untyped-call]


class _DroppedJoinOnGPU(torch.autograd.Function):
    """In one pass each way; the gradients of both sides lie as sparse products want them."""

    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, kept: int, draw: Draw | None) -> Tensor:
        ctx.cut, ctx.bits = left.shape[2], None if draw is None else (draw.seed, draw.offset, kept)
        joined: Tensor = gpu_kernels().dropped_join(left, right, ctx.bits)
        return joined

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None]:
        left, right = gpu_kernels().dropped_parts(grads[0], ctx.cut, ctx.bits)
        return left, right, None, None


def _bits(n: int, device: torch.device, generators: Sequence[torch.Generator | None]) -> Tensor:
    """16 random bits for each of n entries, (generators, n or a little more).

    Four entries share a draw of 64 bits, a sixth of the cost of `bernoulli_`.
    """
    bits = torch.empty((len(generators), -(-n // 4)), dtype=torch.int64, device=device)
    for row, generator in zip(bits, generators, strict=True):
        row.random_(-(2**63), None, generator=generator)
    return bits.view(torch.int16)
