"""The numba decorator of all kernels, the hash that several of them use, and threads to run them on.

Kernels release the GIL and run on Python threads, each over its own range of rows, and write nothing that another range
reads or writes. So results do not depend on the number of threads, processes may fork, and compiling is quick.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import numba
import numpy as np

from hiergcn.compiled.csr import Int64s

F = TypeVar("F", bound=Callable[..., Any])
MAX_THREADS = 16
"""More threads bring little, and each needs memory of its own."""
SMALL = 1 << 20
"""Fewer rows and entries than this are left to the calling thread, since starting others would take as long."""


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


def thread_count() -> int:
    """Return the number of cores this process may use, or `NUMBA_NUM_THREADS` if the environment sets it."""
    cores: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    return min(cores, MAX_THREADS)


def even_ranges(offsets: Int64s, per_thread: int = 1) -> list[tuple[int, int]]:
    """Return ranges of rows with about as many entries each; row i has the entries offsets[i]:offsets[i + 1]."""
    rows = len(offsets) - 1
    parts = per_thread * thread_count()
    if parts == 1 or offsets[-1] + rows < SMALL:
        return [(0, rows)]
    cost = offsets + np.arange(rows + 1)  # an empty row takes time, too
    cuts = np.searchsorted(cost, np.linspace(0, cost[-1], parts + 1)[1:-1])
    edges = np.unique(np.concatenate(([0], cuts, [rows]))).tolist()
    return list(pairwise(edges))


def run_over(ranges: list[tuple[int, int]], work: Callable[[int, int], None]) -> None:
    """Call `work(start, stop)` for every range, on `thread_count()` threads."""
    if len(ranges) <= 1 or thread_count() == 1:
        for start, stop in ranges:
            work(start, stop)
        return
    with ThreadPoolExecutor(thread_count()) as pool:
        for done in [pool.submit(work, start, stop) for start, stop in ranges]:
            done.result()
