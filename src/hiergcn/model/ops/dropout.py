"""Dropout from a given generator, so that nothing depends on global state.

Every draw is a `Mask`: 16 random bits for each entry, which follow from a seed. So the backward pass makes the bits
again instead of keeping them, a kernel makes them while it reads the entries, and a generator that is set back to an
earlier state repeats its draws. On a CPU the generator draws the seed; on a GPU the bits follow from its own seed and
an offset, which each draw increases, as in torch's own kernels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from hiergcn.model.ops import cpu, gpu_kernels, triton_kernels
from hiergcn.model.ops.replicas import apply, concat_columns, on_replicas

_STEPS = 2**16  # rates are exact to 1 / 65536
_OFFSET_STEP = 4  # offsets per draw: torch counts the 32-bit words that a thread takes


@dataclass(frozen=True, eq=False)
class RowSubset:
    """Some rows of a matrix. They have the same random bits as among all rows."""

    index: Tensor  # (m,), ascending
    total: int  # rows of the whole matrix


@dataclass(frozen=True, eq=False)
class Mask:
    """A draw of dropout: an entry stays if its bits, a 16-bit integer, are below `limit`, and is multiplied by `scale`.

    The bits follow from seeds on a CPU, from seeds and offsets in the kernels of a GPU; else they are drawn in advance.
    There is one seed for each model. Tensors of several models have them on their first axis.
    """

    kept: int  # of 2^16 values
    entries: int  # of one model
    seeds: tuple[int, ...] = ()
    draw: tuple[Tensor, Tensor] | None = None  # seed and offset, (models,)
    bits: Tensor | None = None  # (models, entries or a few more), int16
    rows: RowSubset | None = None  # the values are some rows of a matrix

    @property
    def limit(self) -> int:
        return self.kept - _STEPS // 2

    @property
    def scale(self) -> float:
        return _STEPS / self.kept

    @cached_property
    def cpu_bits(self) -> Tensor:
        """The bits for one model on a CPU, (entries or a few more,), for kernels that read them several times."""
        return cpu.random_bits(self.seeds[0], self.entries)

    def dropped(self, values: Tensor) -> Tensor:
        """Return the values, (models, ..., d), or (..., d) for one model, with dropout."""
        if not values.numel():
            return values.clone()
        source = self.seeds or (self.draw[0] if self.draw else self.bits)
        assert source is not None
        models, width = len(source), values.shape[-1]
        flat = values.reshape(models, values.numel() // (models * width), width)
        if self.draw is not None:
            made: Tensor = triton_kernels().dropout(flat, *self._for_kernels)
            return made.view(values.shape)
        if self.bits is None:
            none, made = flat[0, :, :0], torch.empty(flat.shape, dtype=values.dtype)
            for each, seed, out in zip(flat, self.seeds, made, strict=True):
                cpu.dropout_concat(each, none, self._index, seed, self.limit, self.scale, out)
            return made.view(values.shape)
        bits = self.bits[:, : flat[0].numel()].view(flat.shape)
        if self.rows is not None:
            bits = self.bits[:, : self.rows.total * width].view(models, -1, width).index_select(1, self.rows.index)
        return flat.mul((bits < self.limit).to(values.dtype).mul_(self.scale)).view(values.shape)

    def concat(self, left: Tensor, right: Tensor) -> Tensor:
        """Return [left ‖ right] with dropout: of one model on a CPU, or of replicas by the kernels of a GPU."""
        if self.seeds:
            return cpu.dropout_concat(left, right, self._index, self.seeds[0], self.limit, self.scale)
        joined: Tensor = triton_kernels().dropout_concat(left, right, *self._for_kernels)
        return joined

    def split(self, values: Tensor, columns: int) -> tuple[Tensor, Tensor]:
        """Return the first columns of the values with dropout, and the others: the gradients of `concat`."""
        if self.seeds:
            dropped = self.dropped(values)
            return dropped[:, :columns], dropped[:, columns:]
        left, right = triton_kernels().dropout_split(values, columns, *self._for_kernels)
        return left, right

    @property
    def _index(self) -> Tensor | None:
        return None if self.rows is None else self.rows.index

    @property
    def _for_kernels(self) -> tuple[tuple[Tensor, Tensor, int] | None, Tensor | None]:
        return None if self.draw is None else (*self.draw, self.kept), self._index


class ReplicaGenerator:
    """One generator per replica: each replica draws the same random numbers as alone.

    `replica` must be set inside `vmap` to a tensor that differs between replicas. It tells torch that dropout on shared
    values differs too.

    With the GPU kernel the offsets are a tensor on the GPU, which every replay of a CUDA graph advances.
    """

    def __init__(self, generators: Sequence[torch.Generator]) -> None:
        self.replica = torch.empty(0)
        self.on_gpu = gpu_kernels() is not None and any(generator.device.type == "cuda" for generator in generators)
        self.generators = () if self.on_gpu else tuple(generators)
        """The generators that torch draws from."""
        if self.on_gpu:
            self.seed, self.offset = map(torch.cat, zip(*map(_seed_and_offset, generators), strict=True))


AnyGenerator = torch.Generator | ReplicaGenerator | None


def draw_mask(
    rate: float, shape: Sequence[int], device: torch.device, generator: AnyGenerator, rows: RowSubset | None = None
) -> Mask | None:
    """Draw the mask of values of this shape, or of one per replica; None if the rate is too small to tell from 0."""
    kept = _kept(rate)
    if kept == _STEPS:
        return None
    entries = torch.Size(shape).numel() if rows is None else rows.total * shape[-1]
    replicas = isinstance(generator, ReplicaGenerator)
    if isinstance(generator, ReplicaGenerator) and generator.on_gpu:
        draw = generator.seed, generator.offset.clone()
        generator.offset += _OFFSET_STEP
        return Mask(kept, entries, draw=draw, rows=rows)
    generators = generator.generators if isinstance(generator, ReplicaGenerator) else (generator,)
    if device.type == "cpu":
        seeds = (int(torch.empty((), dtype=torch.int64).random_(-(2**63), None, generator=each)) for each in generators)
        return Mask(kept, entries, tuple(seed % 2**64 for seed in seeds), rows=rows)
    if gpu_kernels() and not replicas:
        alone = generators[0] or torch.cuda.default_generators[device.index or 0]
        draw = _seed_and_offset(alone)
        alone.set_offset(alone.get_offset() + _OFFSET_STEP)
        return Mask(kept, entries, draw=draw, rows=rows)
    words = torch.empty((len(generators), -(-entries // 4)), dtype=torch.int64, device=device)  # four entries in each
    for row, each in zip(words, generators, strict=True):
        row.random_(-(2**63), None, generator=each)
    return Mask(kept, entries, bits=words.view(torch.int16), rows=rows)


def _kept(rate: float) -> int:
    """Return how many of 2^16 values the rate keeps, at least one."""
    return max(round((1.0 - rate) * _STEPS), 1)


def _seed_and_offset(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    seed = (generator.initial_seed() + 2**63) % 2**64 - 2**63  # the same 64 bits, with a sign
    of_seed, of_offset = (torch.full((1,), n, device=generator.device) for n in (seed, generator.get_offset()))
    return of_seed, of_offset


def dropout(values: Tensor, rate: float, generator: AnyGenerator = None, rows: RowSubset | None = None) -> Tensor:
    """Zero each entry with probability `rate` and scale the others by 1 / (1 - rate).

    Replicas may have some `rows` of a matrix, (m, d).
    """
    if isinstance(generator, ReplicaGenerator) and _kept(rate) < _STEPS:

        def drop(each: Tensor, _: Tensor) -> Tensor:
            return apply(Dropout, each, draw_mask(rate, each.shape[1:], each.device, generator, rows))

        return on_replicas(drop, values, generator.replica)
    mask = draw_mask(rate, values.shape, values.device, generator, rows)
    return values if mask is None else apply(Dropout, values, mask)


class Dropout(torch.autograd.Function):
    """Dropout on values (models, ..., d) by a mask."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, mask: Mask) -> Tensor:
        ctx.mask = mask
        return mask.dropped(values)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return ctx.mask.dropped(grads[0]), None


def dropout_concat(
    left: Tensor, right: Tensor, rate: float, generator: AnyGenerator = None, rows: RowSubset | None = None
) -> Tensor:
    """Return [left ‖ right] with dropout; (n, d) (n, e) -> (n, d + e)."""
    if not isinstance(generator, ReplicaGenerator) or not generator.on_gpu:
        return dropout(concat_columns(left, right), rate, generator, rows)

    def join(left: Tensor, right: Tensor) -> Tensor:
        mask = draw_mask(rate, left.shape, left.device, generator, rows)
        return apply(DropoutConcat, left, right, mask or Mask(_STEPS, 0, rows=rows))  # without dropout, it joins alone

    return on_replicas(join, left, right)


class DropoutConcat(torch.autograd.Function):
    """[left ‖ right] of replicas with dropout. One kernel each way; gradients have the layout of sparse products."""

    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, mask: Mask) -> Tensor:
        ctx.columns, ctx.mask = left.shape[2], mask
        return mask.concat(left, right)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        return *ctx.mask.split(grads[0], ctx.columns), None
