"""Dropout from a given generator, so that nothing depends on global state.

The GPU kernel makes its random bits itself, as torch's own kernels do: they follow from the generator's seed and an
offset, which each draw increases. So the backward pass can make the bits again, one kernel can make those of many
replicas, and a generator that is set back to an earlier state repeats its draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from hiergcn.model.ops import cpu, gpu_kernels
from hiergcn.model.ops.vmap import InDims, ReplicaRule, apply, concat_columns, replicas_first

_STEPS = 2**16  # rates are exact to 1 / 65536
_SMALL = 2**15  # entries that torch's own operations drop on a CPU, with the same bits: calling ours would take longer
_OFFSET_STEP = 4  # offsets per draw: torch counts the 32-bit words that a thread takes


@dataclass(frozen=True, eq=False)
class Draw:
    """Seed and offset that determine the bits of one draw on a GPU."""

    seed: Tensor  # (models,)
    offset: Tensor  # (models,)


def _next_draw(generator: torch.Generator) -> Draw:
    """Return the generator's next draw and advance it."""
    draw = _upcoming(generator)
    generator.set_offset(generator.get_offset() + _OFFSET_STEP)
    return draw


def _upcoming(generator: torch.Generator) -> Draw:
    seed = (generator.initial_seed() + 2**63) % 2**64 - 2**63  # the same 64 bits, with a sign
    return Draw(*(torch.full((1,), number, device=generator.device) for number in (seed, generator.get_offset())))


class ReplicaGenerator:
    """One generator per replica: each replica draws the same random numbers as alone.

    `replica` must be set inside `torch.vmap` to a tensor that differs between replicas. It tells torch that dropout on
    shared values differs too.

    With the GPU kernel the offsets are a tensor on the GPU, which every replay of a CUDA graph advances.
    """

    def __init__(self, generators: Sequence[torch.Generator]) -> None:
        self.replica = torch.empty(0)
        self.on_gpu = gpu_kernels() is not None and any(generator.device.type == "cuda" for generator in generators)
        self.generators = () if self.on_gpu else tuple(generators)
        """The generators that torch draws from."""
        if self.on_gpu:
            draws = [_upcoming(generator) for generator in generators]
            self.seed = torch.cat([draw.seed for draw in draws])
            self.offset = torch.cat([draw.offset for draw in draws])

    def next_draw(self) -> Draw:
        """Return the next draw of all replicas and advance them; GPU kernel only."""
        draw = Draw(self.seed, self.offset.clone())
        self.offset += _OFFSET_STEP
        return draw


