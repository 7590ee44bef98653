"""Dropout that draws from a generator that is handed in, so that nothing depends on global state."""

import torch
from torch import Tensor


def dropout(values: Tensor, rate: float, generator: torch.Generator | None = None) -> Tensor:
    """Zero each entry with probability `rate` and scale the others by 1 / (1 - rate)."""
    if rate == 0.0:
        return values
    mask = torch.empty_like(values).bernoulli_(1.0 - rate, generator=generator)
    return values * mask.mul_(1.0 / (1.0 - rate))
