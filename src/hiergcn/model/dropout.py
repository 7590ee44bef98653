"""Dropout that draws from a generator that is handed in, so that nothing depends on global state."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hiergcn.model.gpu import gpu_kernels

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
    if rate == 0.0:
        return values
    if isinstance(generator, ReplicaNoise):
        dropped: Tensor = _ReplicaDropout.apply(values, generator.replica, rate, generator)  # type: ignore[no-untyped-call]
        return dropped
    return values * _factor(values.shape, values.dtype, values.device, rate, [generator])[0]


def _factor(
    shape: torch.Size,
    dtype: torch.dtype,
    device: torch.device,
    rate: float,
    generators: Sequence[torch.Generator | None],
) -> Tensor:
    """0 or 1 / (1 - rate) for each generator and entry; (generators, *shape)."""
    n = shape.numel()
    bits, kept = _bits(n, rate, device, generators)
    mask = bits[:, :n] < kept - _STEPS // 2
    return mask.to(dtype).mul_(_STEPS / kept).view(len(generators), *shape)


def _bits(
    n: int, rate: float, device: torch.device, generators: Sequence[torch.Generator | None]
) -> tuple[Tensor, int]:
    """16 random bits for each of n entries, (generators, n or a little more), and how many of 2^16 values are kept.

    Four entries share a draw of 64 bits, a sixth of the cost of `bernoulli_`.
    """
    bits = torch.empty((len(generators), -(-n // 4)), dtype=torch.int64, device=device)
    for row, generator in zip(bits, generators, strict=True):
        row.random_(-(2**63), None, generator=generator)
    return bits.view(torch.int16), max(round((1.0 - rate) * _STEPS), 1)


class _ReplicaDropout(torch.autograd.Function):
    """Exists for its `vmap` rule alone: ReplicaNoise is drawn from nowhere else."""

    @staticmethod
    def forward(*_: Any) -> Tensor:
        raise RuntimeError("ReplicaNoise is for use inside of torch.vmap")

    @staticmethod
    def setup_context(*_: Any) -> None: ...

    @staticmethod
    def vmap(
        info: Any,  # noqa: ARG004
        in_dims: tuple[int | None, ...],
        values: Tensor,
        replica: Tensor,  # noqa: ARG004
        rate: float,
        noise: ReplicaNoise,
    ) -> tuple[Tensor, int]:
        each = values.unsqueeze(0) if in_dims[0] is None else values.movedim(in_dims[0], 0)
        if each.is_cuda and each.dim() <= 3 and gpu_kernels():
            rows = each.expand(len(noise.generators), *each.shape[1:]).view(len(noise.generators), -1, each.shape[-1])
            dropped: Tensor = _DropoutOnGPU.apply(rows, rate, noise.generators)  # type: ignore[no-untyped-call]
            return dropped.view(len(noise.generators), *each.shape[1:]), 0
        return each * _factor(each.shape[1:], values.dtype, values.device, rate, noise.generators), 0


class _DropoutOnGPU(torch.autograd.Function):
    """The same of values (replicas, n, d) in one pass each way."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, rate: float, generators: Sequence[torch.Generator]) -> Tensor:
        ctx.bits, ctx.kept = _bits(values.shape[1:].numel(), rate, values.device, generators)
        return _DropoutOnGPU.dropped(ctx, values)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return _DropoutOnGPU.dropped(ctx, grads[0]), None, None

    @staticmethod
    def dropped(ctx: Any, values: Tensor) -> Tensor:
        result: Tensor = gpu_kernels().replica_dropout(values, ctx.bits, ctx.kept - _STEPS // 2, _STEPS / ctx.kept)
        return result
