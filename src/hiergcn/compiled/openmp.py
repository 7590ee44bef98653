"""Kernels on the threads of torch's OpenMP library.

Those are awake between two operations of a network, where a thread of Python takes a tenth of a millisecond to wake up,
and a second set of threads would take the cores from torch's.
"""

import ctypes
import os
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from typing import Any

from hiergcn.compiled.jit import Kernel, run_over

_PROCESS = os.getpid()
_START = "GOMP_parallel"
"""The function of GNU's OpenMP library, and of LLVM's, that compilers call for a parallel region."""
_FAILED, _NEXT, _LENGTH, _STEP, _GIVEN = range(5)
"""What the threads share."""


def run_ranges(function: Callable[..., None], given: tuple[Any, ...], length: int, step: int, threads: int) -> None:
    """Call `function(*given, start, stop)` for ranges of `step` of a length, whichever thread is free, in any order."""
    if threads > 1 and length > step and isinstance(function, Kernel) and _has_openmp(os.getpid()):
        _in_parallel(function)(length, step, threads, *given)
    else:
        run_over(list(pairwise([*range(0, length, step), length])), partial(function, *given), threads)


@cache
def _has_openmp(process: int) -> bool:
    """Return whether the process has such threads. A forked one has none of those of its parent, and would wait."""
    try:
        start = getattr(ctypes.CDLL(None), _START)
    except (AttributeError, OSError, TypeError):
        return False
    from llvmlite.binding import add_symbol  # type: ignore[import-untyped]

    add_symbol(_START, ctypes.cast(start, ctypes.c_void_p).value)
    return process == _PROCESS


@cache
def _in_parallel(function: Kernel) -> Callable[..., None]:
    """Return a compiled function of length, step, threads and the kernel's own arguments."""
    names = {"kernel": function.compiled, "parallel": _parallel(), "MemoryError": MemoryError}
    return function.beside(_launch, names)


def _launch(length: int, step: int, threads: int, *given: Any) -> None:
    if parallel(kernel, given, length, step, threads):  # type: ignore[name-defined]  # noqa: F821
        raise MemoryError("There was not enough memory for a thread.")


@cache
def _parallel() -> Callable[..., Any]:
    """Return an instruction that compiled functions call: all ranges, on OpenMP's threads. It tells if any failed."""
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba.core import types
    from numba.core.cgutils import alloca_once_value, get_or_insert_function
    from numba.extending import intrinsic

    word, byte, number = ir.IntType(64), ir.IntType(8).as_pointer(), ir.IntType(32)

    def typed(typing: Any, kernel: Any, given: Any, length: Any, step: Any, threads: Any) -> Any:  # noqa: ARG001
        call = kernel.get_call_type(typing, (*given.types, types.int64, types.int64), {})

        def code(context: Any, builder: Any, _: Any, values: Any) -> Any:
            compiled = kernel.dispatcher.get_compile_result(call)
            context.add_linking_libs([compiled.library])
            shared = ir.Constant(ir.LiteralStructType([word, word, word, word, values[1].type]), ir.Undefined)
            for k, value in enumerate((word(0), word(0), values[2], values[3], values[1])):
                shared = builder.insert_value(shared, value, k)
            shared = alloca_once_value(builder, shared)  # type: ignore[no-untyped-call]
            region = _region(context, builder.module, shared.type, compiled.fndesc, call)
            start = get_or_insert_function(  # type: ignore[no-untyped-call]
                builder.module, ir.FunctionType(ir.VoidType(), [region.type, byte, number, number]), _START
            )
            threads = builder.trunc(values[4], number)
            builder.call(start, [region, builder.bitcast(shared, byte), threads, number(0)])
            return builder.load(_part(builder, shared, _FAILED))

        return types.int64(kernel, given, types.int64, types.int64, types.int64), code

    def _part(builder: Any, shared: Any, k: int) -> Any:
        return builder.gep(shared, [number(0), number(k)])

    def _region(context: Any, module: Any, shared_type: Any, kernel: Any, call: Any) -> Any:
        """Return what each thread does: take the next range and call the kernel, until none is left."""
        own = ir.FunctionType(ir.VoidType(), [byte])
        region = ir.Function(module, own, f"ranges_of_{kernel.mangled_name}")
        region.linkage = "internal"
        first, next_range, body, end = (region.append_basic_block() for _ in range(4))
        builder = ir.IRBuilder(first)
        shared = builder.bitcast(region.args[0], shared_type)
        total, size, given = (builder.load(_part(builder, shared, k)) for k in (_LENGTH, _STEP, _GIVEN))
        given = [builder.extract_value(given, k) for k in range(len(call.args) - 2)]
        builder.branch(next_range)
        builder.position_at_end(next_range)
        start = builder.atomic_rmw("add", _part(builder, shared, _NEXT), size, "monotonic")
        builder.cbranch(builder.icmp_signed("<", start, total), body, end)
        builder.position_at_end(body)
        stop = builder.add(start, size)
        stop = builder.select(builder.icmp_signed("<", stop, total), stop, total)
        status, _ = context.call_internal_no_propagate(builder, kernel, call, [*given, start, stop])
        builder.atomic_rmw("or", _part(builder, shared, _FAILED), builder.zext(status.is_error, word), "monotonic")
        builder.branch(next_range)
        builder.position_at_end(end)
        builder.ret_void()
        return region

    return intrinsic(typed)
