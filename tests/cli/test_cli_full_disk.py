"""A full disk costs nothing that was computed, and a folder is never shared."""

import io
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cli_shell import Command, N

from hiergcn.cli import fit
from hiergcn.run.out_folder import held

FIT = (
    *("fit", "edges.csv", "nodes.csv", "--label", "topic", "--id", "paper", "--model", "gcn", "--seeds", 1),
    *("--set", "epochs=5", "--set", "hidden=256", "--no-baselines", "--no-advice", "--out", "run"),
)


@pytest.fixture
def largest_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[int], None]]:
    """Sets the bytes that a file may have while results are written: a disk that fills up, as the system reports it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    save = fit._save
    monkeypatch.setenv("HIERGCN_COMMIT", "unknown")  # git would obey the limit too, and leave a cut index behind
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()

    def limit(size: int) -> None:
        def limited(*given: Any) -> Any:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
            try:
                return save(*given)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, before)

        monkeypatch.setattr(fit, "_save", limited)

    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_no_room_for_the_page(command: Command, own_files: Path, largest_file: Callable[[int], None]) -> None:
    largest_file(30_000)
    outcome = command(*FIT)
    assert outcome.code == 2
    assert "report.html cannot be written (File too large)" in outcome.err
    assert "The run itself is in run; hiergcn report writes the page." in outcome.err
    assert command("report", "run").code == 0
    assert command("predict", "run").code == 0


@pytest.mark.parametrize("size", [10, 12_000])
def test_no_room_at_all(command: Command, own_files: Path, largest_file: Callable[[int], None], size: int) -> None:
    """The message once was "No space left on device." and the whole training was lost."""
    largest_file(size)
    outcome = command(*FIT)
    assert outcome.code == 2
    assert "The predictions and scores are printed above and nowhere else." in outcome.err
    table, rest = outcome.out[outcome.out.index("id,predicted") :].split("\n\n", 1)
    assert len(pd.read_csv(io.StringIO(table))) == N
    assert "predictions, test" in rest
    assert sorted(path.name for path in own_files.iterdir()) == ["edges.csv", "nodes.csv"]


@pytest.mark.parametrize(("verb", "begun"), [("fit", False), ("fit", True), ("compare", False)])
def test_a_folder_that_another_process_writes_to_is_refused_at_the_start(
    command: Command, own_files: Path, verb: str, begun: bool
) -> None:
    """If that process had a checkpoint, the advice once was to remove it or to go on with it."""
    with held(Path("run")):
        if begun:
            Path("run.checkpoint").mkdir()
        outcome = command(verb, "edges.csv", "nodes.csv", "--label", "topic", "--out", "run")
    assert (outcome.code, outcome.out) == (2, "" if begun or verb == "fit" else "Reading edges.csv and nodes.csv\n")
    assert outcome.err == "Another process is writing to run; wait until it ends or name another folder.\n"
