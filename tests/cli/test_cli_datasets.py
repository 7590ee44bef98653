"""`hiergcn datasets`."""

import re
from pathlib import Path

import pytest
from cli_shell import Command

from hiergcn.datasets import dataset_names


def test_a_long_path_is_not_wrapped(command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = folder / ("a-long-name-" * 8) / "more"
    data.mkdir(parents=True)
    (data / "amazon_photo.npz").write_bytes(b"")
    monkeypatch.setenv("HIERGCN_DATA", str(data.parent))
    outcome = command("datasets")
    assert outcome.code == 0
    rows = [line.split() for line in outcome.out.splitlines()]
    assert ["amazon-photo", "7,650", "119,081", "745", "8", str(data)] in rows


def test_datasets_are_listed_with_their_folder(command: Command) -> None:
    outcome = command("datasets")
    assert outcome.code == 0
    for name in dataset_names():
        assert re.search(rf"^{name} ", outcome.out, re.MULTILINE)
    assert re.search(r"^cora +2,708 +5,278 +1,433 +7 +embedded", outcome.out, re.MULTILINE)
    lines = outcome.out.splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 80
    assert "helsinki, paris, shanghai, la, london: (c) OpenStreetMap contributors, ODbL 1.0" in lines
    assert "pegase, pegase-eccentricity: C. Josz et al. (MATPOWER), CC BY 4.0" in lines
    assert "activsg2000, activsg10k: A.B. Birchfield et al. (MATPOWER), CC BY 4.0" in lines
