"""Activation checkpointing: what a layer makes is not kept for the backward pass, but made again when it comes.

Chen et al., Training Deep Nets with Sublinear Memory Cost (2016). Dropout draws the same again: the generator is put
back to where it was for the time of the second pass.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint


def recomputed(layer: Callable[..., Tensor], generator: torch.Generator | None, *inputs: Any) -> Tensor:
    """`layer(*inputs)`, of which the inputs alone are kept. All that it draws comes from the generator."""
    made: Tensor
    if generator is None:  # then draws are torch's own, which torch puts back itself
        made = checkpoint(layer, *inputs, use_reentrant=False)
        return made
    before = generator.get_state()
    passes = 0

    def run(*inputs: Any) -> Tensor:
        nonlocal passes
        passes += 1
        if passes == 1:
            return layer(*inputs)
        now = generator.get_state()
        generator.set_state(before)
        try:
            return layer(*inputs)
        finally:
            generator.set_state(now)

    made = checkpoint(run, *inputs, use_reentrant=False, preserve_rng_state=False)
    return made
