"""Every script in `examples` runs and says what it promises."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SAYS = {  # a figure that the script prints, and the least it may be
    "citation_csv": (r"right for ([\d.]+)% of 1,000 test papers", 75),
    "networkx_strings": (r"(\d+) of 11 as a reader would have it", 9),
    "pyg_data": (r"right for ([\d.]+)% of the test nodes", 75),
    "digits_knn": (r"H-GCN\+ +([\d.]+)%", 91),
    "own_training_loop": (r"epoch 60: .* right for ([\d.]+)%", 75),
}


def test_every_script_is_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("name", SAYS)
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
    pattern, least = SAYS[name]
    found = re.search(pattern, ran.stdout)
    assert found, ran.stdout
    assert float(found[1]) >= least, ran.stdout
