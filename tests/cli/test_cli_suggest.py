"""`hiergcn suggest` before and after a fit, and `hiergcn fit --labels` with the file filled in."""

import io
from pathlib import Path

import pandas as pd
from cli_shell import FEW_EPOCHS, Command

FILES = ("edges.csv", "nodes.csv", "--label", "topic", "--id", "paper")
QUICK = ("--model", "gcn", "--seeds", 1, "--no-baselines", *FEW_EPOCHS)


def read(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)


def test_from_suggestions_to_a_fit_and_back(command: Command, own_files: Path) -> None:
    outcome = command("suggest", *FILES, "--budget", 6, "--out", "more.csv")
    assert outcome.code == 0, outcome.err
    assert "6 nodes to label, written to more.csv" in outcome.err
    table = read((own_files / "more.csv").read_text())
    assert list(table) == ["id", "reason", "label"]
    before = read((own_files / "nodes.csv").read_text()).set_index("paper")["topic"]
    assert (before[table["id"]] == "").all()

    table["label"] = "007"
    table.to_csv("more.csv", index=False)
    outcome = command("fit", *FILES, *QUICK, "--labels", "more.csv", "--out", "run")
    assert outcome.code == 0, outcome.err
    assert "labels that more.csv adds: 6" in outcome.out
    predictions = read((own_files / "run" / "predictions.csv").read_text()).set_index("id")
    assert (predictions.loc[table["id"], "label"] == "007").all()
    assert command("predict", "run").code == 0  # the run folder remembers the file

    outcome = command("suggest", "run", "--budget", 5)
    assert outcome.code == 0, outcome.err
    after = read(outcome.out)
    assert len(after) == 5
    assert (predictions.loc[after["id"], "label"] == "").all()
    assert after["reason"].str.contains("confidence").all()

    after.assign(label="$x_").to_csv("next.csv", index=False)
    outcome = command("fit", *FILES, *QUICK, "--labels", "more.csv", "--labels", "next.csv", "--out", "second")
    assert outcome.code == 0, outcome.err
    again = read((own_files / "second" / "predictions.csv").read_text()).set_index("id")
    assert (again.loc[table["id"], "label"] == "007").all()
    assert (again.loc[after["id"], "label"] == "$x_").all()
    tested = [set(one.index[one["split"] == "test"]) for one in (predictions, again)]
    assert tested[0] < tested[1]  # further labels take no node away from the test


def test_labels_for_edges_alone(command: Command, own_files: Path) -> None:
    (own_files / "more.csv").write_text("id,label\n" + "".join(f"node {k},{'ab'[k % 2]}\n" for k in range(8)))
    assert command("fit", "edges.csv", *QUICK, "--labels", "more.csv", "--out", "run").code == 0
    (own_files / "one.csv").write_text("id,label\nnode 1,a\nnode 2,a\n")
    outcome = command("fit", "edges.csv", "--labels", "one.csv", "--out", "other")
    assert (outcome.code, "give two classes or more" in outcome.err) == (2, True)
