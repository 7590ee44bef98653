"""Where dropout gets its random bits from: a generator that is handed in, or one for each of several replicas.

Our kernel for a GPU makes its bits itself, and does it as torch's own kernels do: what they draw follows from the seed
of a generator and an offset, which each draw moves on. So the bits of a draw can be made again, those of many replicas
are made at once, and a generator that is put back to an earlier state draws the same, whoever draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from hiergcn.model.ops.gpu import gpu_kernels

_STEP = 4  # by which a draw moves the offset: torch counts the words of 32 bits that a thread takes


@dataclass(frozen=True, eq=False)
class Draw:
    """What the bits of a draw follow from, on a GPU."""

    seed: Tensor  # (models,)
    offset: Tensor  # (models,)


def next_draw(generator: torch.Generator) -> Draw:
    """The generator's, which moves on."""
    draw = _upcoming(generator)
    generator.set_offset(generator.get_offset() + _STEP)
    return draw


def _upcoming(generator: torch.Generator) -> Draw:
    seed = (generator.initial_seed() + 2**63) % 2**64 - 2**63  # the same 64 bits, with a sign
    return Draw(*(torch.full((1,), number, device=generator.device) for number in (seed, generator.get_offset())))


class ReplicaNoise:
    """A generator for each of several replicas that train side by side: each draws what it would draw alone.

    `replica` is set inside of `torch.vmap` to something that differs between replicas; it is how torch learns that
    entries dropped from shared values differ too.

    On a GPU with our kernel the offsets lie there and torch draws nothing: whenever a step that is recorded is played,
    it moves them on.
    """

    def __init__(self, generators: Sequence[torch.Generator]) -> None:
        self.replica = torch.empty(0)
        self.on_gpu = gpu_kernels() is not None and any(generator.device.type == "cuda" for generator in generators)
        self.generators = () if self.on_gpu else tuple(generators)
        """Those that torch draws from."""
        if self.on_gpu:
            draws = [_upcoming(generator) for generator in generators]
            self.seed = torch.cat([draw.seed for draw in draws])
            self.offset = torch.cat([draw.offset for draw in draws])

    def next_draw(self) -> Draw:
        """Of all replicas, on a GPU."""
        draw = Draw(self.seed, self.offset.clone())
        self.offset += _STEP
        return draw


Noise = torch.Generator | ReplicaNoise | None
