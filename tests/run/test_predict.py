"""Saved models: the same predictions again, other graphs, and explanations."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hiergcn.datasets import planted_graph
from hiergcn.files import DIGITS
from hiergcn.graph import Graph
from hiergcn.run.fit import fit, resolve_split
from hiergcn.run.predict import explain, predictions_again
from hiergcn.run.run import Run
from hiergcn.settings.settings import settings_for


@pytest.fixture(scope="module")
def graph() -> Graph:
    planted = planted_graph(120, seed=3)
    ids = np.array([f"node {i}" for i in range(120)], dtype=object)
    return Graph(planted.adjacency, planted.features, planted.labels, ids, ("a", "b", "c", "d"), "mine")


@pytest.fixture(scope="module")
def result(graph: Graph) -> Run:
    settings = settings_for("hgcn", "paper").override({"levels": 2, "hidden": 8, "epochs": 5})
    return fit(graph, resolve_split(graph), settings, device="cpu")


@pytest.fixture(scope="module")
def run(result: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder: Path = tmp_path_factory.mktemp("runs") / "run"
    result.write(folder)
    return Run.load(folder)


def test_predictions_again(run: Run, result: Run, graph: Graph) -> None:
    for model in (run.model, result.model):
        np.testing.assert_allclose(model.predict_proba(graph, "cpu"), run.probabilities, rtol=1e-5)
    written = 10.0**-DIGITS  # what the table was rounded to when it was written
    pd.testing.assert_frame_equal(predictions_again(run, graph, "cpu"), run.table, rtol=0, atol=written)


def test_predictions_of_batches_again(graph: Graph, tmp_path: Path) -> None:
    """The whole graph has edges that the batches lack, so it gives others."""
    changes = {"levels": 2, "hidden": 8, "epochs": 5, "batches": 4, "batch_validation": True}
    fitted = fit(graph, resolve_split(graph), settings_for("hgcn", "paper").override(changes), device="cpu")
    fitted.write(tmp_path / "run")
    run = Run.load(tmp_path / "run")
    pd.testing.assert_frame_equal(predictions_again(run, graph, "cpu"), run.table)
    assert not np.allclose(run.model.predict_proba(graph, "cpu"), run.probabilities, rtol=0, atol=1e-5)


def test_explanation_adds_up_to_the_score(run: Run, graph: Graph) -> None:
    found = explain(run, graph, "node 7", top=200, device="cpu")
    assert found.predicted == found.explained == run.table["predicted"][7]
    change = found.score - found.without - found.missed
    assert sum(one.share for one in found.nodes) == pytest.approx(change, abs=1e-4)
    assert sum(one.share for one in found.features) == pytest.approx(change, abs=1e-4)
    assert sum(found.hops.values()) == pytest.approx(change, abs=1e-4)
    assert [group.level for group in found.hyper_nodes] == [1, 2]
    assert all("node 7" in group.members or group.size > len(group.members) for group in found.hyper_nodes)
    other = next(name for name in graph.class_names if name != found.predicted)
    assert explain(run, graph, "node 7", class_=other, device="cpu").explained == other
