"""The guide's Python runs as it is written, from top to bottom."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hiergcn.datasets import planted_graph

GUIDE = Path(__file__).parents[1] / "docs" / "own-data.md"


def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch_geometric", reason="PyG is not installed")
    monkeypatch.chdir(tmp_path)
    planted = planted_graph(80, classes=2, features=3, seed=0)
    assert planted.labels is not None
    edges, nodes = planted.with_labels(np.where(np.arange(80) % 2, planted.labels, -1), ["art", "law"]).to_pandas()
    edges.to_csv("edges.csv", index=False)
    nodes.rename(columns={"id": "paper", "label": "topic"}).to_csv("nodes.csv", index=False)

    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 8
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), names)
    assert set(names["predictions"].values()) <= {"art", "law"}
    assert np.array_equal(names["again"].predict(), names["classifier"].predict())
    assert names["scores"].mean() > 0.8  # of iris, three classes
    assert names["logits"].shape == (150, 3)
