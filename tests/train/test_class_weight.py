"""Class weights: their values, the loss, and their effect on rare classes."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score
from sklearn.utils.class_weight import compute_class_weight

from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.run.fit import fit
from hiergcn.settings.settings import settings_for
from hiergcn.train.learners import balanced_weights, labelled_nodes


@given(st.lists(st.integers(0, 5), min_size=1, max_size=50))
def test_weights_are_those_of_scikit_learn(labels: list[int]) -> None:
    array = np.array(labels)
    present = np.unique(array)
    expected = compute_class_weight("balanced", classes=present, y=array)
    ours = balanced_weights(array, 7)
    np.testing.assert_allclose(ours[present], expected, rtol=1e-6)
    assert (np.delete(ours, present) == 1).all()


def imbalanced() -> tuple[Graph, Split]:
    graph = planted_graph(400, classes=2, noise=4.0, homophily=0.6, seed=1)
    one, other = (np.flatnonzero(graph.truth == k) for k in (0, 1))
    train, validation = [*one[:60], *other[:4]], [*one[60:100], *other[4:44]]
    return graph, Split(np.array(train), np.array(validation), np.setdiff1d(np.arange(400), train + validation))


def test_validation_is_weighed_by_the_training_classes() -> None:
    graph, split = imbalanced()
    train, validation = labelled_nodes(Task.of(graph, split), torch.device("cpu"), "balanced")
    assert train.class_weights is not None
    assert validation.class_weights is train.class_weights
    torch.testing.assert_close(train.class_weights, torch.tensor([64 / 120, 64 / 8]))
    assert labelled_nodes(Task.of(graph, split), torch.device("cpu"))[0].class_weights is None


def test_a_rare_class_is_found_more_often() -> None:
    graph, split = imbalanced()
    recall = {}
    for choice in ("none", "balanced"):
        settings = settings_for("hgcn").override(
            {"class_weight": choice, "selection": "loss", "epochs": 60, "levels": 1, "hidden": 8, "dropout": 0.3}
        )
        predicted = fit(graph, split, settings, [0, 1, 2, 3], device="cpu").predicted[split.test]
        truth = graph.truth[split.test]
        recall[choice] = (np.mean(predicted[truth == 1] == 1), balanced_accuracy_score(truth, predicted))
    assert recall["balanced"][0] > recall["none"][0]
    assert recall["balanced"][1] > recall["none"][1]


@pytest.mark.parametrize("method", ["planetoid-t", "dgcn"])
def test_a_method_without_class_weights_is_refused(method: str) -> None:
    graph, split = imbalanced()
    with pytest.raises(InputError, match="cannot weigh classes"):
        fit(graph, split, settings_for(method).override({"class_weight": "balanced"}), [0], device="cpu")
