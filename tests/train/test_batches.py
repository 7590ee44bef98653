"""Training in batches that are cut along the hierarchy."""

import weakref
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from hiergcn.coarsening import coarsen
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.model.inputs import build_method
from hiergcn.model.method import Prepared
from hiergcn.settings.settings import Settings, settings_for
from hiergcn.train.batches import Batch, Batches, BatchLearner, _inside
from hiergcn.train.learners import labelled_nodes
from hiergcn.train.loop import train_models

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(600, classes=3, degree=8, features=12, noise=1.0, seed=1)


@pytest.fixture(scope="module")
def split(graph: Graph) -> Split:
    return Split.random(graph.truth, per_class=10, validation=100, seed=0)


def settings(**changes: object) -> Settings:
    return settings_for("hgcn").override({"epochs": 12, "levels": 2, "hidden": 8, "channels": 2, **changes})


def cut(graph: Graph, split: Split, chosen: Settings, count: int, full_validation: bool = True) -> Batches:
    method, task = build_method(chosen.method, chosen.model), Task.of(graph, split)
    hierarchy = coarsen(graph.adjacency, 2, chosen.coarsen)
    whole = method.prepare(task, hierarchy, CPU) if full_validation else None
    return Batches(method, whole, task, hierarchy, count, CPU)


def learner(batches: Batches, chosen: Settings | None = None) -> BatchLearner:
    method, task, config = batches.method, batches.task, (chosen or settings()).train

    def build(prepared: Prepared, generator: torch.Generator) -> Any:
        return method.build(prepared, task.n_classes, generator)

    model = build(method.prepare(task, batches.hierarchy, CPU), torch.Generator().manual_seed(0))
    return BatchLearner(model, build, batches, labelled_nodes(task, CPU, loss=config.loss), config, seed=0)


def batches_of_an_epoch(batches: Batches, seed: int) -> list[Batch]:
    return [batches.batch(kept) for kept in batches.draw(np.random.default_rng(seed))]


def test_one_batch_of_everything_is_full_batch_training(graph: Graph, split: Split) -> None:
    chosen = settings(dropout=0.0)
    batches = cut(graph, split, chosen, 1)
    assert batches.whole is not None
    full, batched = (
        train_models(batches.method, batches.whole, [(batches.task, 3)], chosen.train, CPU, batches=some)[0]
        for some in (None, batches)
    )
    np.testing.assert_allclose(batched.history, full.history, rtol=1e-4, atol=1e-6)


def test_edges_between_clusters_are_used_in_some_epochs(graph: Graph, split: Split) -> None:
    batches = cut(graph, split, settings(), 3)
    ends = graph.adjacency.tocoo()
    own = batches.cluster[batches.hierarchy.hyper_nodes(2)]
    between = own[ends.row] != own[ends.col]
    seen, at_once = np.zeros_like(between), []
    for seed in range(40):
        for batch in batches_of_an_epoch(batches, seed):
            inside = np.isin(ends.row, batch.nodes) & np.isin(ends.col, batch.nodes)
            seen |= inside
            at_once.append(batch.prepared.structure.levels[0].adjacency.values.numel() - len(batch.nodes))
            assert at_once[-1] == inside.sum()  # what the batch was prepared with
    assert between.any()
    assert seen.all()
    assert max(sum(at_once[i : i + 3]) for i in range(0, 120, 3)) < len(seen)  # but never all in one epoch


