"""How loops over nodes and edges are compiled."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` when first called, and keep the machine code on disk where a cache folder can be written.

    Inner loops make their positions unsigned, so that numba need not ask each time whether one counts from the end.
    """
    try:
        return numba.njit(function, nogil=True, cache=True)  # type: ignore[no-any-return]
    except RuntimeError:  # no folder that numba could cache in: compile once per process
        return numba.njit(function, nogil=True)  # type: ignore[no-any-return]
