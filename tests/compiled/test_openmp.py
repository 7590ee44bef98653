"""Ranges of a kernel on OpenMP's threads: each once, the same results as on one thread, in forked processes too."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hiergcn.compiled import openmp
from hiergcn.compiled.jit import kernel
from hiergcn.compiled.openmp import run_ranges


@kernel(plain=0)
def _count(factors: tuple[float, float], seen: np.ndarray, ranges: np.ndarray, start: int, stop: int) -> None:
    for i in range(start, stop):
        seen[i] += factors[0] * factors[1]
    ranges[start] = stop - start


@kernel(plain=0)
def _never(values: np.ndarray, start: int, stop: int) -> None:
    if values[start] < 0.0:
        raise MemoryError("a thread")
    values[start:stop] = 1.0


@pytest.mark.parametrize("has_openmp", [True, False])
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(("length", "step"), [(0, 3), (1, 3), (9, 3), (10, 3), (1000, 1), (7, 100)])
def test_every_range_is_called_once(
    length: int, step: int, threads: int, has_openmp: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_openmp:
        monkeypatch.setattr(openmp, "_has_openmp", lambda _: False)
    seen, ranges = np.zeros(length), np.zeros(length, dtype=np.int64)
    run_ranges(_count, ((2.0, 0.5), seen, ranges), length, step, threads)
    assert np.array_equal(seen, np.ones(length))
    assert ranges[::step].tolist() == [min(step, length - start) for start in range(0, length, step)]
    assert ranges.sum() == length


def test_several_threads_take_part() -> None:
    program = """
import numpy as np
import torch
from hiergcn.compiled import openmp
from hiergcn.compiled.jit import kernel

@kernel(plain=0)
def work(values, start, stop):
    for _ in range(3000):
        for i in range(start, stop):
            values[i] = values[i] * 0.999 + 0.001

assert openmp._has_openmp(openmp.os.getpid()), "torch brings no OpenMP library"
counts = []
for threads in (1, 3):
    openmp.run_ranges(work, (np.zeros(10_000),), 10_000, 100, threads)
    counts.append(len(openmp.os.listdir("/proc/self/task")))
print(counts[1] - counts[0])
"""
    done = _run(program)
    assert done.stdout.strip() == "2", done.stderr


def test_a_failure_in_a_thread_is_told() -> None:
    run_ranges(_never, (np.zeros(100),), 100, 10, 2)
    with pytest.raises(MemoryError):
        run_ranges(_never, (np.where(np.arange(100) == 50, -1.0, 0.0),), 100, 10, 2)


def test_a_forked_process_does_not_wait_for_threads_of_its_parent() -> None:
    program = """
import os
import numpy as np
from hiergcn.model.ops import cpu
import torch
torch.set_num_threads(2)
left, right = torch.ones(3000, 64), torch.ones(3000, 8)
here = cpu.dropout_concat(left, right, None, 1, 2, 3.0)
if os.fork() == 0:
    os._exit(0 if (cpu.dropout_concat(left, right, None, 1, 2, 3.0).numpy() == here.numpy()).all() else 1)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    assert _run(program).stdout.strip() == "0"


def test_the_machine_code_is_kept_and_made_again_if_the_kernel_changes(tmp_path: Path) -> None:
    module = tmp_path / "kernels.py"
    program = """
import sys, numpy as np, torch
sys.path.insert(0, sys.argv[1])
import kernels
from hiergcn.compiled import openmp
values = np.zeros(50)
openmp.run_ranges(kernels.fill, (values,), 50, 5, 2)
print(values.sum(), sum(openmp._in_parallel(kernels.fill).stats.cache_hits.values()))
"""
    found = []
    for number, size in ((1.0, 0), (1.0, 0), (2.0, 1)):
        module.write_text(
            "from hiergcn.compiled.jit import kernel\n@kernel(plain=0)\ndef fill(values, start, stop):\n"
            f"    values[start:stop] = {number}\n" + "#" * size
        )
        found.append(_run(program, str(tmp_path), NUMBA_CACHE_DIR=str(tmp_path / "cache")).stdout.split())
    assert found == [["50.0", "0"], ["50.0", "1"], ["100.0", "0"]]


def _run(program: str, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | environment,
    )
