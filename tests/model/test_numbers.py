"""Numbers instead of classes: loss and score, methods of labels alone, and every method that can learn them."""

from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.model.ensemble import Ensemble
from hiergcn.model.inputs import build_method
from hiergcn.model.method import Labelled, Measured, NodeModel, activated
from hiergcn.run.fit import fit
from hiergcn.settings.fields import TrainConfig
from hiergcn.settings.registry import config_class, method_names
from hiergcn.settings.settings import effective, settings_for
from hiergcn.train.loop import train_models

CPU = torch.device("cpu")
NODES, VALUES = np.array([0, 3, 5, 8]), np.array([1.0, -2.0, 0.5, 4.0], dtype=np.float32)
LABELS_ALONE = ("label-propagation", "harmonic", "constant")


@cache
def numbers() -> Graph:
    """Numbers that neighbours and features tell: each of four communities has its own, with little noise."""
    graph = planted_graph(300, features=8, noise=0.5, degree=8, seed=1)
    values = np.array([0.0, 1.0, 2.5, 4.0])[graph.labels] + 0.2 * np.random.default_rng(0).standard_normal(300)
    return graph.with_targets(values, "height")


@cache
def split() -> Split:
    return Split.holdout(numbers().strata, 0.2, 0.4, seed=0)


@pytest.fixture
def adjacency() -> sp.csr_array:
    """A weighted path of ten nodes, and one node without edges."""
    rng = np.random.default_rng(0)
    weight = rng.random(9) + 0.5
    half = sp.coo_array((weight, (np.arange(9), np.arange(1, 10))), shape=(11, 11))
    return sp.csr_array(half + half.T)


def solved(method: str, adjacency: sp.csr_array, labels: np.ndarray, classes: int) -> np.ndarray:
    """Return the probabilities or numbers of a method of labels alone."""
    none = np.empty(0, np.int64)
    built = build_method(method, config_class(method)())
    prepared = built.prepare(Task(adjacency, None, classes, none, none, none, none), None, CPU)
    model = built.build(prepared, classes, torch.Generator())
    kind = Measured if classes == 1 else Labelled
    model.solve(kind(torch.from_numpy(NODES), torch.from_numpy(labels)))
    outputs: np.ndarray = activated(model(prepared.features)).numpy()
    return outputs


def test_loss_and_score_are_the_squared_error() -> None:
    nodes, values = torch.tensor([2, 0]), torch.tensor([1.0, 3.0])
    outputs = torch.tensor([[2.0], [9.0], [0.0]])
    measured = Measured(nodes, values)
    assert measured.loss(outputs).item() == 1.0
    assert measured.loss(outputs, "sum").item() == 2.0
    assert measured.score(outputs).item() == 0.0
    assert activated(outputs) is outputs


@pytest.mark.parametrize("method", LABELS_ALONE)
def test_labels_alone_give_the_expected_value_of_their_classes(method: str, adjacency: sp.csr_array) -> None:
    """If every value is a class of its own, the mean of the values under the class probabilities is the number."""
    probabilities = solved(method, adjacency, np.arange(4), 4)
    reached = slice(0, 10)  # the lone node has equal probabilities, or the mean of all
    np.testing.assert_allclose(
        solved(method, adjacency, VALUES, 1)[reached, 0], (probabilities @ VALUES)[reached], atol=1e-4
    )


def test_a_node_that_no_value_reaches_gets_the_mean(adjacency: sp.csr_array) -> None:
    centred = VALUES - VALUES.mean()
    for method in LABELS_ALONE:
        assert solved(method, adjacency, centred, 1)[10, 0] == pytest.approx(0.0, abs=1e-6)


class Fixed(NodeModel):
    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def forward(self, features: object) -> torch.Tensor:
        return torch.full((3, 1), self.value)


def test_an_ensemble_predicts_the_mean_number() -> None:
    assert Ensemble([Fixed(1.0), Fixed(4.0)])(torch.empty(3, 0)).tolist() == [[2.5]] * 3


@pytest.mark.parametrize(
    "method", [name for name in method_names() if config_class(name).predicts_numbers and name != "hgcn-exchange"]
)
def test_methods_learn_numbers_and_repeat(method: str) -> None:
    settings = settings_for(method)
    cheap = {"epochs": 60, "levels": 2, "learning_rate": 0.02, "scaling": "standard", "loss": "mean"}
    settings = settings.override(effective(settings.method, cheap))
    result, again = (fit(numbers(), split(), settings, device="cpu") for _ in range(2))
    least = {"constant": -0.1, "label-propagation": 0.5, "grand": 0.2}
    assert result.scores["delivered_r2"] > least.get(method, 0.7)
    np.testing.assert_array_equal(result.probabilities, again.probabilities)


@pytest.mark.parametrize("method", ["planetoid-i", "dgcn", "graph-unet"])
def test_other_methods_say_so(method: str) -> None:
    with pytest.raises(InputError, match=f"{method} predicts classes only; for numbers choose one of hgcn, hgcn-plus"):
        fit(numbers(), split(), settings_for(method), device="cpu")


def test_class_weights_are_refused() -> None:
    settings = settings_for("gcn").override({"class_weight": "balanced", "epochs": 1})
    with pytest.raises(InputError, match="Numbers have no classes to weigh"):
        fit(numbers(), split(), settings, device="cpu")


def test_replicas_learn_what_each_would_alone() -> None:
    task, config = Task.of(numbers(), split()), TrainConfig(epochs=5, loss="mean")
    method = build_method("gcn", config_class("gcn")())
    prepared = method.prepare(task, None, CPU)
    together: list[Any] = train_models(
        method, prepared, [(task, seed) for seed in [0, 1]], config, CPU, side_by_side=True
    )
    for seed, outcome in enumerate(together):
        alone: Any = train_models(method, prepared, [(task, seed)], config, CPU)[0]
        np.testing.assert_allclose(outcome.probabilities, alone.probabilities, atol=1e-4)
        np.testing.assert_allclose(outcome.history, alone.history, atol=1e-4)


def test_batches_learn_numbers() -> None:
    settings = settings_for("hgcn", "long-range").override({"levels": 2, "batches": 2, "epochs": 25, "hidden": 8})
    without = dict.fromkeys(("nearness", "nearness_shares", "hop_counts", "hop_means"), False)  # need the whole graph
    settings = settings.override({"scaling": "standard"} | without)
    result = fit(numbers(), split(), settings, device="cpu")
    assert result.history["train_loss"].iloc[-1] < 0.8 * result.history["train_loss"].iloc[0]


def test_the_unit_of_the_numbers_does_not_matter() -> None:
    graph = numbers()
    scaled = graph.with_targets(1e6 + 50.0 * graph.truth)
    settings = settings_for("gcn").override({"epochs": 5, "scaling": "standard"})
    one, other = (fit(some, split(), settings, device="cpu") for some in (graph, scaled))
    np.testing.assert_allclose(other.probabilities, 1e6 + 50.0 * one.probabilities, atol=1e-3)
