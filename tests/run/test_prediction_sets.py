"""Prediction sets through a fit: calibrated on labels that neither train nor validate, kept in the run folder."""

from pathlib import Path

import numpy as np
import pytest

from hiergcn import Graph, InputError, NodeClassifier, planted_graph
from hiergcn.evaluate.calibration import SEPARATOR, describe_promise
from hiergcn.graph import Split
from hiergcn.run.fit import fit
from hiergcn.run.predict import explain, predictions_again, predictions_on
from hiergcn.run.run import Run


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(600, classes=4, depth=1, degree=6, homophily=0.5, noise=4.0, seed=4)


@pytest.fixture(scope="module")
def result(graph: Graph) -> Run:
    split = Split.random(graph.truth, 10, 200, None, seed=0)
    return fit(graph, split, model="gcn", changes={"epochs": 30}, device="cpu", coverage=0.9)


def test_coverage_is_kept_on_test_nodes(result: Run) -> None:
    sets, split = result.metrics()["prediction_sets"], result.split
    assert (split.validation.size, split.calibration.size, sets["calibration_nodes"]) == (100, 100, 100)
    assert sets["measured_coverage"] == pytest.approx(0.9, abs=0.06)
    assert 1.0 < sets["mean_size"] < 4.0
    assert sum(sets["sizes"]) == 600
    truth = result.graph.truth
    names = result.predictions()["set"].str.split(SEPARATOR, regex=False)
    held = [result.graph.class_names[truth[k]] in names[k] for k in split.test]
    assert np.mean(held) == sets["measured_coverage"]
    assert (names.str[0] == result.predictions()["predicted"]).all()
    assert set(result.predictions()["split"]) == {"train", "validation", "test", "calibration"}


def test_a_run_folder_keeps_the_sets(result: Run, graph: Graph, tmp_path: Path) -> None:
    result.from_source({"python": "NodeClassifier()"}).write(tmp_path / "run")
    page = Run.load(tmp_path / "run").write_page().read_text(encoding="utf-8")
    assert describe_promise(result.metrics()["prediction_sets"]) in page
    run = Run.load(tmp_path / "run")
    before = result.predictions()["set"].to_list()
    assert run.table["set"].to_list() == before
    assert predictions_again(run, graph, "cpu")["set"].to_list() == before
    assert predictions_on(run, graph, "cpu")["set"].to_list() == before
    told = explain(run, graph, str(graph.ids[7]), device="cpu")
    assert (told.set, told.coverage) == (before[7], 0.9)


def test_too_few_labels_give_every_class_and_a_sentence(graph: Graph) -> None:
    split = Split.random(graph.truth, 5, 16, None, seed=0)
    result = fit(graph, split, model="label-propagation", device="cpu", coverage=0.9)
    assert np.array_equal(result.split.train, split.train)
    assert result.metrics()["prediction_sets"]["sizes"] == [0, 0, 0, 600]
    assert all(set(one.split(SEPARATOR)) == set(graph.class_names) for one in result.predictions()["set"])
    said = describe_promise(result.metrics()["prediction_sets"])
    assert "need at least 9 labels" in said
    assert "every set holds every class" in said


def test_the_classifier_gives_sets(graph: Graph, tmp_path: Path) -> None:
    classifier = NodeClassifier("label-propagation", coverage=0.8, device="cpu").fit(graph)
    sets = classifier.predict_set()
    assert sets.shape == (600, 4)
    assert sets.any(axis=1).all()
    classifier.save(tmp_path / "run")
    loaded = NodeClassifier.load(tmp_path / "run", device="cpu")
    assert loaded.coverage == 0.8
    np.testing.assert_array_equal(loaded.predict_set(), sets)
    with pytest.raises(InputError, match="need a coverage"):
        NodeClassifier("label-propagation", device="cpu").fit(graph).predict_set()
    with pytest.raises(InputError, match="between 0 and 1"):
        NodeClassifier("label-propagation", coverage=90, device="cpu").fit(graph)
