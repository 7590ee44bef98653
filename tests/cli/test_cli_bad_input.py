"""Whatever is wrong with the input: one sentence, exit code 2, nothing left behind."""

import io
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from cli_shell import Command, Outcome

from hiergcn.cli import _open_streams, make_app

CSV = ("fit", "edges.csv", "nodes.csv", "--label", "topic", "--id", "paper")


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check(outcome: Outcome, *expected: str) -> None:
    assert outcome.code == 2
    sentences = [line for line in outcome.err.splitlines() if not line.startswith("downloading")]
    assert len(sentences) == 1, outcome.err
    assert "Traceback" not in outcome.out + outcome.err
    for words in expected:
        assert words in sentences[0]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("fit", "https://example.org/edges.csv"), "is a web address; download the file"),
        (("fit", "cora", "nodes.csv"), "./cora"),
        (("fit", "cora", "--set", "hidden"), "KEY=VALUE"),
        (("fit", "cora", "--levels", "-1"), "levels is -1"),
        (("fit", "cora", "--seeds", 10**12), "give fewer seeds"),
        (("fit", "cora", "--out", "nodes.csv"), "nodes.csv is a file"),
        (("fit", "cora", "--out", "nodes.csv/run"), "cannot be written to"),
        (("fit", "edges.csv"), "edges.csv has edges and no labels; name a CSV of nodes"),
        (("fit", "edges.csv", "--label", "topic"), "file of nodes"),
        (("fit", "edges.csv", "nodes.csv", "--label", "tpoic"), "did you mean 'topic'?"),
        (("fit", "edges.csv", "nodes.csv", "--id", "paper"), "nodes.csv has no column named label or class; name"),
        ((*CSV, "--model", "gcn", "--set", "learning_rate=1e30", "--set", "epochs=20"), "Every seed failed"),
        (("fit", "citeseer"), "HIERGCN_DATA"),
        (("coarsen", "cora", "--strategy", "magic"), "two-hop"),
        (("coarsen", "cora", "--out", "levels.txt"), ".parquet"),
        (("coarsen", "cora", "--out", "nodes.csv"), "exists already"),
        (("coarsen", "cora", "--out", "no/folder/levels.csv"), "no folder"),
        (("datasets", "get", "corra"), "did you mean 'cora'?"),
        (("predict", "nowhere", "--out", "no/folder/p.csv"), "no folder"),
        (("explain", "nowhere", "--node", "a", "--out", "nodes.csv"), "exists already"),
        (("report", "nowhere"), "nowhere"),
        (("report", "."), "config.json is missing"),
        (("fit", "\x1b[2J\nedges"), "no dataset and no file"),  # nothing that could steer the terminal: one line
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_wrong_arguments_are_refused(
    command: Command, own_files: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[object, ...], expected: str
) -> None:
    monkeypatch.setattr("urllib.request.urlopen", _offline)
    before = content(own_files)
    outcome = command(*words)
    check(outcome, expected)
    assert "\x1b" not in outcome.err
    assert content(own_files) == before
    assert not (own_files / "runs").exists()


def _offline(*_: object, **__: object) -> None:
    raise OSError("no network in this test")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["only"], "every label is 'only'; give two classes"),
        ([], "every label is blank; give the class of some nodes"),
        (["a", "b", "c"], "every class has one label; give one of them a second"),
    ],
)
@pytest.mark.parametrize("verb", ["fit", "check"])
def test_labels_that_no_model_can_learn_from(
    command: Command, own_files: Path, verb: str, labels: list[str], expected: str
) -> None:
    nodes = pd.read_csv(own_files / "nodes.csv")
    nodes["topic"] = [*labels, *[""] * (len(nodes) - len(labels))]
    nodes.to_csv(own_files / "nodes.csv", index=False)
    check(command(verb, *CSV[1:]), f"nodes.csv, column 'topic': {expected}")
    assert not (own_files / "runs").exists()


def test_a_bug_is_reported_as_a_bug(command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("one by none")

    monkeypatch.setattr("hiergcn.datasets.list_datasets", broken)
    outcome = command("datasets")
    assert outcome.code == 1
    assert "ZeroDivisionError: one by none" in outcome.err
    assert "Traceback" not in outcome.err
    monkeypatch.setenv("HIERGCN_TRACEBACK", "1")
    monkeypatch.setattr("sys.argv", ["hiergcn", "datasets"])
    with pytest.raises(ZeroDivisionError):
        make_app()()


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        ImportError("libtorch_cpu.so: failed to map segment from shared object"),
        RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"),
        OSError(12, "Cannot allocate memory"),
    ],
)
def test_too_little_memory_is_no_bug(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("hiergcn.datasets.list_datasets", fail)
    outcome = command("datasets")
    assert outcome.code == 2
    assert outcome.err.startswith("Out of memory; try --workers 1")


def test_too_little_memory_for_the_libraries_is_said_before_they_are_imported() -> None:
    """Libraries that find too little end the process, each with a line of its own."""
    limited = ["sh", "-c", 'ulimit -v 1200000; exec "$@"', "sh", sys.executable, "-m", "hiergcn", "datasets"]
    found = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert found.stderr == "This process may take 1.2 GB of memory and needs 3.0 GB; raise the limit (ulimit -v).\n"


def test_closed_streams_and_a_narrow_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    """`>&-` once ended with "this is a bug"; in the locale C, `predict > table.csv` wrote ? for letters of ids."""
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii"))
    monkeypatch.setattr(sys, "stderr", None)
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        stream.write("é")
        stream.flush()
    assert written.getvalue() == "é".encode()
    assert sys.stdin.read() == ""


def test_a_table_is_readable_in_a_narrow_terminal(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert "label-propagation" in command("models").out
