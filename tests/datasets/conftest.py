"""Where the published files are, for the tests that compare with them."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def published() -> Path:
    """A data folder with the sub-folders planetoid, nell and more."""
    beside = Path(__file__).parents[3] / "shared" / "datasets"
    folder = Path(os.environ.get("HIERGCN_DATA", beside))
    if not (folder / "planetoid" / "ind.cora.graph").exists():
        pytest.skip("needs the published files: set HIERGCN_DATA to a folder with planetoid, nell and more")
    return folder


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with no data at hand: an empty cache, which is returned, and no data folder."""
    monkeypatch.delenv("HIERGCN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "hiergcn"