def test_an_epoch_holds_one_batch_at_a_time(graph: Graph, split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    """And it makes none without a label."""
    batches = cut(graph, split, settings(), 4, full_validation=False)
    learning, make = learner(batches), batches.batch
    made: list[weakref.ref[Batch]] = []

    def counted(members: np.ndarray) -> Batch:
        assert all(one() is None for one in made)
        batch = make(members)
        made.append(weakref.ref(batch))
        return batch

    monkeypatch.setattr(batches, "batch", counted)
    learning.step(1)
    learning.evaluate()
    assert len(made) == 8
    batches.task = replace(batches.task, train=split.train[:1], train_labels=batches.task.train_labels[:1])
    learner(batches).step(1)
    assert len(made) == 9


@pytest.mark.parametrize("method", ["hgcn", "grand"])
def test_batches_learn_the_weights_of_the_model(graph: Graph, split: Split, method: str) -> None:
    """Batch normalisation also gathers its statistics over the batches."""
    chosen = settings_for(method).override({"batch_norm": True} if method == "grand" else {"levels": 2})
    batches = cut(graph, split, chosen, 3)
    learning = learner(batches, chosen)
    before = {name: value.clone() for name, value in learning.model.state_dict().items()}
    learning.step(1)
    after = learning.model.state_dict()
    assert {name for name in before if torch.equal(before[name], after[name])} <= {"T"}
    network = learning._network(batches_of_an_epoch(batches, seed=5)[0])
    assert all(torch.equal(after[name], value) for name, value in network.state_dict().items())


def test_batches_make_up_one_step(graph: Graph, split: Split) -> None:
    """H-GCN+ counts steps to warm up its consistency loss."""
    chosen = settings_for("hgcn-plus").override({"levels": 2})
    learning = learner(cut(graph, split, chosen, 3), chosen)
    for epoch in (1, 2):
        learning.step(epoch)
        assert float(learning.model.state_dict()["steps"]) == epoch


def test_a_graph_too_large_for_full_validation_is_evaluated_in_batches(graph: Graph, split: Split) -> None:
    batches = cut(graph, split, settings(), 4, full_validation=False)
    learning = learner(batches)
    first, second = learning.evaluate().logits, learning.evaluate().logits
    assert first is not None
    assert second is not None
    logits = first[0]
    assert logits.shape == (600, 3)
    assert torch.equal(second[0], logits)
    seen = []
    for batch in map(batches.batch, batches.fixed):
        assert torch.equal(logits[batch.nodes], learning._network(batch).eval()(batch.prepared.features))
        seen.append(batch.nodes)
    assert torch.equal(torch.cat(seen).sort().values, torch.arange(600))


@pytest.mark.parametrize(
    ("method", "changes"),
    [("hgcn", {}), ("hgcn-plus", {"components": 5}), ("hgcn", {"networks": 2}), ("gcn", {})],
    ids=["hgcn", "components", "ensemble", "gcn"],
)
def test_a_model_for_batches_alone_is_that_of_the_whole_graph(
    graph: Graph, split: Split, method: str, changes: dict[str, object]
) -> None:
    """So the whole graph need not become tensors, and the seeds give the same weights."""
    chosen = settings_for(method).override({"scaling": "standard", "epochs": 2, "batches": 4, **changes})
    batches = cut(graph, split, chosen, 4, full_validation=False)
    whole = batches.method.prepare(batches.task, batches.hierarchy, CPU)
    assert batches.model_inputs.features.shape[0] < 300 < whole.features.shape[0]
    found, expected = (
        train_models(batches.method, one, [(batches.task, 3)], chosen.train, CPU, None, batches)[0].weights or {}
        for one in (batches.model_inputs, whole)
    )
    assert found.keys() == expected.keys() > set()
    assert all(torch.equal(value, expected[name]) for name, value in found.items())


def test_the_loss_is_that_of_all_batches_together(graph: Graph, split: Split) -> None:
    """Before anything is learned, and with all steps too small to matter, sum and mean are those of the whole."""
    for loss in ("sum", "mean"):
        chosen = settings(loss=loss, learning_rate=1e-12, dropout=0.0)
        batches = cut(graph, split, chosen, 3)
        learning = learner(batches, chosen)
        told = float(learning.step(1))
        sums = []
        for batch in map(batches.batch, batches.draw(np.random.default_rng((0, 1)))):
            logits = learning._network(batch).eval()(batch.prepared.features)
            sums.append(_inside(learning.nodes.train, batch.nodes).loss(logits, "sum").item())
        assert told == pytest.approx(sum(sums) / (1 if loss == "sum" else len(split.train)), rel=1e-4)


def test_methods_without_batch_support_are_refused(graph: Graph, split: Split) -> None:
    method = build_method("hgcn", settings().model)
    method.inductive = False
    task, hierarchy = Task.of(graph, split), coarsen(graph.adjacency, 2)
    with pytest.raises(InputError, match="cannot train in batches"):
        Batches(method, method.prepare(task, hierarchy, CPU), task, hierarchy, 2, CPU)
