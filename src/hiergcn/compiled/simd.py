"""Sixteen floats as one value, which compiled kernels keep in the processor's registers.

A loop that adds rows of floats reads and writes the sum in memory for every row. A value of sixteen floats stays in one
or two registers instead, and the processor works on all of them at once.
"""

from collections.abc import Callable, Iterable
from functools import cached_property, reduce
from typing import Any

from hiergcn.compiled.jit import Kernel, once

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


@_Instruction
def positive(value: Any) -> Any:
    """Return max(value, 0), and what is not a number as it is."""


@_Instruction
def where_positive(condition: Any, value: Any) -> Any:
    """Return the floats of `value`, and 0 where `condition` is not above 0."""


@_Instruction
def sum_fours(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return the sums of each four neighbours among the 64 floats of a, b, c and d."""


@_Instruction
def repeat_fours(value: Any) -> Any:
    """Return four values, in which each float of `value` stands four times."""


@once
def _instructions() -> dict[str, Callable[..., Any]]:
    import numba  # noqa: F401  # first and whole: another thread may be in the middle of it
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba.core import types
    from numba.core.cgutils import get_item_pointer
    from numba.core.errors import TypingError
    from numba.extending import intrinsic, models, register_model
    from numba.np.arrayobj import make_array

    vector, number_type = ir.VectorType(ir.FloatType(), FLOATS), ir.IntType(32)

    class Vector(types.Type):
        """Its type in numba."""

    @register_model(Vector)
    class _Model(models.PrimitiveModel):
        def __init__(self, manager: Any, kind: Any) -> None:
            super().__init__(manager, kind, vector)  # type: ignore[no-untyped-call]

    def check(rows: Any) -> None:
        if (rows.dtype, rows.ndim, rows.layout) != (types.float32, 2, "C"):
            raise TypingError(f"Rows of sixteen floats are in matrices of float32 whose rows are whole, not in {rows}.")

    def pointer(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        kind = signature.args[0]
        array = make_array(kind)(context, builder, given[0])  # type: ignore[no-untyped-call]
        at = [context.cast(builder, given[n], signature.args[n], types.intp) for n in (1, 2)]
        item = get_item_pointer(context, builder, kind, array, at)  # type: ignore[no-untyped-call]
        return builder.bitcast(item, vector.as_pointer())

    def load(_: Any, rows: Any, i: Any, k: Any) -> Any:
        check(rows)

        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            return builder.load(pointer(context, builder, signature, given), align=4)

        return floats(rows, i, k), code

    def store(_: Any, rows: Any, i: Any, k: Any, value: Any) -> Any:
        check(rows)

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

    def chosen(builder: Any, first: Any, second: Any, places: Iterable[int]) -> Any:
        """Return the floats at these places of both values."""
        places = [ir.Constant(number_type, place) for place in places]
        return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(number_type, len(places)), places))

    def positive(_: Any, value: Any) -> Any:
        def code(_: Any, builder: Any, __: Any, given: Any) -> Any:
            return builder.select(builder.fcmp_ordered("<", given[0], none), none, given[0])

        return floats(value), code

    def where_positive(_: Any, condition: Any, value: Any) -> Any:
        def code(_: Any, builder: Any, __: Any, given: Any) -> Any:
            return builder.select(builder.fcmp_ordered("<=", given[0], none), none, given[1])

        return floats(condition, value), code

    def sum_fours(_: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        def code(_: Any, builder: Any, __: Any, given: Any) -> Any:
            left = chosen(builder, given[0], given[1], range(2 * FLOATS))
            right = chosen(builder, given[2], given[3], range(2 * FLOATS))
            every = chosen(builder, left, right, range(4 * FLOATS))
            first, *others = (chosen(builder, every, every, range(n, 4 * FLOATS, 4)) for n in range(4))
            return reduce(builder.fadd, others, first)

        return floats(a, b, c, d), code

    def repeat_fours(_: Any, value: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            parts = [
                chosen(builder, given[0], none, [place // 4 for place in range(n, n + FLOATS)])
                for n in range(0, 4 * FLOATS, FLOATS)
            ]
            return context.make_tuple(builder, signature.return_type, parts)

        return types.UniTuple(floats, 4)(value), code  # type: ignore[no-untyped-call]

    floats, none = Vector("sixteen floats"), ir.Constant(vector, [0.0] * FLOATS)
    every = load, store, splat, add_product, multiply_add, positive, where_positive, sum_fours, repeat_fours
    return {one.__name__: intrinsic(one) for one in every}