AnyGenerator = torch.Generator | ReplicaGenerator | None


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a matrix. They have the same random bits as among all rows."""

    index: Tensor  # (m,), ascending
    total: int  # rows of the whole matrix


def dropout(values: Tensor, rate: float, generator: AnyGenerator = None, rows: Rows | None = None) -> Tensor:
    """Zero each entry with probability `rate` and scale the others by 1 / (1 - rate).

    Replicas may have some `rows` of a matrix, (m, d).
    """
    kept = _kept(rate)
    if kept == _STEPS:  # the rate is too small to tell from 0
        return values
    if isinstance(generator, ReplicaGenerator):
        return apply(_DropoutOfReplicas, values, generator.replica, kept, generator, rows)
    assert rows is None
    if not values.is_cuda and values.numel() < _SMALL:
        bits = _bits(values.numel(), values.device, [generator])[0, : values.numel()].view_as(values)
        return values * (bits < kept - _STEPS // 2).to(values.dtype).mul_(_STEPS / kept)
    if values.is_cuda and gpu_kernels():
        draw = _next_draw(generator or torch.cuda.default_generators[values.get_device()])
        return apply(_DropoutOnGPU, values.unsqueeze(0), kept, draw).squeeze(0)
    bits = _bits(values.numel(), values.device, [generator])
    return apply(_Dropout, values.unsqueeze(0), (bits, *_limit_and_scale(kept))).squeeze(0)


def dropout_concat(
    left: Tensor, right: Tensor, rate: float, generator: AnyGenerator = None, rows: Rows | None = None
) -> Tensor:
    """Return [left ‖ right] with dropout; (n, d) (n, e) -> (n, d + e)."""
    if isinstance(generator, ReplicaGenerator) and generator.on_gpu:
        return apply(_DropoutConcatOfReplicas, left, right, rate, generator, rows)
    return dropout(concat_columns(left, right), rate, generator, rows)


Mask = tuple[Tensor | None, int, int, float]
"""Rows, or None for all; seed of the random bits; limit below which bits keep an entry, and the factor of those."""


def masked_concat(
    left: Tensor, right: Tensor | None, rate: float, generator: torch.Generator | None, rows: Rows | None = None
) -> tuple[Tensor, Mask | None]:
    """Return [left ‖ right] with dropout on a CPU, and its mask for `masked_split`; None if nothing is dropped."""
    kept = _kept(rate)
    if kept == _STEPS:
        return left if right is None else torch.cat([left, right], dim=1), None
    right = left[:, :0] if right is None else right
    mask = (None if rows is None else rows.index, _next_seed(generator), *_limit_and_scale(kept))
    return cpu.dropout_concat(left, right, *mask), mask


def masked_split(grad: Tensor, columns: int, mask: Mask | None) -> tuple[Tensor, Tensor]:
    """Return the gradients of the two inputs of `masked_concat` by that of its result."""
    return (grad[:, :columns], grad[:, columns:]) if mask is None else cpu.dropout_split(grad, columns, *mask)


BitMask = tuple[Tensor, int, float]
"""Random bits of each entry, the limit below which they keep it, and the factor of entries that are kept."""


def drawn_mask(entries: int, rate: float, generator: torch.Generator | None = None) -> BitMask | None:
    """Draw for so many entries what `dropout` on a CPU would draw; None if nothing is dropped."""
    kept = _kept(rate)
    if kept == _STEPS:
        return None
    return _bits(entries, torch.device("cpu"), [generator])[0], *_limit_and_scale(kept)


def masked(values: Tensor, masks: Sequence[BitMask]) -> Tensor:
    """Return the values (m, ...) with dropout by a mask of one rate for each of m parts."""
    _, limit, scale = masks[0]
    return apply(_Dropout, values, (torch.stack([bits for bits, _, _ in masks]), limit, scale))


class KeptEntries(NamedTuple):
    """A sparse matrix without the entries that `dropout` makes 0, and the mask of dense columns at its right side."""

    matrix: tuple[Tensor, Tensor, Tensor]  # row starts, columns, values
    mask: BitMask


def dropped_entries(
    matrix: tuple[Tensor, Tensor, Tensor],
    width: int,
    rate: float,
    generator: AnyGenerator = None,
    right: Tensor | None = None,
) -> KeptEntries | None:
    """Return a sparse matrix (n, width), given by its parts, without the entries that `dropout` would make 0.

    A dense matrix `right` is dropped likewise and put at its right side. None if the matrix is small or not on a CPU,
    has replicas or needs a gradient: then use `dropout`, whose draws are the same.
    """
    kept, values = _kept(rate), matrix[2]
    small = values.numel() < _SMALL or kept == _STEPS
    if small or values.is_cuda or values.requires_grad or isinstance(generator, ReplicaGenerator):
        return None
    bits = _bits(values.numel(), values.device, [generator])[0]
    beside = values.new_empty(len(matrix[0]) - 1, 0) if right is None else right
    beside_bits = bits[:0] if right is None else _bits(beside.numel(), beside.device, [generator])[0]
    limit, scale = _limit_and_scale(kept)
    entries = cpu.kept_entries(matrix, width, bits, beside, beside_bits, limit, scale)
    return KeptEntries(entries, (beside_bits, limit, scale))


def _limit_and_scale(kept: int) -> tuple[int, float]:
    """Return the int16 below which bits keep an entry, and the factor of entries that are kept."""
    return kept - _STEPS // 2, _STEPS / kept


def _kept(rate: float) -> int:
    """Return how many of 2^16 values the rate keeps, at least one."""
    return max(round((1.0 - rate) * _STEPS), 1)


class _Dropout(torch.autograd.Function):
    """Dropout on values (models, ...) by a mask. Saves the bits for backward, which are smaller."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, mask: BitMask) -> Tensor:
        if ctx.needs_input_grad[0]:
            ctx.mask = mask
        return _dropped(values, *mask)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return _dropped(grads[0], *ctx.mask), None


def _bits_of_rows(
    n: int, width: int, device: torch.device, generators: Sequence[torch.Generator | None], rows: Rows | None
) -> Tensor:
    """Return the bits of n rows, or of some rows of a larger matrix; (generators, at least n * width)."""
    if rows is None:
        return _bits(n * width, device, generators)
    every = _bits(rows.total * width, device, generators)[:, : rows.total * width]
    return every.view(-1, rows.total, width).index_select(1, rows.index).flatten(1)


