"""The worked examples of docs/contributing.md, followed in a copy of the package."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
USE = """
from hiergcn import CoarsenConfig, load_dataset
from hiergcn.coarsening import coarsen
from hiergcn.run.fit import fit

karate = load_dataset("karate")
cora = load_dataset("cora")
result = fit(cora.graph, cora.split, model="sgc", preset="default", dataset="cora")
print(karate.graph.n_nodes, coarsen(karate.graph, 1, CoarsenConfig(strategy="components")).sizes().nodes)
print(result.members[0].settings.method, result.test.accuracy.mean > 0.75)
"""


def test_the_examples_can_be_followed(tmp_path: Path) -> None:
    copied = tmp_path / "src" / "hiergcn"
    shutil.copytree(ROOT / "src" / "hiergcn", copied, ignore=shutil.ignore_patterns("__pycache__"))
    blocks = re.findall(r'```\w+ title="([^"]+)"\n(.*?)```', PAGE, flags=re.DOTALL)
    assert len(blocks) == 7
    for title, block in blocks:
        name, _, where = title.partition(", ")
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        text = path.read_text(encoding="utf-8") if where else ""
        path.write_text(changed(text, where, block), encoding="utf-8")
    catalogue = copied / "datasets" / "catalogue.py"
    imported = "from hiergcn.datasets.karate import read_karate\n"
    catalogue.write_text(imported + catalogue.read_text(encoding="utf-8"), encoding="utf-8")

    used = subprocess.run(
        [sys.executable, "-c", USE],
        env=os.environ | {"PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
    )
    assert used.returncode == 0, used.stderr
    assert used.stdout.splitlines() == ["34 (34, 1)", "sgc True"]


def changed(text: str, where: str, block: str) -> str:
    """Return the text of a file with a block added at its end, or at the head of a table."""
    if not where.startswith("in "):
        return f"{text}\n\n{block}" if where else block
    head, table, rest = text.partition(
        {"in _CATALOGUE": "DatasetEntry]] = {\n", "in register_datasets": "register_datasets(\n    (\n"}[where]
    )
    assert table, f"There is no such table {where}."
    return head + table + block + rest
