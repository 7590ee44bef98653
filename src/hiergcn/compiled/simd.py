"""Instructions of the processor for compiled kernels: sixteen floats as one value, and prefetching.

A loop that adds rows of floats reads and writes the sum in memory for every row. A value of sixteen floats stays in one
or two registers instead, and the processor works on all of them at once. Only this file knows numba's and LLVM's types.
"""

from collections.abc import Callable
from functools import cache, cached_property
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt

from hiergcn.compiled.csr import Rows
from hiergcn.compiled.jit import Kernel, kernel

FLOATS = 16
AHEAD = 4
"""Nodes between a prefetch and its use, at least."""
CACHED = 1 << 18
"""Graphs up to this size fit into a core's cache, so prefetching would only cost time."""

_LOCK = RLock()


class _Instruction(Kernel):
    """A function that compiled kernels call for a few instructions. In plain Python, `prefetch` does nothing."""

    def __init__(self, name: str) -> None:
        super().__init__(lambda *_: None, None)
        self.name = name

    @cached_property
    def compiled(self) -> Callable[..., Any]:
        with _LOCK:  # all threads get the same
            return _instructions()[self.name]


load = _Instruction("load")  # (rows, i, k): the floats k to k + 15 of row i
store = _Instruction("store")  # (rows, i, k, value): write them
splat = _Instruction("splat")  # (number): sixteen times the same float
add_product = _Instruction("add_product")  # (total, a, b): total + a b, rounded twice, as everywhere else
multiply_add = _Instruction("multiply_add")  # the same, rounded once if the processor can do so
prefetch = _Instruction("prefetch")  # (array, i): fetch array[i], to be read soon; i is inside the array and unsigned


@kernel(plain=None)
def prefetch_row(rows: Rows, i: Any) -> None:
    """Fetch the neighbours of node i and the weights of their edges."""
    for p in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)]), np.uint64(8)):  # 64 bytes
        prefetch(rows.indices, p)
        prefetch(rows.data, p)


@kernel(plain=None)
def prefetch_neighbours(rows: Rows, i: Any, values: npt.NDArray[Any]) -> None:
    """Fetch the values of all neighbours of node i."""
    for p in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)])):
        prefetch(values, np.uint32(rows.indices[p]))


@cache
def _instructions() -> dict[str, Callable[..., Any]]:
    import numba  # noqa: F401  # first and whole: another thread may be in the middle of it
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba.core import types
    from numba.core.cgutils import get_item_pointer, get_or_insert_function
    from numba.core.errors import TypingError
    from numba.extending import intrinsic, models, register_model
    from numba.np.arrayobj import make_array

    vector, word, byte = ir.VectorType(ir.FloatType(), FLOATS), ir.IntType(32), ir.IntType(8)

    class Vector(types.Type):
        """Its type in numba."""

    @register_model(Vector)
    class _Model(models.PrimitiveModel):
        def __init__(self, manager: Any, kind: Any) -> None:
            super().__init__(manager, kind, vector)  # type: ignore[no-untyped-call]

    def pointer(context: Any, builder: Any, signature: Any, given: Any, target: Any) -> Any:
        """Return the place of an array's entry: the array is given first, then its indices."""
        kind = signature.args[0]
        array = make_array(kind)(context, builder, given[0])  # type: ignore[no-untyped-call]
        at = [context.cast(builder, given[n], signature.args[n], types.intp) for n in range(1, kind.ndim + 1)]
        item = get_item_pointer(context, builder, kind, array, at)  # type: ignore[no-untyped-call]
        return builder.bitcast(item, target.as_pointer())

    def check(rows: Any) -> None:
        if (rows.dtype, rows.ndim, rows.layout) != (types.float32, 2, "C"):
            raise TypingError(f"Rows of sixteen floats are in matrices of float32 whose rows are whole, not in {rows}.")

    def load(_: Any, rows: Any, i: Any, k: Any) -> Any:
        check(rows)

        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            return builder.load(pointer(context, builder, signature, given, vector), align=4)

        return floats(rows, i, k), code

    def store(_: Any, rows: Any, i: Any, k: Any, value: Any) -> Any:
        check(rows)

        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            builder.store(given[3], pointer(context, builder, signature, given, vector), align=4)
            return context.get_dummy_value()

        return types.void(rows, i, k, value), code

    def splat(_: Any, number: Any) -> Any:  # noqa: ARG001
        def code(_: Any, builder: Any, __: Any, given: Any) -> Any:
            none = ir.Constant(vector, ir.Undefined)
            first = builder.insert_element(none, given[0], ir.Constant(word, 0))
            return builder.shuffle_vector(first, none, ir.Constant(ir.VectorType(word, FLOATS), [0] * FLOATS))

        return floats(types.float32), code

    def add_product(_: Any, total: Any, a: Any, b: Any) -> Any:
        return floats(total, a, b), lambda _, llvm, __, given: llvm.fadd(given[0], llvm.fmul(given[1], given[2]))

    def multiply_add(_: Any, total: Any, a: Any, b: Any) -> Any:
        def code(_: Any, builder: Any, __: Any, given: Any) -> Any:
            product = builder.fmul(given[1], given[2], flags=("contract",))
            return builder.fadd(given[0], product, flags=("contract",))

        return floats(total, a, b), code

    def prefetch(_: Any, array: Any, i: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> None:
            kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), word, word, word])
            fetch = get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")  # type: ignore[no-untyped-call]
            builder.call(fetch, [pointer(context, builder, signature, given, byte), word(0), word(3), word(1)])

        return types.void(array, i), code

    floats = Vector("sixteen floats")
    return {f.__name__: intrinsic(f) for f in (load, store, splat, add_product, multiply_add, prefetch)}
