"""Kernels on the threads of torch's OpenMP library.

Those are awake between two operations of a network, where a thread of Python takes a tenth of a millisecond to wake up,
and a second set of threads would take the cores from torch's.

Each thread begins with its own share of the rows, about the same in every kernel and in torch's operations, whose data
are in its core's caches. On a processor of several parts, data of another part's cores are as far away as memory.
"""

import ctypes
import os
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from hiergcn.compiled.jit import Kernel, once, run_over

_PROCESS = os.getpid()
_START, _NUMBER = "GOMP_parallel", "omp_get_thread_num"
"""Functions of GNU's OpenMP library, and of LLVM's. Compilers call the first for a parallel region."""
_LINE = 8
"""Words of a cache line."""


def run_ranges(function: Callable[..., None], given: tuple[Any, ...], length: int, step: int, threads: int) -> None:
    """Call `function(*given, start, stop)` for ranges of `step` of a length, in any order."""
    if threads > 1 and length > step and isinstance(function, Kernel) and _has_openmp(os.getpid()):
        _in_parallel(function)(length, step, threads, *given)
    else:
        run_over(list(pairwise([*range(0, length, step), length])), partial(function, *given), threads)


@cache
def _has_openmp(process: int) -> bool:
    """Return whether the process has such threads. A forked one has none of those of its parent, and would wait."""
    try:
        library = ctypes.CDLL(None)
        addresses = {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in (_START, _NUMBER)}
    except (AttributeError, OSError, TypeError):
        return False
    from llvmlite.binding import add_symbol  # type: ignore[import-untyped]

    for name, address in addresses.items():
        add_symbol(name, address)
    return process == _PROCESS


@cache
def _in_parallel(function: Kernel) -> Callable[..., None]:
    """Return a compiled function of length, step, threads and the kernel's own arguments."""
    on_each_thread, next_of = _instructions()
    share = function.beside(_share, {"kernel": function.compiled, "next_of": next_of}, inner=True)
    names = {"np": np, "LINE": _LINE, "share": share, "on_each_thread": on_each_thread, "MemoryError": MemoryError}
    return function.beside(_launch, names)


# The names that these two functions do not define are those above: numba compiles both for each kernel.


def _launch(length: int, step: int, threads: int, *given: Any) -> None:
    turns = np.empty((threads, LINE), np.int64)  # type: ignore[name-defined]  # noqa: F821
    for thread in range(threads):
        turns[thread, 0] = thread * -(-length // step) // threads
    if on_each_thread(share, (turns, length, step, given), threads):  # type: ignore[name-defined]  # noqa: F821
        raise MemoryError("A kernel failed on one of several threads, as if for want of memory; on one it tells why.")


def _share(turns: npt.NDArray[np.int64], length: int, step: int, given: tuple[Any, ...], thread: int) -> None:
    """Do the ranges of the thread, then those that others have not begun."""
    threads = len(turns)
    for k in range(threads):
        owner = (thread + k) % threads
        last = (owner + 1) * -(-length // step) // threads
        turn = next_of(turns, owner)  # type: ignore[name-defined]  # noqa: F821
        while turn < last:
            kernel(*given, turn * step, min((turn + 1) * step, length))  # type: ignore[name-defined]  # noqa: F821
            turn = next_of(turns, owner)  # type: ignore[name-defined]  # noqa: F821


@once
def _instructions() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return `on_each_thread(function, given, threads)` and `next_of(turns, thread)` for compiled functions.

    The first calls `function(*given, thread)` on OpenMP's threads at once, and tells if a call failed. The second
    returns the first number of a row of integers, and adds one to it: no two threads get the same.
    """
    import numba  # noqa: F401  # first and whole: another thread may be in the middle of it
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba.core import types
    from numba.core.cgutils import alloca_once_value, get_item_pointer, get_or_insert_function
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array

    word, byte, number = ir.IntType(64), ir.IntType(8).as_pointer(), ir.IntType(32)

    def on_each_thread(typing: Any, function: Any, given: Any, threads: Any) -> Any:  # noqa: ARG001
        call = function.get_call_type(typing, (*given.types, types.int64), {})

        def code(context: Any, builder: Any, _: Any, values: Any) -> Any:
            compiled = function.dispatcher.get_compile_result(call)
            context.add_linking_libs([compiled.library])
            shared = ir.Constant(ir.LiteralStructType([word, values[1].type]), ir.Undefined)
            shared = builder.insert_value(shared, word(0), 0)
            shared = alloca_once_value(builder, builder.insert_value(shared, values[1], 1))  # type: ignore[no-untyped-call]
            region = region_of(context, builder.module, shared.type, compiled.fndesc, call)
            start = declared(builder.module, _START, ir.VoidType(), [region.type, byte, number, number])
            several = builder.trunc(values[2], number)
            builder.call(start, [region, builder.bitcast(shared, byte), several, number(0)])
            return builder.load(builder.gep(shared, [number(0), number(0)]))

        return types.int64(function, given, types.int64), code

    def region_of(context: Any, module: Any, shared_type: Any, function: Any, call: Any) -> Any:
        """Return what each thread runs: it reads what is shared, `given` and whether a call failed."""
        region = ir.Function(module, ir.FunctionType(ir.VoidType(), [byte]), f"region_of_{function.mangled_name}")
        region.linkage = "internal"
        builder = ir.IRBuilder(region.append_basic_block())
        shared = builder.bitcast(region.args[0], shared_type)
        failed, given = (builder.gep(shared, [number(0), number(k)]) for k in range(2))
        given = builder.load(given)
        given = [builder.extract_value(given, k) for k in range(len(call.args) - 1)]
        thread = builder.call(declared(module, _NUMBER, number, []), [])
        status, _ = context.call_internal_no_propagate(builder, function, call, [*given, builder.zext(thread, word)])
        builder.atomic_rmw("or", failed, builder.zext(status.is_error, word), "monotonic")
        builder.ret_void()
        return region

    def declared(module: Any, name: str, result: Any, arguments: list[Any]) -> Any:
        return get_or_insert_function(module, ir.FunctionType(result, arguments), name)  # type: ignore[no-untyped-call]

    def next_of(typing: Any, turns: Any, thread: Any) -> Any:  # noqa: ARG001
        def code(context: Any, builder: Any, _: Any, values: Any) -> Any:
            own = make_array(turns)(context, builder, values[0])  # type: ignore[no-untyped-call]
            place = get_item_pointer(context, builder, turns, own, [values[1], word(0)])  # type: ignore[no-untyped-call]
            return builder.atomic_rmw("add", place, word(1), "monotonic")

        return types.int64(turns, types.int64), code

    return intrinsic(on_each_thread), intrinsic(next_of)
