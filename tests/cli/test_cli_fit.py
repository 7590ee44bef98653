"""`hiergcn fit` from the command line to the run folder."""

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
from cli_shell import FEW_EPOCHS, Command, N

DATA = ("edges.csv", "nodes.csv", "--label", "topic", "--id", "paper")
OWN = ("fit", *DATA, "--model", "hgcn-plus", "--no-baselines", *FEW_EPOCHS)
FILES = {
    *("config.json", "metrics.json", "history.csv", "predictions.csv", "probabilities.npy", "hierarchy.npz"),
    *("model.safetensors", "environment.json", "manifest.json", "report.html", "votes.npz"),
    *("doubtful_labels.csv", "suggestions.csv"),
}


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_predictions_have_the_ids_of_the_files(command: Command, own_files: Path) -> None:
    outcome = command(*OWN, "--seeds", 2, "--levels", 2, "--out", "run")
    assert outcome.code == 0, outcome.err
    run = own_files / "run"
    assert {path.name for path in run.iterdir()} == FILES
    predictions = pd.read_csv(run / "predictions.csv", dtype=str, keep_default_na=False)
    assert list(predictions.columns[:2]) == ["id", "predicted"]
    assert list(predictions["id"]) == [f"node {k}" for k in range(N)]
    assert set(predictions["predicted"]) <= {"<b>maths</b>", "007", "$x_"}
    assert (predictions.loc[predictions["label"] == "", "split"] == "").all()
    test = predictions[predictions["split"] == "test"]
    delivered = (test["predicted"] == test["label"]).mean()  # what is printed is what is delivered
    assert read(run / "metrics.json")["delivered_accuracy"] == delivered
    assert re.search(rf"predictions, test\s+{100 * delivered:.1f}", outcome.out)
    config = read(run / "config.json")
    assert (config["model"]["levels"], config["model"]["hidden"], config["train"]["epochs"]) == (2, 8, 8)
    assert config["source"]["data"] == str(own_files / "edges.csv")
    assert config["source"]["command"].startswith("hiergcn fit edges.csv nodes.csv --label topic")


def test_cora_is_compared_with_the_published_accuracy(command: Command, folder: Path) -> None:
    outcome = command("fit", "cora", "--preset", "paper", "--seeds", 2, "--set", "epochs=3", "--out", "run")
    assert outcome.code == 0, outcome.err
    metrics = read(folder / "run" / "metrics.json")
    expected = {"model", "dataset", "seeds", "test_accuracy", "val_accuracy", "hierarchy", "seconds", "selection"}
    assert expected <= set(metrics)
    assert (metrics["model"], metrics["dataset"], metrics["seeds"]) == ("hgcn", "cora", [0, 1])
    assert metrics["claim"] == 0.845
    assert metrics["baselines"] is None  # named datasets are not compared unless asked
    assert outcome.out.startswith("Reading cora\n")
    assert re.match(r"Cora: [\d.]+ .*Test accuracy on 1,000 nodes, .*The paper", outcome.out.splitlines()[-1])
    assert set(metrics["test_accuracy"]) == {"mean", "std", "per_seed"}
    assert len(metrics["test_accuracy"]["per_seed"]) == 2
    mean = metrics["test_accuracy"]["mean"]
    assert re.search(rf"^each seed, test +{100 * mean:.1f} ", outcome.out, re.MULTILINE)
    assert re.search(r"^the paper's claim +84\.5", outcome.out, re.MULTILINE)
    assert re.search(rf"^test minus claim +{100 * (mean - 0.845):+.1f}", outcome.out, re.MULTILINE)
    assert metrics["selection"] in " ".join(outcome.out.split())
    assert 0 <= metrics["delivered_accuracy"] <= 1
    assert outcome.out.index("each seed, test") < outcome.out.index("predictions, test")
    spread = 100 * metrics["test_accuracy"]["std"]
    page = (folder / "run" / "report.html").read_text(encoding="utf-8")  # its headline is the paper's kind of figure
    assert f"{100 * mean:.1f} ± {spread:.1f} %" in page
    assert "mean ± standard deviation over 2 seeds" in page


def test_output_outside_a_terminal_has_no_colours(command: Command, own_files: Path) -> None:
    outcome = command(*OWN, "--seeds", 2)
    assert "\x1b" not in outcome.out
    assert outcome.err == ""
    assert not [line for line in outcome.out.splitlines() if len(line.rstrip()) > 80]
    assert re.search(r"^seed 0: validation .* \(1 of 2 done, .* left\)$", outcome.out, re.MULTILINE)
    assert re.search(r"^seed 1: validation .* \(2 of 2 done\)$", outcome.out, re.MULTILINE)


def test_a_second_run_gets_its_own_folder(command: Command, own_files: Path) -> None:
    for _ in range(2):
        assert command(*OWN, "--seeds", 1).code == 0
    assert sorted(path.name for path in (own_files / "runs").iterdir()) == ["work-hgcn-plus", "work-hgcn-plus-2"]
    first, second = (
        (own_files / "runs" / name / "predictions.csv").read_bytes() for name in ("work-hgcn-plus", "work-hgcn-plus-2")
    )
    assert first == second


def test_a_class_with_one_label_and_no_edges(command: Command, own_files: Path) -> None:
    """The page of a graph without edges once ended in a traceback, and a class with one label was not mentioned."""
    nodes = pd.read_csv(own_files / "nodes.csv", dtype=str, keep_default_na=False)
    nodes.loc[0, "topic"] = "rare"
    nodes.to_csv(own_files / "nodes.csv", index=False)
    (own_files / "edges.csv").write_text("source,target\n")
    outcome = command(*OWN, "--seeds", 1, "--no-advice", "--out", "run")
    assert outcome.code == 0, outcome.err
    assert (own_files / "run" / "report.html").is_file()
    assert "classes with one label, which trains and leaves none to validate" in " ".join(outcome.out.split())
