"""Metrics over seeds, of classes and of numbers, and the report on an answer."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import metrics as sklearn

from hiergcn.datasets.planted import planted_numbers
from hiergcn.evaluate.calibration import Temperature, describe_promise, reliability
from hiergcn.evaluate.metrics import (
    METRICS,
    Answers,
    Metric,
    evaluate,
    evaluate_part,
    evaluate_test,
    metrics_for,
    per_class,
    result_key,
)
from hiergcn.graph import Graph, Split
from hiergcn.graph.target import Numbers, Scale

LABELS = np.array([0, 0, 1, 1, 0, 0, 0, 1, 0, 0])
NUMBERS = planted_numbers(50)
NUMBER_SPLIT = Split(np.arange(10), np.arange(10, 20), np.arange(20, 40), np.arange(40, 45))


@pytest.fixture
def graph() -> Graph:
    return Graph(sp.csr_array((10, 10)), None, LABELS, class_names=("rain", "sun"))


@pytest.fixture
def split() -> Split:
    return Split(np.array([0, 2]), np.array([1, 3]), np.array([4, 5, 6, 7]))


def probabilities(classes: list[int] | np.ndarray) -> np.ndarray:
    return np.where(np.eye(2)[classes] > 0, 0.8, 0.2)


def test_scores_are_of_the_test_nodes_only(graph: Graph, split: Split) -> None:
    outputs = {0: probabilities([1, 1, 0, 0, 0, 0, 1, 1, 0, 0]), 2: probabilities([0] * 10)}
    report = evaluate_test(graph, split, outputs, [0, 1, 2])
    assert report is not None
    assert report.accuracy.per_seed == (0.75, None, 0.75)  # seed 1 failed
    assert report["balanced_accuracy"].per_seed == pytest.approx([(2 / 3 + 1) / 2, None, 0.5])
    assert report["macro_f1"].per_seed == pytest.approx([(0.8 + 2 / 3) / 2, None, (6 / 7) / 2])
    assert report.accuracy.mean == 0.75
    assert evaluate_part(graph, split.validation, outputs, [0, 2]).accuracy.per_seed == (0.0, 0.5)


def test_scores_per_class(graph: Graph, split: Split) -> None:
    _, metrics = evaluate(graph, split, probabilities([1, 1, 0, 0, 0, 0, 1, 1, 0, 0]))
    rain, sun = metrics["per_class"]["classes"]
    assert (metrics["per_class"]["on"], metrics["delivered_accuracy"]) == ("test", 0.75)
    assert rain == {"name": "rain", "precision": 1.0, "recall": 2 / 3, "f1": pytest.approx(0.8), "support": 3}
    assert (sun["precision"], sun["recall"], sun["support"]) == (0.5, 1.0, 1)
    calibration = metrics["calibration"]
    assert calibration["ece_before"] == pytest.approx(0.05)  # 0.8 said, 3 of 4 right
    assert (calibration["on"], calibration["temperature"]) == ("test", 1.0)  # two validation nodes are too few
    cooled = Temperature(2.0).scale(probabilities([0, 0, 1, 1]))
    assert reliability(cooled, LABELS[4:8]).error == pytest.approx(0.75 - 2 / 3)  # 0.8 : 0.2 cooled to 2 : 1


def test_validation_is_scored_if_there_are_no_test_nodes(graph: Graph, split: Split) -> None:
    bare = replace(split, test=np.empty(0, np.int64))
    assert evaluate_test(graph, bare, {0: probabilities(LABELS)}, [0]) is None
    _, metrics = evaluate(graph, bare, probabilities([0, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
    assert metrics["per_class"]["on"] == "validation"
    assert [(row["support"], row["recall"]) for row in metrics["per_class"]["classes"]] == [(1, 1.0), (1, 1.0)]
    assert (metrics["delivered_accuracy"], metrics["delivered_val_accuracy"]) == (None, 1.0)


def test_every_metric_is_reported_and_one_may_be_of_probabilities(
    graph: Graph, split: Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_loss = Metric("log loss", lambda truth, p: sklearn.log_loss(truth, p, labels=[0, 1]), of_outputs=True)
    monkeypatch.setitem(METRICS, "log_loss", log_loss)
    report = evaluate_test(graph, split, {0: probabilities(LABELS)}, [0])
    assert report is not None
    assert list(report) == ["accuracy", "macro_f1", "balanced_accuracy", "log_loss"]
    assert report.main == report.accuracy
    assert report["macro_f1"].mean == 1.0
    assert report["log_loss"].mean == pytest.approx(-np.log(0.8))


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, predicted = rng.integers(0, 6, 40), rng.integers(1, 8, 40)  # classes that occur on one side only
    support = sklearn.precision_recall_fscore_support(truth, predicted, labels=np.arange(8), zero_division=0)
    np.testing.assert_allclose(np.array(per_class(truth, predicted, 8)), np.array(support), rtol=1e-15)
    seen: Any = {"labels": np.unique(truth), "average": "macro", "zero_division": 0}
    assert METRICS["macro_f1"].score(truth, predicted) == pytest.approx(sklearn.f1_score(truth, predicted, **seen))
    assert METRICS["balanced_accuracy"].score(truth, predicted) == pytest.approx(
        sklearn.recall_score(truth, predicted, **seen)
    )
    truth, predicted = rng.standard_normal((2, 40))
    theirs: dict[str, Callable[..., float]] = {
        "r2": sklearn.r2_score,
        "mae": sklearn.mean_absolute_error,
        "rmse": sklearn.root_mean_squared_error,
    }
    assert list(theirs) == list(metrics_for("numbers"))
    for name, expected in theirs.items():
        assert METRICS[name].score(truth, predicted) == pytest.approx(expected(truth, predicted))


def test_figures_of_numbers() -> None:
    assert METRICS["r2"].score(np.ones(3), np.arange(3.0)) is None  # not defined
    outputs = NUMBERS.truth[:, None]
    perfect = evaluate_part(NUMBERS, NUMBER_SPLIT.test, {0: outputs}, [0, 1])
    assert perfect["mae"].per_seed == (0.0, None)  # seed 1 failed
    assert [result_key(name) for name in perfect] == ["test_r2", "mae", "rmse"]
    assert evaluate(NUMBERS, NUMBER_SPLIT, outputs + 1.0)[1]["delivered_mae"] == pytest.approx(1.0)
    _, untested = evaluate(NUMBERS, replace(NUMBER_SPLIT, test=np.empty(0, np.int64)), outputs)
    assert (untested["delivered_mae"], untested["delivered_val_r2"]) == (None, 1.0)


@pytest.mark.parametrize(("std", "shown"), [(1.0, [1.2346, -2.0]), (0.02, [1.234568, -2.0]), (3e5, [0.0, 0.0])])
def test_numbers_are_rounded_by_their_spread(std: float, shown: list[float]) -> None:
    outputs = np.array([[1.23456789], [-2.0]])
    answers = Answers(Numbers(None, "x", Scale(0.0, std)))
    assert answers.columns(outputs)["predicted"].tolist() == shown


def test_intervals_of_too_few_nodes_have_no_ends() -> None:
    outputs = NUMBERS.truth[:, None]
    answers, metrics = evaluate(NUMBERS, NUMBER_SPLIT, outputs, 0.9)
    saved = metrics["prediction_intervals"]
    assert (saved["half_width"], saved["calibration_nodes"], saved["measured_coverage"]) == (None, 5, 1.0)
    assert "need at least 9 values that neither train nor validate" in describe_promise(saved)
    assert np.isnan(answers.columns(outputs)["lower"]).all()
    assert Answers.from_metrics(answers.target, metrics) == answers
    _, worked = evaluate(NUMBERS, NUMBER_SPLIT, outputs + np.arange(50.0)[:, None], 0.5)
    assert worked["prediction_intervals"]["half_width"] == pytest.approx(42.0)  # errors 40 to 44: the third of five
