"""`hiergcn predict` and `hiergcn report`: a run folder at work again."""

import io
from pathlib import Path

import pandas as pd
import pytest
from cli_shell import FEW_EPOCHS, Command
from pandas.testing import assert_frame_equal


@pytest.fixture
def run(command: Command, own_files: Path) -> Path:
    words = ("fit", "edges.csv", "nodes.csv", "--label", "topic", "--id", "paper", "--seeds", 2, *FEW_EPOCHS)
    assert command(*words, "--out", "run").code == 0
    return own_files / "run"


def test_predictions_come_again_from_anywhere(command: Command, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run.parent.parent)  # the paths of the data hold from any working directory
    outcome = command("predict", run)
    assert outcome.code == 0, outcome.err
    assert "in agreement" in outcome.err
    again = pd.read_csv(io.StringIO(outcome.out), dtype=str, keep_default_na=False)
    before = pd.read_csv(run / "predictions.csv", dtype=str, keep_default_na=False)
    figures = ["probability", "confidence"]
    assert_frame_equal(again.drop(columns=figures), before.drop(columns=figures))
    assert_frame_equal(again[figures].astype(float), before[figures].astype(float), rtol=1e-4)


def test_predictions_go_to_a_new_file(command: Command, run: Path) -> None:
    assert command("predict", run, "--out", "mine.csv").code == 0
    assert (run.parent / "mine.csv").read_text().startswith("id,predicted,")
    outcome = command("predict", run, "--out", "mine.csv")
    assert (outcome.code, "exists already" in outcome.err) == (2, True)


def test_changed_edges_are_noticed(command: Command, run: Path) -> None:
    edges = pd.read_csv(run.parent / "edges.csv")
    edges.iloc[:-5].to_csv(run.parent / "edges.csv", index=False)
    outcome = command("predict", run)
    assert outcome.code == 2
    assert "no longer the graph" in outcome.err
    assert outcome.out == ""


def test_changed_features_are_noticed(command: Command, run: Path) -> None:
    nodes = pd.read_csv(run.parent / "nodes.csv", dtype={"topic": str}, keep_default_na=False)
    nodes["feature 0"] = nodes["feature 0"][::-1].to_numpy()
    nodes.to_csv(run.parent / "nodes.csv", index=False)
    outcome = command("predict", run)
    assert outcome.code == 2
    assert "differ" in outcome.err


def test_the_report_is_made_again(command: Command, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = run / "report.html"
    first = page.read_text(encoding="utf-8")
    page.unlink()
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert command("report", "run", "--open").code == 0
    assert page.read_text(encoding="utf-8") == first
    assert opened == [page.as_uri()]
