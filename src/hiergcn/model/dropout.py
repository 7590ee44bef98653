"""Dropout that draws from a generator that is handed in, so that nothing depends on global state."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hiergcn.model import loops
from hiergcn.model.gpu import gpu_kernels
from hiergcn.model.side_by_side import ReplicaRule, replicas_first

_STEPS = 2**16  # rates are exact to 1 / 65536


class ReplicaNoise:
    """A generator for each of several replicas that train side by side: each draws what it would draw alone.

    `replica` is set inside of `torch.vmap` to something that differs between replicas; it is how torch learns that
    entries dropped from shared values differ too.
    """

    def __init__(self, generators: Sequence[torch.Generator]) -> None:
        self.generators = generators
        self.replica = torch.empty(0)


Noise = torch.Generator | ReplicaNoise | None


def dropout(values: Tensor, rate: float, generator: Noise = None) -> Tensor:
    """Zero each entry with probability `rate` and scale the others by 1 / (1 - rate)."""
    if _kept(rate) == _STEPS:
        return values
    dropped: Tensor
    if isinstance(generator, ReplicaNoise):
        dropped = _DropoutOfReplicas.apply(values, generator.replica, rate, generator)  # type: ignore[no-untyped-call]
    else:
        dropped = _Dropout.apply(values.unsqueeze(0), rate, [generator]).squeeze(0)  # type: ignore[no-untyped-call]
    return dropped


class _Dropout(torch.autograd.Function):
    """Of values (models, ...) with a generator for each model; the bits are kept for the gradient, not the factors."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, rate: float, generators: Sequence[torch.Generator | None]) -> Tensor:
        bits, kept = _bits(values.shape[1:].numel(), rate, values.device, generators)
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
    if not gpu_kernels():
        mask = bits[:, : values.shape[1:].numel()].view_as(values) < limit
        return torch.mul(values, mask.to(values.dtype).mul_(scale))
    rows = values if values.dim() == 3 else values.reshape(len(values), -1, values.shape[-1])
    dropped: Tensor = gpu_kernels().replica_dropout(rows, bits, limit, scale)
    return dropped.view(values.shape)


class _DropoutOfReplicas(ReplicaRule):
    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], values: Tensor, _: Tensor, rate: float, noise: ReplicaNoise
    ) -> tuple[Tensor, int]:
        each = replicas_first(values, in_dims[0], info.batch_size)
        return _Dropout.apply(each, rate, noise.generators), 0  # type: ignore[no-untyped-call]


def _bits(
    n: int, rate: float, device: torch.device, generators: Sequence[torch.Generator | None]
) -> tuple[Tensor, int]:
    """16 random bits for each of n entries, (generators, n or a little more), and how many of 2^16 values are kept.

    Four entries share a draw of 64 bits, a sixth of the cost of `bernoulli_`.
    """
    bits = torch.empty((len(generators), -(-n // 4)), dtype=torch.int64, device=device)
    for row, generator in zip(bits, generators, strict=True):
        row.random_(-(2**63), None, generator=generator)
    return bits.view(torch.int16), _kept(rate)


def _kept(rate: float) -> int:
    """How many of 2^16 values are kept; all of them where the rate is too small to tell from 0."""
    return max(round((1.0 - rate) * _STEPS), 1)
