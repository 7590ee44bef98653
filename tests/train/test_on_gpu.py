"""Training on a GPU: alone, side by side, replayed and recomputed it gives the same."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from hiergcn.coarsening import coarsen
from hiergcn.datasets import planted_graph, planted_numbers
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.model import ops
from hiergcn.model.hgcn import HGCN
from hiergcn.model.inputs import build_method
from hiergcn.model.method import NodeModel
from hiergcn.model.ops.dropout import ReplicaGenerator, dropout
from hiergcn.model.ops.replicas import vmap
from hiergcn.settings.settings import effective, settings_for
from hiergcn.train import side_by_side
from hiergcn.train.batches import Batches
from hiergcn.train.loop import train_models
from hiergcn.train.side_by_side import Captured

if not torch.cuda.is_available():
    pytest.skip("this is about training on a GPU", allow_module_level=True)

GPU = torch.device("cuda")


@pytest.fixture(scope="module", params=["dense", "sparse"])
def graph(request: pytest.FixtureRequest) -> Graph:
    planted = planted_graph(600, classes=3, features=12, seed=1)
    assert isinstance(planted.features, np.ndarray)
    features = planted.features * (planted.features > 1) if request.param == "sparse" else planted.features
    return Graph(planted.adjacency, features, planted.labels)


def prepared_for(graph: Graph, name: str, **changes: Any) -> tuple[Any, ...]:
    """Return the method, its prepared inputs, the task and the training settings."""
    settings = settings_for(name)
    settings = settings.override(
        effective(settings.method, {"levels": 2, "hidden": 8, "epochs": 8, "patience": None}) | changes
    )
    task = Task.of(graph, Split.random(graph.truth, per_class=10, validation=100, seed=0))
    method = build_method(name, settings.model)
    return method, method.prepare(task, coarsen(graph.adjacency, 2), GPU), task, settings.train


OPTIONS = {"own_weights": True, "round_weights": True}
COLUMNS = {"harmonic": True, "sharp": True}
NARROW = {"hidden": 2, "output_relu": True}  # narrower than the three classes, so that propagation comes first
SEVERAL = {"networks": 2, "label_prior": 2.0, "prediction_balance": 0.5}


@pytest.fixture(params=["kernels", "plain operations"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the kernels, which a graph as small as these does without, and without."""
    monkeypatch.setattr(ops, "FEW_ENTRIES", 0 if request.param == "kernels" else 2**16)


CASES: list[tuple[str, dict[str, Any]]] = [
    *(("hgcn", changes) for changes in ({}, OPTIONS, COLUMNS, NARROW)),
    *(("hgcn-plus", changes) for changes in ({}, SEVERAL)),
    *((flat, {"layers": 3}) for flat in ("gcn", "graphsage", "gcnii")),
]


@pytest.mark.parametrize(("name", "changes"), CASES)
@pytest.mark.usefixtures("either_way")
def test_each_replica_gives_the_same_as_alone(graph: Graph, name: str, changes: dict[str, Any]) -> None:
    """Replicas are replayed as a CUDA graph after some epochs, a model alone is not."""
    method, prepared, task, config = prepared_for(graph, name, **changes)
    together = train_models(method, prepared, [(task, seed) for seed in [4, 0, 7]], config, GPU, side_by_side=True)
    (beside_none,) = train_models(method, prepared, [(task, seed) for seed in [0]], config, GPU, side_by_side=True)
    alone = train_models(method, prepared, [(task, 0)], config, GPU)[0]
    for other in (beside_none, alone):
        np.testing.assert_allclose(together[1].history[:, :2], other.history[:, :2], rtol=1e-3)
    assert not np.allclose(together[0].history[:, :2], together[1].history[:, :2], rtol=1e-3)


@pytest.mark.parametrize("name", ["gcn", "hgcn", "hgcn-plus"])
def test_replicas_that_learn_numbers_give_the_same_as_alone(name: str) -> None:
    graph = planted_numbers(600, seed=1)
    settings = settings_for(name)
    settings = settings.override(effective(settings.method, {"levels": 2, "hidden": 8, "epochs": 8}))
    task = Task.of(graph, Split.holdout(graph.strata))
    method = build_method(name, settings.model)
    prepared = method.prepare(task, coarsen(graph.adjacency, 2), GPU)
    together = train_models(method, prepared, [(task, seed) for seed in [0, 1]], settings.train, GPU, side_by_side=True)
    alone = train_models(method, prepared, [(task, 0)], settings.train, GPU)[0]
    np.testing.assert_allclose(together[0].history[:, :2], alone.history[:, :2], rtol=1e-3)
    assert together[0].probabilities is not None
    assert together[0].probabilities.shape == (600, 1)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("name", ["hgcn", "grand", "hgcn-plus"])
