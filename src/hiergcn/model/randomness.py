"""A bridge for layers of other libraries, which draw from torch's global generator."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def drawing_from(generator: torch.Generator) -> Iterator[None]:
    """Inside, torch's global draws follow from the generator; outside, the global state is as it was before."""
    seed = int(torch.randint(2**62, (), generator=generator, device=generator.device, dtype=torch.int64))
    devices = [generator.device] if generator.device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        yield
