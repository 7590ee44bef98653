"""The numba decorator of all kernels."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` when it is first called, and cache the machine code on disk if possible.

    Inner loops use unsigned indices, so that numba need not check each time whether one counts from the end.
    """
    try:
        return numba.njit(function, nogil=True, cache=True)  # type: ignore[no-any-return]
    except RuntimeError:  # numba has no folder to cache in: compile once per process
        return numba.njit(function, nogil=True)  # type: ignore[no-any-return]
