"""Fixtures for the tests of several rooms."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with no data at hand: an empty cache, which is returned, and no data folder."""
    monkeypatch.delenv("HIERGCN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "hiergcn"


@pytest.fixture
def coarsenings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The levels of each call of `coarsen`, whoever calls it."""
    from hiergcn.coarsening import coarsen

    calls: list[int] = []

    def counted(adjacency: Any, levels: int, *rest: Any) -> Any:
        calls.append(levels)
        return coarsen(adjacency, levels, *rest)

    for module in ("train.trainer", "choose.adapt", "run.predict", "run.run", "advise.suggest"):
        monkeypatch.setattr(f"hiergcn.{module}.coarsen", counted, raising=False)
    return calls
