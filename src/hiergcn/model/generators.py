"""Bridges from a generator that is handed in to libraries that draw from elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def drawing_from(generator: torch.Generator) -> Iterator[None]:
    """Inside, torch's global draws follow from the generator; outside, the global state is as it was before."""
    seed = drawn_seed(generator)
    devices = [generator.device] if generator.device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        yield


def numpy_generator(generator: torch.Generator) -> np.random.Generator:
    """A generator of numpy that follows from torch's, for sampling that is done outside of torch."""
    return np.random.default_rng(drawn_seed(generator))


def drawn_seed(generator: torch.Generator) -> int:
    return int(torch.randint(2**62, (), generator=generator, device=generator.device, dtype=torch.int64))
