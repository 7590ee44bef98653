"""Fixtures shared by the tests of the experiments."""

from pathlib import Path

import pytest
from cli_shell import command as command
from cli_shell import folder as folder


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with no data at hand: an empty cache, which is returned, and no data folder."""
    monkeypatch.delenv("HIERGCN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "hiergcn"
