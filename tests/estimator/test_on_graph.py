"""Nodes as rows, for scikit-learn's model selection."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score

from hiergcn import Graph, HGCNClassifier, InputError, NodeClassifier, Split
from hiergcn.datasets import planted_graph
from hiergcn.estimator import NotFittedError, OnGraph
from hiergcn.run.fit import fit


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(120, classes=3, noise=1.0, seed=2)


@pytest.fixture(scope="module")
def quick() -> HGCNClassifier:
    return HGCNClassifier(preset="paper", output_relu=False, levels=1, hidden=8, epochs=25, dropout=0.2, device="cpu")


def test_cross_validation(graph: Graph, quick: HGCNClassifier) -> None:
    names = np.array(["red", "green", "blue"])[graph.truth]
    scores = cross_val_score(quick.on(graph), graph.labelled, names, cv=3, error_score="raise")
    assert scores.shape == (3,)
    assert scores.mean() > 0.6  # three classes
    predicted = cross_val_predict(quick.on(graph), graph.labelled, names, cv=3)
    assert set(predicted) <= {"red", "green", "blue"}


def test_a_fold_sees_its_own_labels_only(graph: Graph, quick: HGCNClassifier) -> None:
    """The same figures by hand, with every other label replaced by a wrong one: none of them is looked at."""
    train, test = next(StratifiedKFold(3).split(graph.labelled, graph.truth))
    ours = quick.on(graph.with_labels(np.roll(graph.truth, 1))).fit(train, graph.truth[train])
    hidden = np.full(120, -1)
    hidden[train] = graph.truth[train]
    split = Split.by_id(hidden, graph.ids, test=0.0)
    by_hand = fit(graph.with_labels(hidden), split, quick.settings, [0], device="cpu")
    assert np.array_equal(ours.predict_proba(test), by_hand.probabilities[test])
    assert ours.score(test, graph.truth[test]) == (by_hand.predicted[test] == graph.truth[test]).mean()


def test_grid_search(graph: Graph, quick: HGCNClassifier) -> None:
    search = GridSearchCV(quick.on(graph), {"estimator__levels": [1, 2]}, cv=2, error_score="raise")
    search.fit(graph.labelled.reshape(-1, 1), graph.labels)
    assert search.best_params_["estimator__levels"] in (1, 2)
    assert search.best_estimator_.estimator_.hierarchy_.depth == search.best_params_["estimator__levels"]
    assert search.predict([[0], [5]]).shape == (2,)
    assert quick.get_params()["levels"] == 1  # the one that was given is left alone


def test_a_clone_shares_the_graph(graph: Graph, quick: HGCNClassifier) -> None:
    adapted = quick.on(graph)
    assert isinstance(adapted, OnGraph)
    assert is_classifier(adapted)
    assert clone(adapted).graph is graph
    assert clone(adapted).estimator is not quick


def test_invalid_input(graph: Graph) -> None:
    adapted = NodeClassifier("mlp", epochs=2, device="cpu").on(graph)
    with pytest.raises(NotFittedError, match="call fit first"):
        adapted.predict([0])
    for rows, labels, message in (
        ([0.5, 1.0], [0, 1], "numbers of nodes"),
        (graph.features, graph.labels, "numbers of nodes"),
        ([0, 120], [0, 1], "node numbers are 0 to 119"),
        ([0, -1], [0, 1], "node numbers are 0 to 119"),
        ([3, 3], [0, 1], "given twice"),
        ([3, 4], [0, 1, 2], "give one label each"),
    ):
        with pytest.raises(InputError, match=message):
            adapted.fit(rows, labels)  # type: ignore[arg-type]
