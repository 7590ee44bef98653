"""Sixteen floats as one value: each instruction against numpy, on any processor."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import TypingError

from hiergcn.compiled.jit import kernel
from hiergcn.compiled.simd import FLOATS, add_product, load, multiply_add, splat, store


@kernel(plain=0)
def _each(a: np.ndarray, b: np.ndarray, c: np.ndarray, out: np.ndarray, k: int) -> None:
    """Write the result of each instruction to a row, from columns k on."""
    x, y, z = load(a, np.uint64(0), k), load(b, np.uint64(0), k), load(c, np.uint64(0), k)
    store(out, np.uint64(0), k, splat(a[0, k]))
    store(out, np.uint64(1), k, add_product(x, y, z))
    store(out, np.uint64(2), k, multiply_add(x, y, z))


@pytest.mark.parametrize("k", [0, 3])
def test_each_instruction_is_that_of_numpy(k: int) -> None:
    rng = np.random.default_rng(0)
    a, b, c = rng.standard_normal((3, 1, FLOATS + 5)).astype(np.float32)
    out = np.full((3, FLOATS + 5), 7.0, np.float32)
    _each(a, b, c, out, k)
    x, y, z = (one[0, k : k + FLOATS] for one in (a, b, c))
    found = out[:, k : k + FLOATS]
    assert np.array_equal(found[0], np.full(FLOATS, a[0, k]))
    np.testing.assert_array_equal(found[1], x + y * z)
    exact = (x.astype(np.float64) + y.astype(np.float64) * z).astype(np.float32)
    np.testing.assert_allclose(found[2], exact, rtol=1e-6, atol=1e-6)
    assert (np.delete(out, range(k, k + FLOATS), axis=1) == 7.0).all()  # nothing else was written


@pytest.mark.parametrize(
    "rows", [np.zeros((20, 40), np.float64), np.zeros((40, 20), np.float32).T, np.zeros((20, 80), np.float32)[:, ::2]]
)
def test_other_arrays_are_refused(rows: np.ndarray) -> None:
    fits = np.zeros((20, 40), np.float32)
    with pytest.raises(TypingError, match="matrices of float32"):
        _each(rows, fits, fits, fits, 0)


def test_functions_of_sixteen_floats_are_compiled_for_other_arrays_in_a_later_process(tmp_path: Path) -> None:
    """They are not cached themselves: a later process could not read the type of what they return."""
    (tmp_path / "adding.py").write_text("""
import numpy as np
from hiergcn.compiled.jit import kernel
from hiergcn.compiled.simd import add_product, load, splat, store

@kernel(plain=None)
def twice(rows, i):
    return load(rows, i, np.uint64(0)), load(rows, i, np.uint64(0))

@kernel(plain=0)
def add(rows, others, out, one, start, stop):
    for i in range(np.uint64(start), np.uint64(stop)):
        store(out, i, np.uint64(0), add_product(twice(rows, i)[0], splat(one), twice(others, i)[1]))
""")
    program = """
import sys, numpy as np
sys.path.insert(0, sys.argv[1])
import adding
given, out = np.arange(64, dtype=np.float32).reshape(4, 16), np.zeros((4, 16), np.float32)
rows = given.copy()
rows.flags.writeable = sys.argv[2] == "writable"
adding.add(rows, given, out, np.ones(1, np.float32)[0], 0, 4)
print((out == 2 * given).all())
"""
    for kind in ("writable", "read only", "writable"):
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path), kind],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        )
        assert done.stdout.strip() == "True", done.stderr
