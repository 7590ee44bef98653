"""`hiergcn check`, and what broken files give through the real commands."""

import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from cli_shell import FEW_EPOCHS, Command

CSV = ("edges.csv", "nodes.csv", "--label", "topic", "--id", "paper")


def test_good_files_pass(command: Command, own_files: Path) -> None:
    outcome = command("check", *CSV)
    assert outcome.code == 0
    for words in ("nodes.csv", "comma", "ids are text", "label; blank is unknown", "007", "A fit would try", "GB"):
        assert words in outcome.out
    assert "nodes without a label" in outcome.out
    for words in ("The graph is connected", "Neighbours tend to share their class", "features alone give"):
        assert words in outcome.out
    assert outcome.out.rstrip().endswith("A fit would work.")
    assert sorted(path.name for path in own_files.iterdir()) == ["edges.csv", "nodes.csv"]


def test_graph_that_is_large_across(command: Command, own_files: Path) -> None:
    n = 200  # nodes in a row, of classes a and b in turn
    ids = range(n)
    pd.DataFrame({"source": ids[:-1], "target": ids[1:]}).to_csv(own_files / "edges.csv", index=False)
    rows = pd.DataFrame({"paper": ids, "topic": ["ab"[k % 2] for k in ids]})
    rows.to_csv(own_files / "nodes.csv", index=False)
    outcome = command("check", *CSV, "--no-estimate")
    assert outcome.code == 0, outcome.err
    assert "The diameter is large: at least 199 steps." in outcome.out
    assert "Neighbours often differ in class: 0 %" in outcome.out
    rows["topic"] = rows["topic"].where(rows.index < 5, "")
    rows.to_csv(own_files / "nodes.csv", index=False)
    assert "too few training labels" in command("check", *CSV, "--no-estimate").out


def test_unusable_files_are_refused(command: Command, own_files: Path) -> None:
    nodes = pd.read_csv(own_files / "nodes.csv")
    for change, words in (
        (nodes.assign(topic="only"), "'only'"),
        (nodes.assign(size=[f"{k} kg" for k in range(len(nodes))]), "numbers with units, such as '0 kg'"),
        (nodes.assign(split="tset"), "train, validation, test or nothing"),
    ):
        change.to_csv(own_files / "nodes.csv", index=False)
        outcome = command("check", *CSV, "--no-estimate")
        assert outcome.code == 2
        assert words in outcome.err
        assert "would work" not in outcome.out
    no_labels = command("check", "edges.csv", "--no-estimate")
    assert no_labels.code == 2
    assert "edges.csv has edges and no labels" in no_labels.err
    assert command("check", "cora").code == 2


def test_fit_uses_dropped_and_split_columns(command: Command, own_files: Path) -> None:
    nodes = pd.read_csv(own_files / "nodes.csv", keep_default_na=False)
    labelled = nodes["topic"] != ""
    turn = pd.Series(range(len(nodes)), index=nodes.index) % 5
    nodes["fold"] = turn.map({0: "train", 1: "train", 2: "train", 3: "val", 4: "test"}).where(labelled, "")
    nodes["title"] = [f"title {k}" for k in range(len(nodes))]
    nodes.to_csv(own_files / "nodes.csv", index=False)
    outcome = command("fit", *CSV, "--split-column", "fold", "--drop", "title", *FEW_EPOCHS, "--out", "run")
    assert outcome.code == 0, outcome.err
    assert "the split is column 'fold'" in outcome.out
    assert '"split": "column \'fold\'"' in (own_files / "run" / "config.json").read_text()
    written = pd.read_csv(own_files / "run" / "predictions.csv", keep_default_na=False)
    expected = nodes["fold"].replace({"val": "validation"})
    assert written["split"].tolist() == expected.tolist()
    assert command("predict", "run").code == 0


def test_files_without_features_and_with_formulas_as_names(command: Command, own_files: Path) -> None:
    nodes = pd.read_csv(own_files / "nodes.csv", keep_default_na=False)[["paper", "topic"]]
    edges = pd.read_csv(own_files / "edges.csv")
    nodes["paper"] = "=" + nodes["paper"]
    nodes["topic"] = nodes["topic"].replace({"007": "@SUM(A1)"})
    nodes.to_csv(own_files / "nodes.csv", index=False)
    ("=" + edges).to_csv(own_files / "edges.csv", index=False)
    outcome = command("fit", *CSV, *FEW_EPOCHS, "--out", "run")
    assert outcome.code == 0, outcome.err
    assert "the nodes have no features" in " ".join(outcome.out.split())
    rows = (own_files / "run" / "predictions.csv").read_text().splitlines()[1:]
    assert all(row.startswith("=node") for row in rows)
    assert any(",@SUM(A1)," in row for row in rows)
    again = command("predict", "run")
    assert again.code == 0, again.err


@pytest.mark.parametrize(
    ("verb", "content", "words"),
    [
        ("check", b"PK\x03\x04 workbook", "Excel"),
        ("fit", b"source,target\na,\xe9\n", "line 2"),
        ("check", b"source,target\na,b\nb,\n", "row 3, column 'target'"),
        ("fit", b"", "empty"),
    ],
)
def test_broken_files_through_the_installed_command(tmp_path: Path, verb: str, content: bytes, words: str) -> None:
    program = shutil.which("hiergcn", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("the command is not installed beside this Python")
    (tmp_path / "edges.csv").write_bytes(content)
    (tmp_path / "nodes.csv").write_text("id,label\na,x\nb,y\n")
    done = subprocess.run(
        [program, verb, "edges.csv", "nodes.csv"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.csv", "nodes.csv"]
