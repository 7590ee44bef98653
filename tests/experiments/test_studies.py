"""A study is one file: that of docs/reproduce.md is known to the command, is run, and has a page."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_shell import Command

from hiergcn_experiments import studies

GUIDE = Path(__file__).parents[2] / "docs" / "reproduce.md"


@pytest.fixture
def depth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (block,) = re.findall(r'```python title="depth.py"\n(.*?)```', GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL)
    (tmp_path / "depth.py").write_text(block.replace("(2, 4, 8)", "(2,)"), encoding="utf-8")
    monkeypatch.setattr(studies, "__path__", [*studies.__path__, str(tmp_path)])
    studies.studies.cache_clear()
    yield
    studies.studies.cache_clear()


def test_a_study_is_one_file(depth: None, command: Command) -> None:
    assert "\ndepth-cora " in command("reproduce", "list").out
    outcome = command("reproduce", "depth", "--quick", "--workers", 1, "--device", "cpu")
    assert outcome.code == 0, outcome.err
    text = Path("runs/reproduce-quick/pages/depth/README.md").read_text(encoding="utf-8")
    assert re.search(r"\| gcn-2 \| \d\d\.\d ± \d\.\d \|", text)
    again = command("reproduce", "depth", "--quick", "--workers", 1, "--device", "cpu")
    assert "0 runs done" in again.out
