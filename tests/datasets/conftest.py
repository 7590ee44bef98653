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
