"""Replicas: each gives the same as alone."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.coarsening import coarsen
from hiergcn.datasets import planted_graph
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.model.hgcn import HGCN, GraphConvolution
from hiergcn.model.inputs import build_method
from hiergcn.model.method import Labelled, NodeModel
from hiergcn.settings.fields import TrainConfig
from hiergcn.settings.registry import config_class, method_names
from hiergcn.settings.settings import settings_for
from hiergcn.train.loop import SeedOutcome, train_models

CPU = torch.device("cpu")
SMALLER: dict[str, dict[str, Any]] = {"hgcn": {"levels": 2, "hidden": 6, "dropout": 0.4}, "grand": {"hidden": 5}}


@pytest.fixture(scope="module", params=["sparse", "dense"])
def graph(request: pytest.FixtureRequest) -> Graph:
    planted = planted_graph(150, seed=3)
    assert planted.features is not None
    dense = planted.features.toarray() if isinstance(planted.features, sp.csr_array) else planted.features
    thin = sp.csr_array(np.where(dense > np.quantile(dense, 0.9), dense, 0.0))
    return Graph(planted.adjacency, thin if request.param == "sparse" else dense, planted.labels)


def tasks_of(graph: Graph, n: int) -> list[Task]:
    return [Task.of(graph, Split.random(graph.truth, per_class=4, validation=30, seed=seed)) for seed in range(n)]


def replicating() -> list[str]:
    own = [name for name in method_names() if config_class(name).__module__.startswith("hiergcn.")]
    return [name for name in own if build_method(name, settings_for(name).model).replicates]


def assert_alike(one: Any, other: Any) -> None:
    assert one.best_epoch == other.best_epoch
    np.testing.assert_allclose(one.history, other.history, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(one.probabilities, other.probabilities, atol=1e-4)


@pytest.mark.parametrize("name", replicating())
@pytest.mark.parametrize("changes", [{}, {"class_weight": "balanced", "optimiser": "sgd", "loss": "mean"}])
def test_each_replica_gives_the_same_as_alone(graph: Graph, name: str, changes: dict[str, Any]) -> None:
    settings = settings_for(name).override(SMALLER.get(name, {}) | {"epochs": 6, "patience": None} | changes)
    method = build_method(name, settings.model)
    tasks, seeds = tasks_of(graph, 3), [4, 0, 4]
    hierarchy = coarsen(graph.adjacency, settings.model.levels) if settings.model.uses_hierarchy else None
    prepared = method.prepare(tasks[0], hierarchy, CPU)
    together = train_models(method, prepared, [*zip(tasks, seeds, strict=True)], settings.train, CPU, side_by_side=True)
    for outcome, task, seed in zip(together, tasks, seeds, strict=True):
        alone = train_models(method, prepared, [(task, seed)], settings.train, CPU)[0]
        assert_alike(outcome, alone)
        torch.testing.assert_close(outcome.weights, alone.weights, rtol=1e-3, atol=1e-4)
    assert not np.array_equal(together[0].history, together[2].history)  # the same seed on another split


COLUMNS = {"harmonic": True, "nearness": True}


@pytest.mark.parametrize(
    ("preset", "changes"),
    [
        ("paper", {"own_weights": True, "weight_embedding": 2, "round_weights": True, **COLUMNS}),
        ("paper", {"scaling": "standard", "networks": 2}),
        ("plus", {"label_prior": 1.0, "balance_below": 20}),
        ("plus", {"label_prior": 1.0, "networks": 2}),
        ("plus", {"input_dropout_on": "propagated", "batch_norm": True, "hidden_dropout": 0.1}),
    ],
)
def test_replicas_of_further_options(graph: Graph, preset: str, changes: dict[str, Any]) -> None:
    smaller = SMALLER["hgcn"] if preset == "paper" else {"levels": 2, "hidden": 8}
    settings = settings_for("hgcn", preset).override(smaller | {"epochs": 8, "patience": None} | changes)
    method, tasks = build_method(settings.method, settings.model), tasks_of(graph, 2)
    prepared = method.prepare(tasks[0], coarsen(graph.adjacency, 2), CPU)
    together = train_models(
        method, prepared, [*zip(tasks, [0, 1], strict=True)], settings.train, CPU, side_by_side=True
    )
    for outcome, task in zip(together, tasks, strict=True):
        assert_alike(outcome, train_models(method, prepared, [(task, outcome.seed)], settings.train, CPU)[0])


def small(graph: Graph) -> tuple[Any, ...]:
    """Return a small H-GCN, its inputs and its task."""
    settings = settings_for("hgcn", "paper").override(SMALLER["hgcn"])
    method, (task,) = build_method("hgcn", settings.model), tasks_of(graph, 1)
    return method, method.prepare(task, coarsen(graph.adjacency, 2), CPU), task


def test_patience_ends_each_replica_when_it_would_end_alone(graph: Graph) -> None:
    (method, prepared, task), config = small(graph), TrainConfig(epochs=60, patience=4)
    together = train_models(method, prepared, [(task, seed) for seed in range(4)], config, CPU, side_by_side=True)
    alone = [train_models(method, prepared, [(task, seed)], config, CPU)[0] for seed in range(4)]
    for outcome, other in zip(together, alone, strict=True):
        assert_alike(outcome, other)
    assert len({len(outcome.history) for outcome in alone}) > 1  # or this shows nothing


def test_a_replica_that_diverges_leaves_the_others_alone(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    (method, prepared, task), config = small(graph), TrainConfig(epochs=5)
    redraw = method.redraw

    def broken_third(model: NodeModel, generator: torch.Generator) -> bool:
        drawn = bool(redraw(model, generator))
        if generator.initial_seed() == 2:
            with torch.no_grad():
                next(model.parameters()).fill_(torch.inf)
        return drawn

    monkeypatch.setattr(method, "redraw", broken_third)
    first, second, third = train_models(
        method, prepared, [(task, seed) for seed in [0, 1, 2]], config, CPU, side_by_side=True
    )
    assert str(third.failure).startswith("diverged at epoch 1 ")
    assert third.probabilities is None
    assert len(third.history) == 1
    alone = train_models(method, prepared, [(task, 1)], config, CPU)[0]
    assert first.failure is None
    np.testing.assert_allclose(second.history, alone.history, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scaling", ["row", "standard"])
def test_a_redrawn_model_equals_a_new_one(graph: Graph, scaling: str) -> None:
    settings = settings_for("hgcn").override(SMALLER["hgcn"] | {"channel_mix": "before_relu", "scaling": scaling})
    method, (task,) = build_method("hgcn", settings.model), tasks_of(graph, 1)
    prepared = method.prepare(task, coarsen(graph.adjacency, 2), CPU)
    anew = method.build(prepared, task.n_classes, torch.Generator().manual_seed(1))
    generators = [torch.Generator().manual_seed(2) for _ in range(2)]
    further = method.build(prepared, task.n_classes, generators[0])
    assert method.redraw(anew, generators[1])
    for (name, one), other in zip(anew.state_dict().items(), further.state_dict().values(), strict=True):
        assert torch.equal(one, other), name
    assert isinstance(anew, HGCN)
    assert all(vars(layer)["generator"] is generators[1] for layer in (*anew.layers, anew.output))
    assert torch.equal(*(generator.get_state() for generator in generators))


def rows_and_outcomes(monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]) -> tuple[set[int], list[SeedOutcome]]:
    """Train replicas on a graph with few labels; return how many rows its layers computed, too."""
    graph = planted_graph(600, classes=3, seed=1)
    settings = settings_for("hgcn", "paper").override(SMALLER["hgcn"] | {"epochs": 6} | changes)
    method = build_method("hgcn", settings.model)
    task = Task.of(graph, Split.random(graph.truth, per_class=3, validation=40, seed=0))
    prepared = method.prepare(task, coarsen(graph.adjacency, 2), CPU)
    rows, forward = set(), GraphConvolution.forward

    def recorded(self: GraphConvolution, *given: Any) -> torch.Tensor:
        result = forward(self, *given)
        rows.add(len(result))
        return result

    with monkeypatch.context() as patch:
        patch.setattr(GraphConvolution, "forward", recorded)
        return rows, train_models(
            method, prepared, [(task, seed) for seed in [0, 1]], settings.train, CPU, side_by_side=True
        )


@pytest.mark.parametrize("changes", [{}, {"networks": 2}, {"channel_mix": "before_relu"}])
def test_rows_that_no_score_depends_on_are_left_out(monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]) -> None:
    rows, outcomes = rows_and_outcomes(monkeypatch, changes)
    monkeypatch.setattr(HGCN, "receptive_field", NodeModel.receptive_field)
    every_row, expected = rows_and_outcomes(monkeypatch, changes)
    assert {9, 49} <= rows  # the training nodes, and all labelled ones
    assert not {9, 49} & every_row
    for one, other in zip(outcomes, expected, strict=True):
        assert_alike(one, other)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("weights", [None, torch.tensor([0.5, 2.0, 1.0])])
def test_the_loss_of_replicas_is_that_of_torch(reduction: str, weights: torch.Tensor | None) -> None:
    logits = torch.randn(4, 9, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    labelled = Labelled(torch.tensor([8, 1, 3, 5]), torch.tensor([0, 2, 1, 1]), weights, reduction=reduction)
    together, alone = torch.vmap(labelled.loss)(logits), torch.stack([labelled.loss(one) for one in logits])
    torch.testing.assert_close(together, alone)
    for one, other in zip(*(torch.autograd.grad(losses.sum(), logits) for losses in (together, alone)), strict=True):
        torch.testing.assert_close(one, other)
