"""Kernels in numba or plain Python, and what several packages share of them: a hash, CSR arrays and threads."""

from hiergcn.compiled.csr import Float64s, Int32s, Int64s, Integers, frozen, rows_of
from hiergcn.compiled.jit import even_ranges, kernel, mix, run_over, thread_count

__all__ = ["Float64s", "Int32s", "Int64s", "Integers"]
__all__ += ["even_ranges", "frozen", "kernel", "mix", "rows_of", "run_over", "thread_count"]
