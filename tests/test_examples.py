"""Every script in `examples` runs and reaches the expected accuracy."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
EXPECTED = {  # a pattern of the output, and the least value of its group
    "citation_csv": (r"correct for ([\d.]+)% of 1,000 test papers", 75),
    "networkx_strings": (r"(\d+) of 11 as in the novel", 9),
    "pyg_data": (r"correct for ([\d.]+)% of the test nodes", 75),
    "digits_knn": (r"H-GCN\+ +([\d.]+)%", 91),
    "grid_angles": (r"automatic choice +R² +([\d.]+)", 0.9),
    "own_training_loop": (r"epoch 60: .* test accuracy ([\d.]+)%", 75),
}


def test_every_example_is_tested() -> None:
    elsewhere = {"onnx_runtime"}  # in tests/run/test_onnx.py, which makes its input
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(EXPECTED) | elsewhere


@pytest.mark.parametrize("name", EXPECTED)
def test_example(name: str, tmp_path: Path) -> None:
    if name == "pyg_data" and find_spec("torch_geometric") is None:
        pytest.skip("PyG is not installed")
    ran = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", str(EXAMPLES / f"{name}.py")],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "Warning" not in ran.stderr
    pattern, least = EXPECTED[name]
    found = re.search(pattern, ran.stdout)
    assert found, ran.stdout
    assert float(found[1]) >= least, ran.stdout
