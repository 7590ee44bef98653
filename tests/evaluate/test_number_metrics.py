"""Metrics of numbers against scikit-learn, and weights of models that predict numbers."""

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from hiergcn.datasets.planted import planted_numbers
from hiergcn.evaluate.answers import NumberAnswers
from hiergcn.evaluate.combination import ENOUGH, combination_weights
from hiergcn.evaluate.conformal import PredictionIntervals
from hiergcn.evaluate.metrics import NUMBER_METRICS, decided, evaluate_part, result_key
from hiergcn.evaluate.number_report import describe_intervals, evaluate_numbers
from hiergcn.graph import Split
from hiergcn.graph.target import Scale


@pytest.mark.parametrize("seed", range(5))
def test_metrics_equal_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, predicted = rng.standard_normal((2, 40))
    found = {name: metric.score(truth, predicted) for name, metric in NUMBER_METRICS.items()}
    assert found == {
        "r2": pytest.approx(r2_score(truth, predicted)),
        "mae": pytest.approx(mean_absolute_error(truth, predicted)),
        "rmse": pytest.approx(root_mean_squared_error(truth, predicted)),
    }


def test_r2_of_equal_values_is_not_defined() -> None:
    assert NUMBER_METRICS["r2"].score(np.ones(3), np.arange(3.0)) is None


def test_reports() -> None:
    graph, split = planted_numbers(50), Split(np.arange(10), np.arange(10, 20), np.arange(20, 50))
    perfect = evaluate_part(graph, split.test, {0: graph.truth}, [0, 1])
    assert perfect["mae"].per_seed == (0.0, None)  # seed 1 failed
    assert list(perfect) == ["r2", "mae", "rmse"]
    assert [result_key(name) for name in perfect] == ["test_r2", "mae", "rmse"]
    report = evaluate_numbers(graph, split, graph.truth + 1.0)
    assert report.metrics()["delivered_mae"] == pytest.approx(1.0)
    untested = evaluate_numbers(graph, Split(split.train, split.validation, np.empty(0, np.int64)), graph.truth)
    assert untested.metrics()["delivered_mae"] is None
    assert untested.metrics()["delivered_val_r2"] == 1.0


def test_decided_and_rounded() -> None:
    outputs = np.array([[1.23456789], [-2.0]])
    assert decided(outputs).tolist() == [1.23456789, -2.0]
    for spread, shown in ((1.0, [1.2346, -2.0]), (0.02, [1.234568, -2.0]), (3e5, [0.0, 0.0])):
        assert NumberAnswers("x", Scale(0.0, spread)).columns(outputs)["predicted"].tolist() == shown


@pytest.mark.parametrize("v", [60, ENOUGH + 50])
def test_weights_prefer_what_predicts_the_numbers(v: int) -> None:
    rng = np.random.default_rng(v)
    truth = rng.standard_normal(v)
    good = [truth + 0.3 * rng.standard_normal(v) for _ in range(2)]
    weights = combination_weights([one[:, None] for one in (*good, np.zeros(v))], truth)
    assert weights[2] <= 0.1  # a little of the mean shrinks the noise
    assert weights.sum() == pytest.approx(1.0)
    mean = weights[:2] @ np.stack(good)
    assert ((mean - truth) ** 2).mean() <= min(((one - truth) ** 2).mean() for one in good) + 1e-12


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_intervals_keep_their_promise_on_average(coverage: float) -> None:
    """Over many draws of exchangeable errors, the share inside is what was asked for."""
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(400):
        error = rng.standard_normal(100) ** 3
        intervals = PredictionIntervals.calibrated(np.zeros(50), error[:50], coverage)
        low, high = intervals.of(np.zeros(50))
        inside.append(((low <= error[50:]) & (error[50:] <= high)).mean())
    assert np.mean(inside) == pytest.approx(coverage, abs=0.02)


def test_intervals_of_too_few_nodes_have_no_ends() -> None:
    graph = planted_numbers(50)
    split = Split(np.arange(10), np.arange(10, 20), np.arange(20, 40), np.arange(40, 45))
    report = evaluate_numbers(graph, split, graph.truth, 0.9)
    saved = report.metrics()["prediction_intervals"]
    assert (saved["half_width"], saved["calibration_nodes"], saved["measured_coverage"]) == (None, 5, 1.0)
    assert "need at least 9 values that neither train nor validate" in describe_intervals(saved)
    columns = NumberAnswers("x", Scale(0.0, 1.0), report.intervals).columns(graph.truth[:, None])
    assert np.isnan(columns["lower"]).all()
    worked = evaluate_numbers(graph, split, graph.truth + np.arange(50), 0.5).intervals
    assert worked is not None
    assert worked.half_width == pytest.approx(42.0)  # errors 40 to 44: the third of five
