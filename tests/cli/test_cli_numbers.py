"""`--target`: numbers from files to predictions, page and newer files."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_shell import Command

from hiergcn.datasets.planted import planted_numbers

N = 150
FILES = ("edges.csv", "nodes.csv", "--target", "price")
QUICK = ("--set", "epochs=12", "--time-limit", 60, "--seeds", 2, "--coverage", 0.8)


@pytest.fixture
def numbers(folder: Path) -> Path:
    graph = planted_numbers(N, seed=1)
    values = np.where(np.arange(N) % 3 == 0, np.nan, 100 + graph.truth)
    graph.with_targets(values, "price").to_csv(folder / "edges.csv", folder / "nodes.csv")
    return folder


def test_from_files_to_predictions(command: Command, numbers: Path) -> None:
    outcome = command("fit", *FILES, *QUICK, "--out", "run")
    assert outcome.code == 0, outcome.err
    for words in ("Chosen for price of work", "Leaderboard, best on validation first", "constant", "Intervals of 80 %"):
        assert words in outcome.out
    table = pd.read_csv("run/predictions.csv")
    assert list(table) == ["id", "predicted", "lower", "upper", "given", "value", "split"]
    assert (table["lower"] < table["predicted"]).all()
    assert table["value"].isna().sum() == N // 3
    metrics = json.loads(Path("run/metrics.json").read_text())
    assert metrics["prediction_intervals"]["coverage"] == 0.8
    page = Path("run/report.html").read_text()
    assert "R² of the predicted price on" in page
    assert "Largest errors" in page
    again = command("predict", "run")
    assert again.code == 0, again.err
    repeated = pd.read_csv(io.StringIO(again.out))
    np.testing.assert_allclose(repeated["predicted"], table["predicted"], atol=1e-2)
    np.testing.assert_allclose(repeated["upper"], table["upper"], atol=1e-2)
    newer = command("predict", "run", "edges.csv", "nodes.csv")
    assert list(pd.read_csv(io.StringIO(newer.out))) == ["id", "predicted", "lower", "upper", "seen"]
    explained = command("explain", "run", "--node", 3)
    assert explained.code == 0, explained.err
    assert "price of 3 is predicted to be" in explained.out
    assert f"Interval of 80 %: {table['lower'][3]:g} to {table['upper'][3]:g}" in explained.out
    assert "Contributions add up to the difference" in explained.out
    assert command("suggest", "run", "--budget", 5).code == 0
    assert command("report", "run").code == 0


def test_a_named_method_and_its_floors(command: Command, numbers: Path) -> None:
    checked = command("check", *FILES, "--no-estimate").out
    for words in ("target: a number to predict", "Target price", "values: their correlation", "A fit would work"):
        assert words in checked
    outcome = command("fit", *FILES, "--model", "gcn", "--set", "epochs=5", "--seeds", 1, "--out", "run")
    assert outcome.code == 0, outcome.err
    assert "Other methods on the same split" in outcome.out
    assert all(name in outcome.out for name in ("constant", "harmonic", "label-propagation", "mlp"))
    refused = command("fit", *FILES, "--model", "deepwalk", "--out", "other")
    assert refused.code == 2
    assert "deepwalk predicts classes only; for numbers choose one of" in refused.err


def test_further_values_and_what_takes_classes_only(command: Command, numbers: Path) -> None:
    pd.DataFrame({"id": [0, 3, 6], "label": ["99.5", "", "-1"]}).to_csv("more.csv", index=False)
    quick = ("--model", "constant", "--no-baselines", "--seeds", 1)
    outcome = command("fit", *FILES, "--labels", "more.csv", *quick, "--out", "run")
    assert outcome.code == 0, outcome.err
    assert "values that more.csv adds: 2" in outcome.out
    assert pd.read_csv("run/predictions.csv").set_index("id")["value"][[0, 6]].tolist() == [99.5, -1.0]
    Path("wrong.csv").write_text("id,label\n0,cheap\n")
    assert (
        "wrong.csv, row 2, column 'label': 'cheap' in the column" in command("fit", *FILES, "--labels", "wrong.csv").err
    )
    for words in (("compare", "us-counties"), ("tune", "us-counties")):
        refused = command(*words)
        assert refused.code == 2
        assert "has numbers to predict, and" in refused.err
    refused = command("fit", *FILES, "--drop-doubtful", 3, "--out", "run2")
    assert (refused.code, "leave out --drop-doubtful" in refused.err) == (2, True)
    assert not Path("run2.checkpoint").exists()  # the corrected command is not refused
