"""`hiergcn compare`."""

import json
from pathlib import Path

import pandas as pd
from cli_shell import FEW_EPOCHS, Command

LEVELS = ("--set", "levels=1")


def test_compares_two_presets_on_own_files(command: Command, own_files: Path) -> None:
    words = ("edges.csv", "nodes.csv", "--label", "topic", "--models", "hgcn,hgcn:reference", "--seeds", 2)
    outcome = command("compare", *words, *FEW_EPOCHS, *LEVELS, "--out", "both")
    assert outcome.code == 0, outcome.err
    assert "Wilcoxon signed-rank test" in outcome.out
    assert "With 2 pairs p cannot fall below 0.5" in outcome.out
    saved = json.loads((own_files / "both" / "comparison.json").read_text())
    assert [model["model"] for model in saved["models"]] == ["hgcn", "hgcn:reference"]
    assert saved["command"].startswith("hiergcn compare edges.csv")
    assert saved["models"][1]["settings"]["model"]["pooling"] == "l2"
    assert [model["settings"]["preset"] for model in saved["models"]] == ["adapted", "reference"]
    row = next(line for line in outcome.out.splitlines() if line.startswith("hgcn:reference "))
    assert f"{100 * saved['models'][1]['test_accuracy']['mean']:.1f}" in row
    assert f"{100 * saved['differences'][0]['mean']:+.1f}" in row
    scores = pd.read_csv(own_files / "both" / "scores.csv")
    assert list(scores["seed"]) == [0, 1, 0, 1]
    page = (own_files / "both" / "comparison.html").read_text()
    assert f"{100 * saved['differences'][0]['mean']:+.1f}" in page
    assert "Too few runs to tell" in page  # two pairs cannot decide
    assert "one split, drawn" in page
    assert command("report", "both").code == 0
    assert (own_files / "both" / "comparison.html").read_text() == page


def test_bad_arguments_are_refused_before_any_work(command: Command, folder: Path) -> None:
    for words, sentence in (
        (("--models", "gcnn"), "no model named 'gcnn'"),
        (("--models", "hgcn,hgcn"), "twice"),
        (("--models", "hgcn,"), "commas"),
        (("--models", "hgcn", "--splits", "random"), "random:N"),
        (("--models", "hgcn", "--against", "gcn"), "'gcn' is not among the models"),
        (("--models", "hgcn:best"), "no preset named 'best'"),
    ):
        outcome = command("compare", "cora", *words)
        assert outcome.code == 2
        assert sentence in outcome.err
    assert not list(folder.iterdir())
