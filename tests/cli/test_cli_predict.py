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
    assert command(*words, "--model", "hgcn-plus", "--no-baselines", "--out", "run").code == 0
    return own_files / "run"


def test_predictions_are_repeated_from_any_folder(command: Command, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run.parent.parent)  # the paths of the data hold from any working directory
    outcome = command("predict", run)
    assert outcome.code == 0, outcome.err
    assert "in agreement" in outcome.err
    again = pd.read_csv(io.StringIO(outcome.out), dtype=str, keep_default_na=False)
    before = pd.read_csv(run / "predictions.csv", dtype=str, keep_default_na=False)
    figures = ["probability", "confidence"]
    assert_frame_equal(again.drop(columns=figures), before.drop(columns=figures))
    assert_frame_equal(again[figures].astype(float), before[figures].astype(float), rtol=1e-4)


def test_ids_come_back_as_they_were_given(command: Command, own_files: Path) -> None:
    """A handle such as @alice stays one in every file, and is escaped only if a spreadsheet is to open it."""
    for name in ("edges.csv", "nodes.csv"):
        text = (own_files / name).read_text()
        (own_files / name).write_text(text.replace("node 1", "@alice 1").replace("node 2", "-x2"))
    given = pd.read_csv(own_files / "nodes.csv", dtype=str)["paper"].tolist()
    shown = [f"'{name}" if name[0] in "@-" else name for name in given]
    words = ("fit", "edges.csv", "nodes.csv", "--label", "topic", "--id", "paper", "--seeds", 1, *FEW_EPOCHS)
    assert command(*words, "--no-baselines", "--spreadsheet-safe", "--out", "safe").code == 0
    assert pd.read_csv("safe/predictions.csv")["id"].tolist() == shown
    assert pd.read_csv(io.StringIO(command("predict", "safe").out))["id"].tolist() == given


def test_changed_features_and_edges_are_noticed(command: Command, run: Path) -> None:
    nodes = pd.read_csv(run.parent / "nodes.csv", dtype={"topic": str}, keep_default_na=False)
    nodes.assign(**{"feature 0": nodes["feature 0"][::-1].to_numpy()}).to_csv(run.parent / "nodes.csv", index=False)
    outcome = command("predict", run)
    assert (outcome.code, "other features" in outcome.err) == (2, True)
    edges = pd.read_csv(run.parent / "edges.csv")
    edges.iloc[:-5].to_csv(run.parent / "edges.csv", index=False)
    outcome = command("predict", run)
    assert (outcome.code, outcome.out) == (2, "")
    assert "no longer the graph" in outcome.err


def test_the_report_is_written_again(command: Command, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = run / "report.html"
    first = page.read_text(encoding="utf-8")
    page.unlink()
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert command("report", "run", "--open").code == 0
    assert page.read_text(encoding="utf-8") == first
    assert opened == [page.as_uri()]


def grown(folder: Path) -> pd.DataFrame:
    """more-edges.csv and more-nodes.csv: one node more, without labels, the columns in another order."""
    edges, nodes = pd.read_csv(folder / "edges.csv"), pd.read_csv(folder / "nodes.csv", dtype={"topic": str})
    more = pd.DataFrame({"source": ["late", "late"], "target": ["node 1", "node 2"]})
    pd.concat([edges, more]).to_csv(folder / "more-edges.csv", index=False)
    late = nodes.iloc[[1]].assign(paper="late")
    table = pd.concat([nodes, late])[[*reversed([name for name in nodes.columns if name != "topic"])]]
    table.to_csv(folder / "more-nodes.csv", index=False)
    return table


def test_predict_on_a_larger_graph(command: Command, run: Path) -> None:
    grown(run.parent)
    outcome = command("predict", run, "more-edges.csv", "more-nodes.csv")
    assert outcome.code == 0, outcome.err
    assert "91 predictions, 1 of them of nodes that the run did not have" in outcome.err
    table = pd.read_csv(io.StringIO(outcome.out), dtype={"predicted": str})
    assert list(table.columns) == ["id", "predicted", "probability", "confidence", "seen"]
    assert list(table.loc[~table["seen"], "id"]) == ["late"]


def test_the_same_files_give_the_same_predictions(command: Command, run: Path) -> None:
    outcome = command("predict", run, "edges.csv", "nodes.csv")
    assert outcome.code == 0, outcome.err
    assert command("predict", run, "edges.csv", "nodes.csv", "--out", "mine.csv").code == 0
    assert Path("mine.csv").read_text() == outcome.out
    assert "exists already" in command("predict", run, "--out", "mine.csv").err
    again = pd.read_csv(io.StringIO(outcome.out), dtype={"predicted": str})
    before = pd.read_csv(run / "predictions.csv", dtype={"predicted": str})
    assert (again["predicted"] == before["predicted"]).all()
    assert_frame_equal(again[["probability", "confidence"]], before[["probability", "confidence"]], rtol=1e-4)


def test_a_missing_column_is_named(command: Command, run: Path) -> None:
    grown(run.parent).drop(columns="feature 3").to_csv(run.parent / "more-nodes.csv", index=False)
    outcome = command("predict", run, "more-edges.csv", "more-nodes.csv")
    assert (outcome.code, outcome.out) == (2, "")
    assert "has no column 'feature 3', which the model was trained on" in outcome.err
    outcome = command("predict", run, "more-edges.csv")
    assert (outcome.code, "name the CSV of nodes" in outcome.err) == (2, True)


def test_without_features_other_nodes_are_refused(command: Command, own_files: Path) -> None:
    """Structural features know nodes by their place: a few new ones can be placed, a foreign graph cannot."""
    nodes = pd.read_csv(own_files / "nodes.csv", dtype={"topic": str}, keep_default_na=False)
    nodes[["paper", "topic"]].to_csv(own_files / "bare.csv", index=False)
    words = ("fit", "edges.csv", "bare.csv", "--label", "topic", "--id", "paper", "--seeds", 1, *FEW_EPOCHS)
    assert command(*words, "--no-baselines", "--out", "bare").code == 0
    edges = pd.read_csv(own_files / "edges.csv")
    pd.concat([edges, pd.DataFrame({"source": ["late"], "target": ["node 1"]})]).to_csv("more.csv", index=False)
    outcome = command("predict", "bare", "more.csv")
    assert outcome.code == 0, outcome.err
    (edges + " elsewhere").to_csv("foreign.csv", index=False)
    outcome = command("predict", "bare", "foreign.csv")
    assert (outcome.code, outcome.out) == (2, "")
    assert "trained on features made from the edges" in outcome.err


@pytest.mark.parametrize(("model", "applies"), [("deepwalk", False), ("label-propagation", True)])
def test_a_transductive_method_is_refused_on_other_nodes(
    command: Command, own_files: Path, model: str, applies: bool
) -> None:
    """Label propagation is not: it starts again from the training labels that it finds in the other graph."""
    words = ("fit", "edges.csv", "nodes.csv", "--label", "topic", "--id", "paper", "--model", model)
    assert command(*words, "--seeds", 1, "--no-baselines", "--out", "run").code == 0
    grown(own_files)
    outcome = command("predict", "run", "more-edges.csv", "more-nodes.csv")
    assert (outcome.code, "is transductive" in outcome.err) == ((0, False) if applies else (2, True))
    assert command("predict", "run", "edges.csv", "nodes.csv").code == 0
