"""Memory of training, measured."""

from pathlib import Path

import pytest

from hiergcn.paper.measures import peak_memory as memory


@pytest.mark.skipif(not memory.FORGET.exists(), reason="only Linux tells the peak of a process")
def test_training_takes_some_memory_and_less_than_the_machine_has() -> None:
    found = memory.measure("cora", "gcn")
    assert 0 < found["bytes"] < 2**32


def test_where_the_system_does_not_tell_nothing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory, "FORGET", tmp_path / "no" / "such" / "file")
    assert memory.measure("cora", "gcn")["bytes"] is None
