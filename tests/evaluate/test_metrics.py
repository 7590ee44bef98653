"""Metrics over seeds and per class."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import f1_score, precision_recall_fscore_support, recall_score

from hiergcn.evaluate.calibration import Temperature
from hiergcn.evaluate.metrics import METRICS, evaluate_model, evaluate_part, evaluate_test, per_class
from hiergcn.graph import Graph, Split

LABELS = np.array([0, 0, 1, 1, 0, 0, 0, 1, 0, 0])


@pytest.fixture
def graph() -> Graph:
    return Graph(sp.csr_array((10, 10)), None, LABELS, class_names=("rain", "sun"))


@pytest.fixture
def split() -> Split:
    return Split(np.array([0, 2]), np.array([1, 3]), np.array([4, 5, 6, 7]))


def probabilities(classes: list[int]) -> np.ndarray:
    return np.where(np.eye(2)[classes] > 0, 0.8, 0.2)


def test_scores_are_of_the_test_nodes_only(graph: Graph, split: Split) -> None:
    predicted = {0: np.array([1, 1, 0, 0, 0, 0, 1, 1, 0, 0]), 2: np.zeros(10, int)}
    report = evaluate_test(graph, split, predicted, [0, 1, 2])
    assert report is not None
    assert report.accuracy.per_seed == (0.75, None, 0.75)
    assert report["balanced_accuracy"].per_seed == pytest.approx([(2 / 3 + 1) / 2, None, 0.5])
    assert report["macro_f1"].per_seed == pytest.approx([(0.8 + 2 / 3) / 2, None, (6 / 7) / 2])
    assert report.accuracy.mean == 0.75
    assert evaluate_part(graph, split.validation, predicted, [0, 2]).accuracy.per_seed == (0.0, 0.5)


def test_scores_per_class(graph: Graph, split: Split) -> None:
    report = evaluate_model(graph, split, probabilities([1, 1, 0, 0, 0, 0, 1, 1, 0, 0]), Temperature(2.0))
    rain, sun = report.per_class
    assert report.on == "test"
    assert (rain.name, rain.precision, rain.support) == ("rain", 1.0, 3)
    assert (rain.recall, rain.f1) == pytest.approx((2 / 3, 0.8))
    assert (sun.precision, sun.recall, sun.support) == (0.5, 1.0, 1)
    calibration = report.calibration()
    assert calibration["ece_before"] == pytest.approx(0.05)  # 0.8 said, 3 of 4 right
    assert calibration["ece_after"] == pytest.approx(0.75 - 2 / 3)  # 0.8 : 0.2 cooled to 2 : 1
    assert (calibration["on"], calibration["temperature"]) == ("test", 2.0)


def test_validation_is_scored_if_there_are_no_test_nodes(graph: Graph, split: Split) -> None:
    bare = replace(split, test=np.empty(0, np.int64))
    assert evaluate_test(graph, bare, {0: LABELS}, [0]) is None
    report = evaluate_model(graph, bare, probabilities([0, 0, 0, 1, 0, 0, 0, 0, 0, 0]), Temperature())
    assert report.on == "validation"
    assert [score.support for score in report.per_class] == [1, 1]
    assert [score.recall for score in report.per_class] == [1.0, 1.0]


def test_a_class_without_nodes_scores_0(graph: Graph, split: Split) -> None:
    named = replace(graph, class_names=("rain", "sun", "snow"))
    three = np.column_stack([probabilities([0] * 10), np.zeros(10)])
    snow = evaluate_model(named, split, three, Temperature()).per_class[2]
    assert (snow.precision, snow.recall, snow.f1, snow.support) == (0.0, 0.0, 0.0, 0)


def test_accuracy_comes_first_and_every_metric_is_reported(graph: Graph, split: Split) -> None:
    report = evaluate_test(graph, split, {0: LABELS}, [0])
    assert report is not None
    assert list(report) == list(METRICS)
    assert next(iter(METRICS)) == "accuracy"
    assert {name: summary.mean for name, summary in report.items()} == dict.fromkeys(METRICS, 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, predicted = rng.integers(0, 6, 40), rng.integers(1, 8, 40)  # classes that occur on one side only
    support = precision_recall_fscore_support(truth, predicted, labels=np.arange(8), zero_division=0)
    np.testing.assert_allclose(np.array(per_class(truth, predicted, 8)), np.array(support), rtol=1e-15)
    seen = np.unique(truth)
    assert METRICS["macro_f1"].score(truth, predicted) == pytest.approx(
        f1_score(truth, predicted, labels=seen, average="macro", zero_division=0)
    )
    assert METRICS["balanced_accuracy"].score(truth, predicted) == pytest.approx(
        recall_score(truth, predicted, labels=seen, average="macro", zero_division=0)
    )
