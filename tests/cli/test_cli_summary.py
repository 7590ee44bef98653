"""What a fit of own files says beyond its accuracy: settings, classes, calibration, simpler methods."""

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cli_shell import FEW_EPOCHS, Command

from hiergcn.cli.compare import _points

OWN = ("fit", "edges.csv", "nodes.csv", "--label", "topic", "--id", "paper", "--seeds", 2)
NAMED = (*OWN, "--model", "hgcn-plus")


def metrics(folder: Path) -> Any:
    return json.loads((folder / "metrics.json").read_text(encoding="utf-8"))


def test_own_files_are_compared_with_simpler_methods(command: Command, own_files: Path) -> None:
    pytest.importorskip("torch_geometric")
    outcome = command(*NAMED, *FEW_EPOCHS, "--out", "run")
    assert outcome.code == 0, outcome.err
    found = metrics(own_files / "run")
    assert [one["model"] for one in found["baselines"]] == ["label-propagation", "mlp", "gcn"]
    for one in found["baselines"]:
        mean = one["test"]["accuracy"]["mean"]
        assert re.search(rf"^{one['model']} +{100 * mean:.1f}", outcome.out, re.MULTILINE)


def test_every_class_and_the_confidence_are_shown(command: Command, own_files: Path) -> None:
    outcome = command(*NAMED, *FEW_EPOCHS, "--no-baselines", "--out", "run")
    assert outcome.code == 0, outcome.err
    found = metrics(own_files / "run")
    assert found["baselines"] is None
    assert found["per_class"]["on"] == "test"
    assert "Classes, on test nodes" in outcome.out
    for score in found["per_class"]["classes"]:
        figures = " +".join(f"{100 * score[name]:.1f}" for name in ("precision", "recall", "f1"))
        assert re.search(rf"^{re.escape(score['name'])} +{figures} +{score['support']}$", outcome.out, re.MULTILINE)
    table = pd.read_csv(own_files / "run" / "predictions.csv", dtype={"label": str}, keep_default_na=False)
    assert {"confidence", "given"} <= set(table.columns)
    assert (table["given"] == table["split"].isin(["train", "validation"])).all()
    assert found["calibration"]["on"] == "test"
    assert found["calibration"]["temperature"] == 1.0  # 12 validation nodes are too few
    last = outcome.out.splitlines()[-1]
    nodes = found["split"]["test"]
    right = round(found["delivered_accuracy"] * nodes)
    assert (
        f"{right} of {nodes} test nodes correct" in last if nodes < 20 else "Test accuracy of the predictions" in last
    )
    said = " ".join(outcome.out.split())
    assert (
        "Confidence is not calibrated, because 12 validation nodes are too few." in said
    )  # nor are 10 test nodes enough
    assert said.count("calibrated") == 1


def test_settings_are_adapted_to_the_graph_unless_given(command: Command, own_files: Path) -> None:
    outcome = command(*NAMED, "--set", "epochs=4", "--no-baselines", "--verbose", "--out", "mine")
    assert outcome.code == 0, outcome.err
    assert "features are measurements on different scales" in " ".join(outcome.out.split())
    config = json.loads((own_files / "mine" / "config.json").read_text(encoding="utf-8"))
    assert config["preset"] == "adapted"
    assert (config["method"], config["model"]["scaling"]) == ("hgcn-plus", "standard")
    assert config["train"]["epochs"] == 4
    assert config["reasons"]["scaling"] == "features are measurements on different scales"
    assert "epochs" not in config["reasons"]
    assert config["reasons"]["scaling"] in (own_files / "mine" / "report.html").read_text(encoding="utf-8")
    assert command(*OWN, "--preset", "paper", "--set", "epochs=4", "--no-baselines", "--out", "theirs").code == 0
    config = json.loads((own_files / "theirs" / "config.json").read_text(encoding="utf-8"))
    assert (config["preset"], config["model"]["output_relu"]) == ("paper", True)


def test_differences_have_a_sign_unless_they_are_0() -> None:
    assert [_points(value) for value in (-0.0001, 0.0001, -0.01, 0.123)] == ["0.0", "0.0", "-1.0", "+12.3"]
