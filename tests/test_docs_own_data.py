"""The guide to own data: its Python code runs, its links work, and it repeats no sentence of the rules for files."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hiergcn.datasets import planted_graph, planted_numbers
from hiergcn.graph.tables.delimited import MISSING

DOCS = Path(__file__).parents[1] / "docs"
GUIDE, RULES = DOCS / "own-data.md", DOCS / "files.md"


def test_the_code_of_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert names["scores"].mean() > 0.8  # iris, three classes
    assert names["logits"].shape == (150, 3)


def test_the_code_on_numbers_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    planted = planted_numbers(120, seed=0)
    planted.with_targets(np.where(np.arange(120) % 3, planted.truth, np.nan), "price").to_csv("edges.csv", "nodes.csv")
    page = DOCS / "numbers.md"
    (block,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(block.replace("seed=0)", "seed=0, time_limit=1)"), str(page), "exec"), names)
    assert len(names["prices"]) == 120
    assert (names["lower"] < names["upper"]).all()


def test_guide_and_rules_share_no_sentence() -> None:
    guide, rules = (_sentences(page) for page in (GUIDE, RULES))
    assert not guide & rules


def _sentences(page: Path) -> set[str]:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    parts = re.split(r"[.:;|]\s", " ".join(text.split()))
    return {part.strip() for part in parts if len(part.split()) > 5}


def test_links_between_pages_work() -> None:
    assert {GUIDE, RULES} <= set(DOCS.glob("*.md"))
    for page in sorted(DOCS.glob("*.md")):
        links = re.findall(r"\]\(([^)#:]+)(?:#([\w-]+))?\)", page.read_text(encoding="utf-8"))
        for target, heading in links:
            assert (page.parent / target).exists(), (page.name, target)
            assert not heading or heading in _headings(page.parent / target), (page.name, target, heading)


def _headings(page: Path) -> set[str]:
    lines = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in lines}


def test_the_rules_name_every_missing_value() -> None:
    rules = RULES.read_text(encoding="utf-8")
    assert all(f"`{word}`" in rules for word in MISSING if word)
