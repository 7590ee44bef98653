"""The training loop: selection, restoring, repeating, failing."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from hiergcn.coarsening import Hierarchy, coarsen
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.graph import Split
from hiergcn.graph.task import Task
from hiergcn.model.hgcn import HGCNMethod
from hiergcn.model.method import Features, Labelled, Method, NodeModel, Optimiser, Prepared, Weights
from hiergcn.settings.fields import TrainConfig
from hiergcn.settings.methods import HGCNConfig
from hiergcn.train.events import EpochDone
from hiergcn.train.learners import make_optimiser
from hiergcn.train.loop import SeedOutcome, train_models

CPU = torch.device("cpu")
SMALL = HGCNConfig(levels=2, hidden=8, channels=2, weight_embedding=2, dropout=0.5)


@pytest.fixture(scope="module")
def task() -> Task:
    graph = planted_graph(200, seed=1)
    return Task.of(graph, Split.random(graph.truth, per_class=5, validation=40, seed=0))


class Scripted(NodeModel):
    """Returns the logits of a script, one matrix per epoch."""

    def __init__(self, script: list[Tensor]) -> None:
        super().__init__()
        self.script = script
        self.register_buffer("epoch", torch.zeros((), dtype=torch.int64))
        self.free = nn.Parameter(torch.zeros(1))

    epoch: Tensor

    def step(self, features: Features, labelled: Labelled, optimiser: Optimiser, epoch: int) -> float:
        self.epoch.fill_(epoch)
        return 1.0

    def forward(self, features: Features) -> Tensor:
        return self.script[int(self.epoch) - 1]


class ScriptedMethod(Method):
    def __init__(self, script: list[Tensor]) -> None:
        self.script = script

    def prepare(
        self, task: Task, hierarchy: Hierarchy | None, device: torch.device, weights: Weights | None = None
    ) -> Prepared:
        return Prepared(torch.zeros(1), None)

    def build(self, prepared: Prepared, n_classes: int, generator: torch.Generator) -> NodeModel:
        return Scripted(self.script)


def scripted_outcome(rows: list[tuple[float, float]], **config: Any) -> SeedOutcome:
    """Two validation nodes of class 0; each row gives the logit margins by which class 0 leads."""
    nodes = np.array([0, 1])
    adjacency = planted_graph(8, classes=2, depth=1, degree=2, seed=0).adjacency
    labels = np.zeros(2, dtype=np.int64)
    task = Task(adjacency, None, 2, nodes, labels, nodes, labels)
    script = [torch.tensor([[a, 0.0], [b, 0.0]]) for a, b in rows]
    settings = TrainConfig(epochs=len(rows), **config)
    return train_models(ScriptedMethod(script), Prepared(torch.zeros(1), None), [(task, 0)], settings, CPU)[0]


@pytest.mark.parametrize(
    ("rows", "selection", "best"),
    [
        ([(1.0, -0.1), (1.0, 1.0), (2.0, 2.0), (1.5, 1.5), (9.0, -9.0)], "accuracy", 3),  # of three, the lowest loss
        ([(1.0, 1.0), (1.0, 1.0)], "accuracy", 1),  # the first of equals
        ([(0.01, 0.01), (5.0, -0.1)], "accuracy", 1),  # losses 0.688 and 0.376; accuracies 1 and 0.5
        ([(0.01, 0.01), (5.0, -0.1)], "loss", 2),
    ],
)
def test_selection_by_validation(rows: list[tuple[float, float]], selection: str, best: int) -> None:
    outcome = scripted_outcome(rows, selection=selection)
    assert outcome.best_epoch == best
    assert int((outcome.weights or {})["epoch"]) == best


def test_patience_ends_training() -> None:
    rows = [(1.0, 1.0)] + [(0.5, 0.5)] * 9
    outcome = scripted_outcome(rows, patience=3)
    assert len(outcome.history) == 4
    assert outcome.best_epoch == 1


def test_divergence_is_a_failure_with_a_reason() -> None:
    outcome = scripted_outcome([(1.0, 1.0), (math.nan, 1.0), (1.0, 1.0)])
    assert outcome.failure == "diverged at epoch 2 (training loss 1, validation loss nan)"
    assert outcome.probabilities is None
    assert outcome.weights is None
    assert len(outcome.history) == 2
    assert outcome.validation_accuracy is None


def test_l2_falls_on_weight_matrices_alone(task: Task) -> None:
    method = HGCNMethod(replace(SMALL, own_weights=True))
    model = method.build(method.prepare(task, coarsen(task.adjacency, 2), CPU), 4, torch.Generator())
    decayed, free = make_optimiser(model, dict(model.named_parameters()), TrainConfig()).param_groups
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    assert decayed["weight_decay"] == 0.0007
    assert free["weight_decay"] == 0.0
    assert {names[id(p)].split(".")[-1] for p in decayed["params"]} == {"theta", "phi"}
    assert {names[id(p)].split(".")[-1] for p in free["params"]} == {"w", "V"}


def test_the_callback_gets_seed_epoch_and_best_accuracy(task: Task) -> None:
    method = HGCNMethod(SMALL)
    prepared = method.prepare(task, coarsen(task.adjacency, 2), CPU)
    calls: list[EpochDone] = []
    outcomes = train_models(
        method, prepared, [(task, seed) for seed in [7, 4]], TrainConfig(epochs=3), CPU, calls.append, side_by_side=True
    )
    assert [call[:2] for call in calls] == [(7, 1), (4, 1), (7, 2), (4, 2), (7, 3), (4, 3)]
    assert [call[2] for call in calls[-2:]] == [outcome.validation_accuracy for outcome in outcomes]


@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (4.0, 2.0, 0.5)])
def test_the_loss_is_the_cross_entropy_over_labelled_nodes(weights: tuple[float, ...]) -> None:
    logits = np.array([[2.0, -1.0, 0.5], [0.0, 0.0, 0.0], [1.0, 3.0, -2.0], [9.0, 9.0, 9.0]])
    nodes, classes, weight = np.array([0, 2]), np.array([1, 0]), np.array(weights)
    single = [-math.log(math.exp(logits[i, k]) / np.exp(logits[i]).sum()) for i, k in zip(nodes, classes, strict=True)]
    total = float(weight[classes] @ single)
    labelled = Labelled(torch.from_numpy(nodes), torch.from_numpy(classes), torch.from_numpy(weight))
    assert labelled.loss(torch.from_numpy(logits), "sum").item() == pytest.approx(total)
    assert labelled.loss(torch.from_numpy(logits), "mean").item() == pytest.approx(total / weight[classes].sum())


@pytest.mark.parametrize(("setting", "value"), [("loss", "max"), ("selection", "test"), ("optimiser", "lion")])
def test_settings_that_make_no_sense_are_refused(setting: str, value: Any) -> None:
    with pytest.raises(InputError, match=setting):
        TrainConfig(**{setting: value})
