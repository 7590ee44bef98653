"""`hiergcn explain`: a prediction traced back to nodes, features and hyper-nodes."""

import json
from pathlib import Path

import pandas as pd
import pytest
from cli_shell import FEW_EPOCHS, Command

from hiergcn.coarsening import Hierarchy

FIT = ("fit", "edges.csv", "nodes.csv", "--label", "topic", "--id", "paper", "--seeds", 1, "--no-baselines")


@pytest.fixture
def run(command: Command, own_files: Path) -> Path:
    assert command(*FIT, "--model", "hgcn-plus", *FEW_EPOCHS, "--levels", 2, "--out", "run").code == 0
    return own_files / "run"


def test_a_node_is_explained(command: Command, run: Path) -> None:
    outcome = command("explain", "run", "--node", "node 4", "--out", "why.json")
    assert outcome.code == 0, outcome.err
    why = json.loads((run.parent / "why.json").read_text(encoding="utf-8"))
    table = pd.read_csv(run / "predictions.csv", dtype=str, keep_default_na=False)
    assert why["predicted"] == why["explained"] == table["predicted"][4]
    assert why["probability"] == pytest.approx(float(table["probability"][4]), abs=5.01e-5)  # four digits
    total = why["score"] - why["without"] - why["missed"]
    assert sum(why["hops"].values()) == pytest.approx(total)
    assert all(one["hops"] == 0 for one in why["nodes"] if one["id"] == "node 4")
    assert {one["name"] for one in why["features"]} <= {f"feature {k}" for k in range(16)}
    assert "node 4 is predicted to be" in outcome.out
    assert "Level 2: a hyper-node of" in outcome.out
    hierarchy = Hierarchy.load(run / "hierarchy.npz")
    assert [group["level"] for group in why["hyper_nodes"]] == [1, 2]
    for group in why["hyper_nodes"]:
        rows = table.iloc[hierarchy.members(group["level"], int(hierarchy.hyper_nodes(group["level"])[4]))]
        known = rows["split"].isin(["train", "validation"])  # labels of test nodes stay unread
        assert group["size"] == len(rows)
        assert set(group["members"]) <= set(rows["id"])
        assert group["given"] == rows.loc[known, "label"].value_counts().to_dict()
        assert group["predicted"] == rows["predicted"].value_counts().to_dict()


@pytest.mark.parametrize("model", [("--model", "hgcn"), ("--preset", "plus", "--set", "input_dropout_on=propagated")])
def test_other_models_are_explained_too(command: Command, own_files: Path, model: tuple[str, ...]) -> None:
    """Also one that predicts from features which were propagated once, beforehand."""
    assert command(*FIT, *FEW_EPOCHS, *model, "--out", "run").code == 0
    for name in ("why.json", "again.json"):
        outcome = command("explain", "run", "--node", "node 4", "--out", name)
        assert outcome.code == 0, outcome.err
    why, again = ((own_files / name).read_text(encoding="utf-8") for name in ("why.json", "again.json"))
    assert why == again
    assert any(one["share"] for one in json.loads(why)["nodes"])


def test_another_class_and_unknown_names(command: Command, run: Path) -> None:
    assert "the score of 007 is" in command("explain", "run", "--node", "node 4", "--class", "007").out
    for words, sentence in (
        (("--node", "nobody"), "There is no node 'nobody'"),
        (("--node", "Node 4"), "did you mean 'node 4'"),
        (("--node", "nod 41"), "did you mean 'node 41'"),
        (("--node", "node 4", "--class", "rain"), "There is no class 'rain'"),
    ):
        outcome = command("explain", "run", *words)
        assert (outcome.code, outcome.out) == (2, "")
        assert sentence in outcome.err


def test_labels_alone_are_explained_by_labelled_nodes(command: Command, own_files: Path) -> None:
    assert command(*FIT, "--model", "label-propagation", "--out", "run").code == 0
    outcome = command("explain", "run", "--node", "node 4")
    assert outcome.code == 0
    assert "its share of the labels nearby" in outcome.out
    assert "Labelled nodes" in outcome.out
