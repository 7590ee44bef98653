"""Conformal thresholds and prediction sets: worked examples, exact coverage, bad input."""

import math

import numpy as np
import pytest
from scipy.special import softmax

from hiergcn.errors import InputError
from hiergcn.evaluate.calibration import PredictionIntervals, PredictionSets, adaptive_scores, fewest_nodes


def conformal_threshold(scores: np.ndarray, coverage: float) -> float:
    return PredictionIntervals.from_scores(scores, coverage).bound


def test_the_threshold_is_an_order_statistic() -> None:
    scores = np.arange(1.0, 20.0)  # 19 scores: (19 + 1) * 0.9 = 18
    assert conformal_threshold(scores[::-1], 0.9) == 18
    assert conformal_threshold(scores, 0.95) == 19
    assert conformal_threshold(scores, 0.96) == math.inf


@pytest.mark.parametrize(("coverage", "nodes"), [(0.5, 1), (0.8, 4), (0.9, 9), (0.95, 19), (0.99, 99)])
def test_fewest_nodes_is_where_the_threshold_becomes_finite(coverage: float, nodes: int) -> None:
    assert fewest_nodes(coverage) == nodes
    assert math.isfinite(conformal_threshold(np.zeros(nodes), coverage))
    assert conformal_threshold(np.zeros(nodes - 1), coverage) == math.inf


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.1, 90.0, math.nan])
def test_coverage_is_a_probability(coverage: float) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        conformal_threshold(np.zeros(9), coverage)


def test_adaptive_scores_by_hand() -> None:
    np.testing.assert_allclose(adaptive_scores(np.array([[0.5, 0.2, 0.3]])), [[0.0, 0.8, 0.5]])


def test_sets_by_hand() -> None:
    p = np.array([[0.6, 0.3, 0.1], [0.9, 0.1, 0.0]])
    assert PredictionSets(0.8, bound=0.7, nodes=10).members(p).tolist() == [[True, True, False], [True, False, False]]
    assert PredictionSets(0.8, bound=0.0, nodes=10).members(p).sum(axis=1).tolist() == [1, 1]
    nothing_known = PredictionSets.calibrated(p[:1], np.array([0]), 0.8)
    assert nothing_known.bound == math.inf
    assert nothing_known.members(p).all()


def test_coverage_is_what_was_asked_for() -> None:
    """Over many draws of calibrating nodes, for probabilities that are far too confident."""
    rng = np.random.default_rng(0)
    n, classes = 4000, 5
    logits = rng.normal(size=(n, classes))
    truth = np.array([rng.choice(classes, p=row) for row in softmax(logits, axis=1)])
    p = softmax(4 * logits, axis=1)
    for coverage in (0.8, 0.95):
        held = []
        for _ in range(100):
            order = rng.permutation(n)
            known, rest = order[:60], order[60:]
            inside = PredictionSets.calibrated(p[known], truth[known], coverage).members(p[rest])
            assert inside.any(axis=1).all()
            held.append(inside[np.arange(len(rest)), truth[rest]].mean())
        assert coverage - 0.01 < np.mean(held) < coverage + 1 / 61 + 0.01


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_intervals_keep_their_promise_on_average(coverage: float) -> None:
    """Over many draws of exchangeable errors, the share inside is what was asked for."""
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(400):
        error = rng.standard_normal(100) ** 3
        intervals = PredictionIntervals.calibrated(np.zeros(50), error[:50], coverage)
        low, high = intervals.ends(np.zeros(50))
        inside.append(((low <= error[50:]) & (error[50:] <= high)).mean())
    assert np.mean(inside) == pytest.approx(coverage, abs=0.02)
