"""Runs between docs/results/runs and a store of `hiergcn reproduce`, there and back."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest
from made_up import record_of

from hiergcn.paper.collect import Results
from hiergcn.paper.experiments import FULL, experiments

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "adopt_runs.py"


@pytest.fixture
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("adopt_runs", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_cell_that_goes_to_the_runs_comes_back_as_it_was(script: ModuleType, tmp_path: Path) -> None:
    cells = {cell.key: cell for cell in experiments(FULL)["table2"].cells()}
    cell, other = cells["gcn", "cora", ""], cells["gcn", "citeseer", ""]
    records = [record_of(cell, place, None if place == 3 else 0.8 + 0.001 * place) for place in range(20)]
    found = Results(records).cell(cell)
    kept = script.kept(found)
    (tmp_path / "cora-gcn-default.json").write_text(json.dumps(kept), encoding="utf-8")
    again = Results(list(script.adopted(cell, tmp_path))).cell(cell)
    assert again.scores == found.scores
    assert again.failed == 1
    assert kept["metrics"]["failed_seeds"] == {"3": "diverged at epoch 2"}
    assert kept["metrics"]["claim"] == pytest.approx(0.815)
    assert list(script.adopted(other, tmp_path)) == []


def test_the_folder_of_runs_follows_the_store_unless_it_has_more(script: ModuleType, tmp_path: Path) -> None:
    cells = {cell.key: cell for cell in experiments(FULL)["table2"].cells()}
    cell = cells["gcn", "cora", ""]
    records = [record_of(cell, place, 0.8) for place in range(20)]
    assert script.news(Results(records[:1]).cell(cell), tmp_path)  # there is nothing in the folder yet
    kept = script.kept(Results(records).cell(cell))
    (tmp_path / "cora-gcn-default.json").write_text(json.dumps(kept), encoding="utf-8")
    assert not script.news(Results(records).cell(cell), tmp_path)
    others = [record_of(cell, place, 0.7) for place in range(20)]
    assert script.news(Results(others).cell(cell), tmp_path)
    assert not script.news(Results(others[:19]).cell(cell), tmp_path)
    assert not script.news(Results([]).cell(cell), tmp_path)
