"""Sixteen floats as one value, which compiled kernels keep in the processor's registers.

A loop that adds rows of floats reads and writes the sum in memory for every row. A value of sixteen floats stays in one
or two registers instead, and the processor works on all of them at once.
"""

from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

from hiergcn.compiled.jit import Kernel

FLOATS = 16


class _Instruction(Kernel):
    """A function that compiled kernels call for a few instructions; there is no plain version."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, None)

    @cached_property
    def compiled(self) -> Callable[..., Any]:
        return _instructions()[self.function.__name__]


@_Instruction
def load(rows: Any, i: Any, k: Any) -> Any:
    """Return the floats k to k + 15 of row i."""


@_Instruction
def store(rows: Any, i: Any, k: Any, value: Any) -> Any:
    """Write the floats k to k + 15 of row i."""


@_Instruction
def splat(number: Any) -> Any:
    """Return sixteen times the same float."""


@_Instruction
def add_product(total: Any, a: Any, b: Any) -> Any:
    """Return total + a b, rounded twice, as everywhere else."""


@_Instruction
def multiply_add(total: Any, a: Any, b: Any) -> Any:
    """Return total + a b, rounded once if the processor can do so."""


@cache
def _instructions() -> dict[str, Callable[..., Any]]:
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba.core import types
    from numba.core.cgutils import get_item_pointer
    from numba.extending import intrinsic, models, register_model
    from numba.np.arrayobj import make_array

    vector, number_type = ir.VectorType(ir.FloatType(), FLOATS), ir.IntType(32)

    class Vector(types.Type):
        """Its type in numba."""

    @register_model(Vector)
    class _Model(models.PrimitiveModel):
        def __init__(self, manager: Any, kind: Any) -> None:
            super().__init__(manager, kind, vector)  # type: ignore[no-untyped-call]

    def pointer(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        kind = signature.args[0]
        array = make_array(kind)(context, builder, given[0])  # type: ignore[no-untyped-call]
        at = [context.cast(builder, given[n], signature.args[n], types.intp) for n in (1, 2)]
        item = get_item_pointer(context, builder, kind, array, at)  # type: ignore[no-untyped-call]
        return builder.bitcast(item, vector.as_pointer())

    def load(_: Any, rows: Any, i: Any, k: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            return builder.load(pointer(context, builder, signature, given), align=4)

        return floats(rows, i, k), code

    def store(_: Any, rows: Any, i: Any, k: Any, value: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            builder.store(given[3], pointer(context, builder, signature, given), align=4)
            return context.get_dummy_value()

        return types.void(rows, i, k, value), code

    def splat(_: Any, number: Any) -> Any:  # noqa: ARG001
        def code(_: Any, builder: Any, __: Any, given: Any) -> Any:
            none = ir.Constant(vector, ir.Undefined)
            first = builder.insert_element(none, given[0], ir.Constant(number_type, 0))
            return builder.shuffle_vector(first, none, ir.Constant(ir.VectorType(number_type, FLOATS), [0] * FLOATS))

        return floats(types.float32), code

    def add_product(_: Any, total: Any, a: Any, b: Any) -> Any:
        def code(_: Any, builder: Any, __: Any, given: Any) -> Any:
            return builder.fadd(given[0], builder.fmul(given[1], given[2]))

        return floats(total, a, b), code

    def multiply_add(_: Any, total: Any, a: Any, b: Any) -> Any:
        def code(_: Any, builder: Any, __: Any, given: Any) -> Any:
            product = builder.fmul(given[1], given[2], flags=("contract",))
            return builder.fadd(given[0], product, flags=("contract",))

        return floats(total, a, b), code

    floats = Vector("sixteen floats")
    return {one.__name__: intrinsic(one) for one in (load, store, splat, add_product, multiply_add)}
