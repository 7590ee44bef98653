"""Kernels: loops that run as plain Python on small graphs and that numba compiles for larger ones.

Compiled kernels release the GIL and run on threads, each over its own range of rows, and write nothing that
another range reads or writes. So results do not depend on the number of threads, processes may fork, and compiling is
quick.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property, partial, update_wrapper
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, overload

import numpy as np

from hiergcn.compiled.csr import Int64s

F = TypeVar("F", bound=Callable[..., Any])
PLAIN = 100_000
"""Entries that a kernel goes through as plain Python before it is compiled. That takes a tenth of a second; to compile
takes longer, and so does loading numba with the machine code of an earlier run."""
MAX_THREADS = 16
"""More threads gain little, and each needs its own memory."""
SMALL = 1 << 20
"""Fewer rows and entries than this stay on the calling thread, since starting others would take as long."""


class Kernel:
    """A function of arrays and numbers that gives the same bits as plain Python and compiled.

    Inner loops use unsigned indices, so that numba need not check each time whether one counts from the end. Sums
    begin with a float64 and add float64s: Python would otherwise add in the type of the array.

    Args:
        plain: entries that it goes through as plain Python; 0 if its time is not linear in the entries of its arrays,
            None if only other kernels call it: it is compiled with them.
    """

    def __init__(self, function: Callable[..., Any], plain: int | None) -> None:
        update_wrapper(self, function)
        self.function, self.plain = function, plain

    def __call__(self, *given: Any) -> Any:
        if self.plain is None:
            return self.function(*given)
        if self.plain > 0:
            self.plain -= 1 + _entries(given)
        if self.plain <= 0:
            return self.compiled(*given)
        with np.errstate(over="ignore"):  # hashes overflow on purpose
            return self.function(*given)

    @cached_property
    def compiled(self) -> Callable[..., Any]:
        """The function, compiled when it is first called; the machine code is cached on disk if possible.

        That of a function which only other kernels call is part of theirs. Numba looks at a function's own file alone:
        the name tells versions of all files apart.
        """
        import numba

        plain, called = self.function, {name: kernel.compiled for name, kernel in self.called.items()}
        function = update_wrapper(FunctionType(plain.__code__, plain.__globals__ | called, plain.__name__), plain)
        digest = sha256(b"".join(map(_content, sorted(self.files)))).hexdigest()[:8]
        function.__qualname__ += f"_{digest}"
        inner = self.plain is None
        options: Any = {"nogil": True, "forceinline": inner, "no_cpython_wrapper": inner, "no_cfunc_wrapper": True}
        try:
            compiled: Callable[..., Any] = numba.njit(cache=not inner, **options)(function)
        except RuntimeError:  # numba has no folder to cache in: compile once per process
            compiled = numba.njit(**options)(function)
        return compiled

    @property
    def files(self) -> frozenset[str]:
        """The files that its machine code is made of: its own and those of all that it calls."""
        files = frozenset({__file__, self.function.__code__.co_filename})
        return files.union(*(kernel.files for kernel in self.called.values()))

    @property
    def called(self) -> dict[str, "Kernel"]:
        """The kernels that it calls, by the name that it gives them."""
        values = {name: self.function.__globals__.get(name) for name in self.function.__code__.co_names}
        return {name: value for name, value in values.items() if isinstance(value, Kernel)}


@cache
def _content(file: str) -> bytes:
    return Path(file).read_bytes() if Path(file).exists() else b""


def _entries(given: Iterable[Any]) -> int:
    return sum(_entries(value) if isinstance(value, tuple) else np.size(value) for value in given)


@overload
def kernel(function: F) -> F: ...
@overload
def kernel(*, plain: int | None) -> Callable[[F], F]: ...
def kernel(function: Any = None, *, plain: int | None = PLAIN) -> Any:
    """Make a `Kernel` of a function."""
    return partial(Kernel, plain=plain) if function is None else Kernel(function, plain)


@kernel
def mix(x: np.uint64) -> np.uint64:
    """Return the finaliser of splitmix64: a bijection of the 64-bit integers that spreads every bit."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def thread_count() -> int:
    """Return the number of cores this process may use, or `NUMBA_NUM_THREADS` if the environment sets it."""
    import numba

    cores: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    return min(cores, MAX_THREADS)


def even_ranges(offsets: Int64s) -> list[tuple[int, int]]:
    """Return ranges of rows with about as many entries each; row i has the entries offsets[i]:offsets[i + 1]."""
    rows = len(offsets) - 1
    if offsets[-1] + rows < SMALL or (parts := thread_count()) == 1:
        return [(0, rows)]
    cost = offsets + np.arange(rows + 1)  # an empty row takes time, too
    cuts = np.searchsorted(cost, np.linspace(0, cost[-1], parts + 1)[1:-1])
    edges = np.unique(np.concatenate(([0], cuts, [rows]))).tolist()
    return list(pairwise(edges))


def run_over(ranges: list[tuple[int, int]], work: Callable[[int, int], None], threads: int | None = None) -> None:
    """Call `work(start, stop)` for every range, by default on `thread_count()` threads."""
    if threads is None:
        threads = 1 if len(ranges) <= 1 else thread_count()  # which imports numba
    threads = min(threads, len(ranges))
    remaining = iter(ranges)

    def take_turns() -> None:
        for start, stop in remaining:
            work(start, stop)

    others = [_pool(os.getpid(), threads).submit(take_turns) for _ in range(threads - 1)]
    take_turns()
    for other in others:
        if not other.cancel():  # a thread that came too late for any range need not start
            other.result()


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:  # noqa: ARG001
    """Return threads that are kept; a forked process has none of those of its parent."""
    return ThreadPoolExecutor(threads - 1)
