"""`hiergcn datasets` as a script sees it."""

from pathlib import Path

import pytest
from cli_shell import Command


def test_a_long_path_stays_in_one_piece(command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = folder / ("a-long-name-" * 8) / "more"
    data.mkdir(parents=True)
    (data / "amazon_photo.npz").write_bytes(b"")
    monkeypatch.setenv("HIERGCN_DATA", str(data.parent))
    outcome = command("datasets")
    assert outcome.code == 0
    rows = [line.split() for line in outcome.out.splitlines()]
    assert ["amazon-photo", "7,650", "119,081", "745", "8", str(data)] in rows
