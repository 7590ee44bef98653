"""Nearness of labels: hops to the nearest label of each class, never the node's own, and the perceptron beside."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import dijkstra

from hiergcn.datasets import planted_graph, planted_numbers
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.neighbourhoods import hops_to_classes
from hiergcn.graph.task import Task
from hiergcn.model.inputs import build_method
from hiergcn.model.nearness import NearnessModel
from hiergcn.settings.settings import settings_for
from hiergcn.train.trainer import Trainer

CPU = torch.device("cpu")


def test_hops_are_those_to_the_nearest_other_label() -> None:
    graph = planted_graph(300, classes=10, degree=3, seed=3)
    nodes = np.random.default_rng(0).choice(300, 60, replace=False)
    labels = graph.truth[nodes]
    hops = dijkstra(graph.adjacency, unweighted=True)
    expected = np.full((300, 10), np.inf)
    for node in range(300):
        for label in range(10):
            others = nodes[(labels == label) & (nodes != node)]
            expected[node, label] = hops[node, others].min(initial=np.inf)
    np.testing.assert_array_equal(hops_to_classes(graph.adjacency, nodes, labels, 10), expected)


@pytest.fixture
def graph() -> Graph:
    return planted_graph(90, classes=3, seed=1)


@pytest.fixture
def split(graph: Graph) -> Split:
    return Split.holdout(graph.truth, 0.3, 0.3, 0)


@pytest.mark.parametrize("weight", [0.5, 0.7])
def test_the_answer_is_the_mean_of_network_and_perceptron(graph: Graph, split: Split, weight: float) -> None:
    settings = settings_for("gcn").override({"nearness": True, "nearness_weight": weight})
    method = build_method("gcn", settings.model)
    prepared = method.prepare(Task.of(graph, split), None, CPU)
    model = method.build(prepared, 3, torch.Generator().manual_seed(0)).eval()
    assert isinstance(model, NearnessModel)
    network = torch.softmax(model.network(prepared.features), dim=1)
    beside = torch.softmax(model._by_nearness(), dim=1)
    torch.testing.assert_close(model(prepared.features).exp(), (1 - weight) * network + weight * beside)


@pytest.mark.parametrize("method", ["hgcn", "gcn", "mlp"])
def test_models_with_nearness_train_and_come_back(graph: Graph, split: Split, method: str) -> None:
    settings = settings_for(method, "long-range" if method == "hgcn" else None)
    settings = settings.override({"nearness": True, "epochs": 5, "patience": None})
    trainer = Trainer(graph, "cpu")
    outcome: Any = next(iter(trainer.train(settings, [(split, 0)])))
    model, features = trainer.restore(settings, split, outcome.weights)
    np.testing.assert_allclose(model(features).exp().detach().numpy(), outcome.probabilities, atol=1e-5)


def test_numbers_have_no_classes_to_be_near_to() -> None:
    graph = planted_numbers(60, seed=0)
    settings = settings_for("mlp").override({"nearness": True})
    with pytest.raises(InputError, match="Numbers have no classes to be near to"):
        Trainer(graph, "cpu").prepare(settings, Split.holdout(graph.strata, 0.2, 0.2, 0))
