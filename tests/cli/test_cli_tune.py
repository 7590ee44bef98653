"""`hiergcn tune` from the command line to recipe, picture and the command to fit with."""

import json
import shlex
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from cli_shell import Command

pytest.importorskip("optuna")

WORDS = (
    *("tune", "edges.csv", "nodes.csv", "--label", "topic", "--id", "paper", "--seeds", 1, "--out", "search"),
    *("--set", "epochs=3", "--set", "hidden=8"),
)


def test_a_search_writes_trials_recipe_and_fit_command(command: Command, own_files: Path) -> None:
    outcome = command(*WORDS, "--trials", 2)
    assert outcome.code == 0, outcome.err
    folder = own_files / "search"
    names = {"study.journal", "trials.csv", "best.toml"}
    assert {path.name for path in folder.iterdir()} == names
    assert tomllib.loads((folder / "best.toml").read_text(encoding="utf-8"))["model"]["hidden"] == 8
    (line,) = [line for line in outcome.out.splitlines() if line.startswith("hiergcn fit")]
    fitting = shlex.split(line)[1:]
    assert command(*fitting, "--seeds", 1, "--no-baselines", "--out", "run").code == 0
    found = json.loads((own_files / "run" / "metrics.json").read_text(encoding="utf-8"))
    best = pd.read_csv(folder / "trials.csv")["val_accuracy"].max()
    assert found["val_accuracy"]["mean"] == pytest.approx(best)  # the command repeats the best trial

    outcome = command(*WORDS, "--trials", 3)
    assert outcome.code == 0, outcome.err
    assert "trial 0:" not in outcome.out
    assert "trial 2:" in outcome.out
    trials = pd.read_csv(folder / "trials.csv")
    assert list(trials["trial"]) == [0, 1, 2]
    assert trials["val_accuracy"].between(0, 1).all()
    assert "hidden" not in trials


def test_a_folder_with_other_files_is_refused(command: Command, own_files: Path) -> None:
    (own_files / "search").mkdir()
    (own_files / "search" / "thesis.txt").write_text("precious")
    outcome = command(*WORDS, "--trials", 1)
    assert (outcome.code, "already holds files" in outcome.err) == (2, True)
