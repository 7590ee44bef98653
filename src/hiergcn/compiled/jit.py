"""The numba decorator of all kernels, and the hash that several of them use."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` when it is first called, and cache the machine code on disk if possible.

    Inner loops use unsigned indices, so that numba need not check each time whether one counts from the end.
    """
    try:
        return numba.njit(function, nogil=True, cache=True)  # type: ignore[no-any-return]
    except RuntimeError:  # numba has no folder to cache in: compile once per process
        return numba.njit(function, nogil=True)  # type: ignore[no-any-return]


@kernel
def mix(x: np.uint64) -> np.uint64:
    """Return the finaliser of splitmix64: a bijection of the 64-bit integers that spreads every bit."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
