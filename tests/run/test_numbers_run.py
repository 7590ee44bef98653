"""Runs that predict numbers: choice, folder, the same predictions again, and newer graphs."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hiergcn.datasets.planted import planted_numbers
from hiergcn.graph import Graph
from hiergcn.run.fit import fit
from hiergcn.run.predict import explain, predictions_again, predictions_on
from hiergcn.run.run import Run

SHIFT, UNIT = 1000.0, 0.01  # values of little spread around a large mean, as voltages are


@pytest.fixture(scope="module")
def graph() -> Graph:
    made = planted_numbers(160, seed=2)
    values = SHIFT + UNIT * made.truth
    values[:20] = np.nan
    ids = np.array([f"n{k}" for k in range(160)], dtype=object)
    return Graph(made.adjacency, made.features, ids=ids, name="mine", targets=values, target_name="price")


@pytest.fixture(scope="module")
def chosen(graph: Graph) -> Run:
    return fit(graph, seeds=[0, 1], device="cpu", changes={"epochs": 30}, time_limit=100.0)


def test_the_choice_is_better_than_its_floors(chosen: Run) -> None:
    assert chosen.leaderboard is not None
    assert chosen.test is not None
    r2 = {one.name: one.test.main.mean for one in chosen.leaderboard if one.test}
    assert {"constant", "label-propagation", "harmonic", "mlp"} <= set(r2)
    floors = [r2[name] or 0.0 for name in ("constant", "label-propagation", "harmonic", "mlp")]
    delivered = chosen.metrics()["delivered_r2"]
    assert delivered > max(floors) + 0.1
    ranked = [one.validation.main.mean or 0.0 for one in chosen.leaderboard if one.validation]
    assert ranked == sorted(ranked, reverse=True)
    assert chosen.verdict is not None


def test_the_folder_gives_the_same_numbers_again(chosen: Run, graph: Graph, tmp_path: Path) -> None:
    chosen.write(tmp_path / "run")
    run = Run.load(tmp_path / "run")
    assert list(run.table.columns) == ["id", "predicted", "given", "value", "split"]
    again = predictions_again(run, graph, "cpu")
    pd.testing.assert_frame_equal(again, run.table, atol=1e-3 * UNIT, rtol=0)
    np.testing.assert_array_equal(run.table["value"], graph.truth)  # exactly as given
    assert np.abs(run.table["predicted"] - chosen.predicted).max() <= 1e-4 * UNIT
    assert run.scores["target"] == "price"
    assert run.test is not None
    assert run.test == chosen.test
    assert run.scores["delivered_mae"] < UNIT
    newer = predictions_on(run, graph, "cpu")  # training values are found by their ids
    assert newer["seen"].all()
    np.testing.assert_allclose(newer["predicted"], chosen.predicted, atol=1e-3 * UNIT)
    found = explain(run, graph, "n7", device="cpu")
    by_method = sum(one.weight * float(one.predicted) for one in found.methods)
    assert by_method == pytest.approx(chosen.predicted[7], abs=1e-2)
    assert all(next(iter(group.predicted)).startswith("values with mean") for group in found.hyper_nodes)


@pytest.mark.parametrize("method", ["harmonic", "label-propagation", "constant", "mlp", "hgcn-plus"])
def test_an_explanation_adds_up_to_the_number(method: str, graph: Graph, tmp_path: Path) -> None:
    changes = {"epochs": 5} if method in ("mlp", "hgcn-plus") else {}
    result = fit(graph, model=method, changes=changes, baselines=("harmonic",), device="cpu")
    assert result.baselines is not None
    assert len(result.baselines) == (method != "harmonic")
    result.write(tmp_path / "run")
    run = Run.load(tmp_path / "run")
    np.testing.assert_allclose(run.model.predict_proba(graph, "cpu"), result.probabilities, atol=1e-4 * UNIT)
    found = explain(run, graph, "n7", device="cpu", top=1000)
    assert (found.explained, found.method, found.probability) == ("price", method, None)
    assert found.score == pytest.approx(result.predicted[7], abs=1e-3 * UNIT)
    assert float(found.predicted) == pytest.approx(result.predicted[7], abs=1e-2)
    total = sum(one.share for one in found.nodes)
    assert total == pytest.approx(found.score - found.without - found.missed, abs=1e-3 * UNIT)
    if changes:
        assert {one.name for one in found.features} <= {f"feature {k}" for k in range(8)}
    else:
        assert [one.name for one in found.features] == ["labels nearby: price"]
