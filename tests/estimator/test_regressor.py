"""The node regressor: predictions, intervals, scores, saving, and scikit-learn's model selection."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_regressor
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score

from hiergcn import Graph, NodeClassifier, NodeRegressor, planted_graph
from hiergcn.datasets.planted import planted_numbers
from hiergcn.errors import InputError
from hiergcn.estimator import NotFittedError

QUICK: dict[str, Any] = {"model": "mlp", "harmonic": True, "dropout": 0.1, "epochs": 40, "device": "cpu"}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_numbers(300, seed=4)


@pytest.fixture(scope="module")
def known(graph: Graph) -> Graph:
    """The same with every third value held back."""
    return graph.with_targets(np.where(np.arange(300) % 3 == 0, np.nan, graph.truth), "price")


@pytest.fixture(scope="module")
def fitted(known: Graph) -> NodeRegressor:
    return NodeRegressor(coverage=0.8, **QUICK).fit(known)


def test_score_is_r2_of_values_that_were_held_back(fitted: NodeRegressor, graph: Graph, known: Graph) -> None:
    held = np.flatnonzero(np.isnan(known.truth))
    predicted = fitted.predict()
    assert fitted.score(graph, held) == pytest.approx(r2_score(graph.truth[held], predicted[held]))
    assert fitted.score(graph, held) > 0.5
    calibrating = fitted.result_.split.calibration
    assert fitted.score(graph) == pytest.approx(fitted.score(graph, np.union1d(held, calibrating)))
    assert is_regressor(fitted)


def test_intervals_hold_most_values(fitted: NodeRegressor, graph: Graph, known: Graph) -> None:
    low, high = fitted.predict_interval()
    held = np.isnan(known.truth)
    inside = (low <= graph.truth) & (graph.truth <= high)
    assert 0.65 < inside[held].mean() < 0.95
    with pytest.raises(InputError, match="Intervals need a coverage"):
        NodeRegressor(**QUICK).set_params(epochs=2).fit(known).predict_interval()


def test_saved_and_loaded(fitted: NodeRegressor, graph: Graph, tmp_path: Path) -> None:
    fitted.save(tmp_path / "run")
    loaded = NodeRegressor.load(tmp_path / "run", device="cpu")
    np.testing.assert_allclose(loaded.predict(), fitted.predict())
    np.testing.assert_allclose(loaded.predict_interval(graph), fitted.predict_interval(), atol=1e-4)
    assert loaded.get_params()["coverage"] == 0.8
    with pytest.raises(InputError, match="has numbers to predict; use NodeRegressor"):
        NodeClassifier.load(tmp_path / "run")


def test_cross_validation(graph: Graph) -> None:
    nodes = graph.labelled
    scores = cross_val_score(NodeRegressor(**QUICK).on(graph), nodes, graph.truth[nodes], cv=3)
    assert scores.min() > 0.4


def test_classes_and_numbers_are_not_mixed_up(graph: Graph) -> None:
    with pytest.raises(InputError, match="has classes to predict; use NodeClassifier"):
        NodeRegressor().fit(planted_graph(100))
    with pytest.raises(InputError, match="has numbers to predict; use NodeRegressor"):
        NodeClassifier().fit(graph)
    with pytest.raises(NotFittedError):
        NodeRegressor().predict()