def test_training_repeats_bit_for_bit(graph: Graph, name: str) -> None:
    method, prepared, task, config = prepared_for(graph, name)
    first, again = (
        train_models(method, prepared, [(task, seed) for seed in [1, 2]], config, GPU, side_by_side=True)
        for _ in range(2)
    )
    for one, other in zip(first, again, strict=True):
        assert np.array_equal(one.history, other.history)
        assert one.probabilities is not None
        assert other.probabilities is not None
        assert np.array_equal(one.probabilities, other.probabilities)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("changes", [{}, {"networks": 2}])
def test_rows_that_no_score_depends_on_are_left_out(
    graph: Graph, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    method, prepared, _, config = prepared_for(graph, "hgcn", **changes)
    task = Task.of(graph, Split.random(graph.truth, per_class=5, validation=50, seed=0))
    some = train_models(method, prepared, [(task, seed) for seed in [1, 2]], config, GPU, side_by_side=True)
    monkeypatch.setattr(HGCN, "receptive_field", NodeModel.receptive_field)
    every = train_models(method, prepared, [(task, seed) for seed in [1, 2]], config, GPU, side_by_side=True)
    for one, other in zip(some, every, strict=True):
        np.testing.assert_allclose(one.history[:, :2], other.history[:, :2], rtol=1e-3)
        assert one.probabilities is not None
        assert other.probabilities is not None
        if one.best_epoch == other.best_epoch:
            np.testing.assert_allclose(one.probabilities, other.probabilities, atol=1e-2)


def test_a_small_graph_does_not_import_triton() -> None:
    program = """
import sys
import torch
from hiergcn import planted_graph
from hiergcn.coarsening import coarsen
from hiergcn.graph import Split
from hiergcn.graph.task import Task
from hiergcn.model.inputs import build_method
from hiergcn.settings.settings import settings_for
from hiergcn.train.loop import train_models

graph, GPU = planted_graph(300, seed=0), torch.device("cuda")
task = Task.of(graph, Split.random(graph.labels, per_class=5, validation=50, seed=0))
for name in ("gcn", "hgcn"):
    settings = settings_for(name).override({"epochs": 3})
    method = build_method(name, settings.model)
    prepared = method.prepare(task, coarsen(graph.adjacency, 4), GPU)
    train_models(method, prepared, [(task, seed) for seed in [0, 1]], settings.train, GPU, side_by_side=True)
assert "hiergcn.model.ops.triton" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_large_results_leave_the_gpu_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "_LARGE", 0)
    monkeypatch.setattr(side_by_side, "_BUFFER", 1000)
    stacked = torch.randn(700, 3, 11, device=GPU).transpose(0, 1)  # nodes first
    assert torch.equal(torch.stack(side_by_side.copy_to_host(stacked)), stacked.cpu())


def test_replayed_steps_draw_new_masks() -> None:
    replica, ones = torch.arange(2, device=GPU), torch.ones(3000, device=GPU)

    def masks(recorded: bool) -> list[torch.Tensor]:
        noise = ReplicaGenerator([torch.Generator(GPU).manual_seed(seed) for seed in (0, 1)])
        dropped = torch.empty(2, 3000, device=GPU)

        def one(replica: torch.Tensor) -> torch.Tensor:
            noise.replica = replica
            return dropout(ones, 0.5, noise) + dropout(ones, 0.5, noise)

        def step() -> None:
            dropped.copy_(vmap(one)(replica))

        run = Captured(step, noise.generators) if recorded else step
        seen = []
        for _ in range(7):
            run()
            seen.append(dropped.clone())
        return seen

    recorded = masks(True)
    assert all(torch.equal(one, other) for one, other in zip(recorded, masks(False), strict=True))
    assert len({tuple(mask.flatten().tolist()) for mask in recorded}) == len(recorded)


def test_recomputation_draws_the_same_masks(graph: Graph) -> None:
    method, prepared, task, config = prepared_for(graph, "hgcn")
    kept, again = (
        train_models(method, prepared, [(task, 3)], replace(config, recompute=way), GPU)[0].history
        for way in (False, True)
    )
    np.testing.assert_allclose(kept[:, :2], again[:, :2], rtol=1e-5)


def test_batches_learn(graph: Graph) -> None:
    method, prepared, task, config = prepared_for(graph, "hgcn", epochs=30)
    batches = Batches(method, prepared, task, coarsen(graph.adjacency, 2), 2, GPU)
    history = train_models(method, prepared, [(task, 0)], config, GPU, batches=batches)[0].history
    assert history[-1, 0] < history[0, 0]
