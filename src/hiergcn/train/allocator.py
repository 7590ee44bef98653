"""Reuse of freed memory during training.

Every step allocates and frees the same tensors. The C library of Linux returns large ones to the system at once, which
clears their pages again for the next step. On Pubmed that takes a tenth of a step.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4  # parameters of mallopt, in malloc.h
_AFTERWARDS = {_TRIM_THRESHOLD: 2**26, _MMAP_THRESHOLD: 2**25, _MMAP_MAX: 2**16}  # what glibc arrives at by itself


@contextmanager
def kept_memory() -> Iterator[None]:
    """Keep freed memory in the process, and return it to the system at the end. Does nothing without glibc."""
    library = _glibc()
    if library is None:
        yield
        return
    library.mallopt(_MMAP_MAX, 0)
    library.mallopt(_TRIM_THRESHOLD, -1)
    try:
        yield
    finally:
        for parameter, value in _AFTERWARDS.items():
            library.mallopt(parameter, value)
        library.malloc_trim(0)


@cache
def _glibc() -> Any:
    try:
        library = ctypes.CDLL("libc.so.6")
        return library if library.mallopt and library.malloc_trim else None
    except (OSError, AttributeError):
        return None
