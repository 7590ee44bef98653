"""Kernels: plain Python and compiled code agree to the last bit, and small work needs no compiler."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from hiergcn.coarsening import CoarsenConfig, coarsen
from hiergcn.compiled.csr import rows_of
from hiergcn.compiled.jit import Kernel, kernel, mix
from hiergcn.datasets.planted import planted_graph


@kernel(plain=10)
def _sum(values: np.ndarray) -> float:
    total = 0.0
    for one in values:
        total += one
    return total


def test_a_kernel_is_compiled_after_so_many_entries() -> None:
    assert isinstance(_sum, Kernel)
    assert _sum(np.ones(4)) == 4.0
    assert "compiled" not in vars(_sum)
    assert _sum(np.ones(8)) == 8.0
    assert vars(_sum)["compiled"].signatures


def test_the_hash_overflows_alike() -> None:
    assert isinstance(mix, Kernel)
    for number in (0, 1, 2**32, 2**64 - 1):
        with np.errstate(over="ignore"):
            assert int(mix.function(np.uint64(number))) == int(mix.compiled(np.uint64(number)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grouping", ["paper", "random"])
def test_plain_and_compiled_coarsening_agree(weighted: bool, grouping: str, monkeypatch: pytest.MonkeyPatch) -> None:
    adjacency = planted_graph(200, seed=3).adjacency
    if weighted:
        noise = np.random.default_rng(0).random(adjacency.shape)
        adjacency = sp.csr_array(adjacency.multiply(noise + noise.T))
    config = CoarsenConfig() if grouping == "paper" else CoarsenConfig(strategy="random")
    found = []
    for plain in (10**9, 0):
        for module in list(sys.modules.values()):
            if getattr(module, "__name__", "").startswith("hiergcn."):
                for one in list(vars(module).values()):
                    if isinstance(one, Kernel):
                        monkeypatch.setattr(one, "plain", plain)
        found.append(coarsen(adjacency, 3, config))
    for plain_level, compiled_level in zip(*(one.levels for one in found), strict=True):
        both = (map(np.asarray, rows_of(one.adjacency)) for one in (plain_level, compiled_level))
        for left, right in zip(*both, strict=True):
            assert left.dtype == right.dtype
            assert left.tobytes() == right.tobytes()
        assert np.array_equal(plain_level.node_weight, compiled_level.node_weight)


def test_a_fit_of_a_small_graph_imports_neither_numba_nor_scikit_learn() -> None:
    program = """
import sys
from hiergcn.datasets.planted import planted_graph
from hiergcn.run.fit import fit
fit(planted_graph(120, seed=0), seeds=[0], model="gcn", changes={"epochs": 5}, advise=True)
print([name for name in ("numba", "sklearn", "torch._dynamo", "scipy.stats") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_kernel_is_compiled_again_if_a_function_of_another_file_changes(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(
        "from hiergcn.compiled.jit import kernel\nfrom helping import number\n"
        "@kernel(plain=0)\ndef fill(values):\n    values[:] = number()\n"
    )
    program = "import sys, numpy as np; sys.path.insert(0, sys.argv[1]); import kernels; values = np.zeros(2)\n"
    program += "kernels.fill(values); print(values.sum(), sum(kernels.fill.compiled.stats.cache_hits.values()))"
    found = []
    for number in (1.0, 1.0, 2.0):
        (tmp_path / "helping.py").write_text(
            f"from hiergcn.compiled.jit import kernel\n@kernel(plain=None)\ndef number():\n    return {number}\n"
        )
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, "-B", "-c", program, str(tmp_path)]
        found.append(
            subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.split()
        )
    assert found == [["2.0", "0"], ["2.0", "1"], ["4.0", "0"]]
