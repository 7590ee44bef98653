"""Doubtful labels: judged by other labels alone, and flipped labels are found."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from hiergcn import Graph, planted_graph
from hiergcn.advise import doubtful
from hiergcn.advise.doubtful import FEWEST, averaged, find_doubts
from hiergcn.graph.split import stratified_folds

CLASSES = 4


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(600, classes=CLASSES, depth=1, degree=8, homophily=0.9, noise=1.5, seed=2)


def flipped(graph: Graph, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """120 labelled nodes, their labels of which 12 are wrong, and whether each is."""
    rng = np.random.default_rng(seed)
    nodes = rng.choice(600, 120, replace=False)
    wrong = np.arange(120) < 12
    labels = np.where(wrong, (graph.truth[nodes] + rng.integers(1, CLASSES, 120)) % CLASSES, graph.truth[nodes])
    return nodes, labels, wrong


@pytest.mark.parametrize("with_features", [True, False])
def test_flipped_labels_come_first(graph: Graph, with_features: bool) -> None:
    precision = []
    for seed in range(5):
        nodes, labels, wrong = flipped(graph, seed)
        found = find_doubts(graph.adjacency, graph.features if with_features else None, nodes, labels, CLASSES)
        assert (np.diff(found.of_given) >= 0).all()
        precision.append(np.isin(found.nodes[:12], nodes[wrong]).mean())
    assert np.mean(precision) > 0.8


def test_a_label_has_no_part_in_its_own_judgement(graph: Graph) -> None:
    assert graph.features is not None
    nodes, labels, _ = flipped(graph, 0)
    fold = stratified_folds(labels)
    other = labels.copy()
    other[7] = (labels[7] + 1) % CLASSES
    X = averaged(graph.adjacency, graph.features)[nodes]
    own = fold == fold[7]
    for before, after in (
        tuple(doubtful.judged_by_edges(graph.adjacency, nodes, given, CLASSES, fold) for given in (labels, other)),
        tuple(doubtful._by_features(X, given, CLASSES, fold) for given in (labels, other)),
    ):
        np.testing.assert_array_equal(after[own], before[own])
        assert (after[~own] != before[~own]).any()
        np.testing.assert_allclose(before.sum(axis=1), 1.0, rtol=1e-5)


def plainly_judged(X: np.ndarray, labels: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Return what features say about each fold, by scikit-learn's logistic regression, one fold after the other."""
    found = np.zeros((len(labels), CLASSES))
    for number in np.unique(fold):
        own, known = fold == number, fold != number
        model = LogisticRegression(C=1.0 / doubtful._PENALTY, max_iter=1000, tol=1e-8).fit(X[known], labels[known])
        means = np.stack([X[known & (labels == k)].sum(axis=0) for k in model.classes_])
        nearness = X[own] @ (means / np.linalg.norm(means, axis=1, keepdims=True)).T
        both = model.predict_proba(X[own]), softmax(doubtful._SHARPNESS * nearness, axis=1)
        found[np.ix_(own, model.classes_)] = np.mean(both, axis=0)
    return found


@pytest.mark.parametrize("columns", [10, 300])  # fewer and more than labels
def test_features_judge_as_scikit_learn_does(graph: Graph, columns: int) -> None:
    nodes, labels, _ = flipped(graph, 0)
    labels[labels == 3] = 2
    labels[5] = 3  # the folds that learn without node 5 know no class 3
    assert graph.features is not None
    wide = np.random.default_rng(0).normal(size=(graph.features.shape[1], columns))
    X = averaged(graph.adjacency, (graph.features @ wide).astype(np.float32))[nodes]
    fold = stratified_folds(labels)
    np.testing.assert_allclose(
        doubtful._by_features(X, labels, CLASSES, fold), plainly_judged(X, labels, fold), atol=2e-3
    )


def test_classes_with_few_labels_are_not_judged(graph: Graph) -> None:
    nodes, labels, _ = flipped(graph, 0)
    labels = np.where(labels == 3, 0, labels)
    labels[: FEWEST - 1] = 3
    found = find_doubts(graph.adjacency, graph.features, nodes, labels, CLASSES)
    assert len(found.nodes) == 120 - (FEWEST - 1)
    assert 3 not in found.given


def test_folds_in_turn_give_the_same(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes, labels, _ = flipped(graph, 0)
    together = doubtful.judged_by_edges(graph.adjacency, nodes, labels, CLASSES, stratified_folds(labels))
    monkeypatch.setattr(doubtful, "_MOST_VALUES", 2 * 600 * CLASSES)
    in_turn = doubtful.judged_by_edges(graph.adjacency, nodes, labels, CLASSES, stratified_folds(labels))
    np.testing.assert_allclose(in_turn, together, rtol=1e-6)
