"""`hiergcn check`, and what broken files give through the real commands."""

from pathlib import Path

import pandas as pd
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


def test_unusable_files_are_refused(command: Command, own_files: Path) -> None:
    no_labels = command("check", "edges.csv", "--no-estimate")
    assert no_labels.code == 2
    assert "edges.csv has edges and no labels" in no_labels.err
    assert "would work" not in no_labels.out
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