def _bits(n: int, device: torch.device, generators: Sequence[torch.Generator | None]) -> Tensor:
    """Return 16 random bits for each of n entries; (generators, n rounded up to a multiple of 4).

    On a CPU each generator draws a seed, from which `cpu.random_bits` makes the bits in a tenth of the time.
    """
    if device.type == "cpu":
        bits = [cpu.random_bits(_next_seed(generator), n) for generator in generators]
        return bits[0].unsqueeze(0) if len(bits) == 1 else torch.stack(bits)
    drawn = torch.empty((len(generators), -(-n // 4)), dtype=torch.int64, device=device)
    for row, generator in zip(drawn, generators, strict=True):
        row.random_(-(2**63), None, generator=generator)
    return drawn.view(torch.int16)


def _next_seed(generator: torch.Generator | None) -> int:
    """Draw the 64 bits from which `cpu` makes random bits."""
    return int(torch.empty((), dtype=torch.int64).random_(-(2**63), None, generator=generator)) % 2**64


def _dropped(values: Tensor, bits: Tensor, limit: int, scale: float) -> Tensor:
    """Keep and scale the values (models, ...) whose bits are below the limit."""
    if not values.is_cuda:
        return cpu.dropout(values, bits, limit, scale)
    mask = bits[:, : values.shape[1:].numel()].view_as(values) < limit
    return torch.mul(values, mask.to(values.dtype).mul_(scale))


class _DropoutOnGPU(torch.autograd.Function):
    """Dropout in one kernel that makes the bits, and makes them again in backward: nothing is saved."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, kept: int, draw: Draw, rows: Rows | None = None) -> Tensor:
        ctx.bits, ctx.rows = (draw.seed, draw.offset, kept), rows
        return _dropped_on_gpu(values, ctx.bits, rows)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return _dropped_on_gpu(grads[0], ctx.bits, ctx.rows), None, None, None


def _dropped_on_gpu(values: Tensor, bits: tuple[Tensor, Tensor, int], rows: Rows | None) -> Tensor:
    flat = values.reshape(len(values), values.shape[1:-1].numel(), values.shape[-1])
    dropped: Tensor = gpu_kernels().dropout(flat, bits, None if rows is None else rows.index)
    return dropped.view(values.shape)


class _DropoutOfReplicas(ReplicaRule):
    @staticmethod
    def vmap(
        info: Any, in_dims: InDims, values: Tensor, _: Tensor, kept: int, generator: ReplicaGenerator, rows: Rows | None
    ) -> tuple[Tensor, int]:
        (each,) = replicas_first(info, in_dims, values)
        if generator.on_gpu:
            return apply(_DropoutOnGPU, each, kept, generator.next_draw(), rows), 0
        n, width = each.shape[1:-1].numel(), each.shape[-1]
        bits = _bits_of_rows(n, width, each.device, generator.generators, rows)
        return apply(_Dropout, each, (bits, *_limit_and_scale(kept))), 0


class _DropoutConcatOfReplicas(ReplicaRule):
    @staticmethod
    def vmap(
        info: Any,
        in_dims: InDims,
        left: Tensor,
        right: Tensor,
        rate: float,
        generator: ReplicaGenerator,
        rows: Rows | None,
    ) -> tuple[Tensor, int]:
        kept = _kept(rate)
        draw = None if kept == _STEPS else generator.next_draw()
        return apply(_DropoutConcatOnGPU, *replicas_first(info, in_dims, left, right), kept, draw, rows), 0


class _DropoutConcatOnGPU(torch.autograd.Function):
    """One kernel each way; both gradients have the layout that sparse products want."""

    @staticmethod
    def forward(
        ctx: Any, left: Tensor, right: Tensor, kept: int, draw: Draw | None, rows: Rows | None = None
    ) -> Tensor:
        ctx.cut, ctx.bits = left.shape[2], None if draw is None else (draw.seed, draw.offset, kept)
        ctx.index = None if rows is None else rows.index
        joined: Tensor = gpu_kernels().dropout_concat(left, right, ctx.bits, ctx.index)
        return joined

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        left, right = gpu_kernels().dropout_split(grads[0], ctx.cut, ctx.bits, ctx.index)
        return left, right, None, None, None
