"""Training in batches that are cut along the hierarchy."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hiergcn.coarsen import coarsen
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.model.registry import build_method
from hiergcn.run.fit import fit
from hiergcn.run.settings import Settings, settings_for
from hiergcn.train.batches import Batches, BatchLearner, make_batches, network_seeds
from hiergcn.train.config import TrainConfig
from hiergcn.train.labels import labelled_nodes
from hiergcn.train.loop import train_seed

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(600, classes=3, degree=8, features=12, noise=1.0, seed=1)


@pytest.fixture(scope="module")
def split(graph: Graph) -> Split:
    assert graph.labels is not None
    return Split.random(graph.labels, per_class=10, validation=100, seed=0)


def settings(**changes: object) -> Settings:
    return settings_for("hgcn").override({"epochs": 12, "levels": 2, "hidden": 8, "channels": 2, **changes})


def cut(graph: Graph, split: Split, chosen: Settings, count: int, look_at_whole: bool = True) -> tuple[Task, Batches]:
    method, task = build_method(chosen.method, chosen.model), Task.of(graph, split)
    hierarchy = coarsen(graph.adjacency, 2, chosen.coarsen)
    whole = method.prepare(task, hierarchy, CPU)
    return task, make_batches(method, whole, task, hierarchy, count, CPU, look_at_whole)


def learner(graph: Graph, split: Split, count: int, look_at_whole: bool = True) -> BatchLearner:
    chosen = settings()
    task, batches = cut(graph, split, chosen, count, look_at_whole)
    method = build_method(chosen.method, chosen.model)
    whole = method.prepare(task, coarsen(graph.adjacency, 2, chosen.coarsen), CPU)
    built = [
        method.build(part, task.n_classes, torch.Generator().manual_seed(i))
        for i, part in enumerate([whole, *(batch.prepared for batch in batches.parts)])
    ]
    return BatchLearner(built[0], built[1:], batches, labelled_nodes(task, CPU), chosen.train)


def test_one_batch_of_everything_is_full_batch_training(graph: Graph, split: Split) -> None:
    chosen = settings(dropout=0.0)
    task, batches = cut(graph, split, chosen, 1)
    method = build_method(chosen.method, chosen.model)
    whole = method.prepare(task, coarsen(graph.adjacency, 2, chosen.coarsen), CPU)
    full = train_seed(method, whole, task, chosen.train, 3, CPU)
    batched = train_seed(method, whole, task, chosen.train, 3, CPU, batches=batches)
    np.testing.assert_allclose(batched.history, full.history, rtol=1e-4, atol=1e-6)


def test_networks_of_batches_learn_the_same_weights(graph: Graph, split: Split) -> None:
    learning = learner(graph, split, 3)
    before = {name: value.clone() for name, value in learning.model.state_dict().items()}
    learning.step(1)
    after = learning.model.state_dict()
    assert any(not torch.equal(before[name], after[name]) for name in before)
    for network in learning.networks:
        assert all(torch.equal(after[name], value) for name, value in network.state_dict().items())


def test_labels_keep_their_nodes(graph: Graph, split: Split) -> None:
    assert graph.labels is not None
    learning = learner(graph, split, 4)
    found = []
    for train, batch in zip(learning.train, learning.batches.parts, strict=True):
        nodes = batch.nodes[train.nodes].numpy()
        assert np.array_equal(graph.labels[nodes], train.classes.numpy())
        found.append(nodes)
    assert np.array_equal(np.sort(np.concatenate(found)), np.sort(split.train))


def test_batches_share_the_node_weights_of_the_whole(graph: Graph, split: Split) -> None:
    """A row of V means the same weight in every batch, even in one where some weights do not occur."""
    learning = learner(graph, split, 5)
    assert all(torch.equal(network.T, learning.model.T) for network in learning.networks)  # type: ignore[arg-type]


def test_a_graph_too_large_to_look_at_is_looked_at_in_batches(graph: Graph, split: Split) -> None:
    learning = learner(graph, split, 4, look_at_whole=False)
    logits = learning.measure().logits[0]
    assert logits.shape == (600, 3)
    for network, batch in zip(learning.networks, learning.batches.parts, strict=True):
        assert torch.equal(logits[batch.nodes], network.eval()(batch.prepared.features))


def test_the_loss_is_that_of_all_batches_together(graph: Graph, split: Split) -> None:
    """Before anything is learned, and with all steps too small to matter, sum and mean are those of the whole."""
    for loss in ("sum", "mean"):
        chosen = settings(loss=loss, learning_rate=1e-12, dropout=0.0)
        task, batches = cut(graph, split, chosen, 3)
        method = build_method(chosen.method, chosen.model)
        nodes = labelled_nodes(task, CPU)
        networks = [method.build(part.prepared, 3, torch.Generator().manual_seed(0)) for part in batches.parts]
        whole = batches.whole
        assert whole is not None
        learning = BatchLearner(
            method.build(whole, 3, torch.Generator().manual_seed(0)), networks, batches, nodes, chosen.train
        )
        told = float(learning.step(1))
        logits = [net.eval()(part.prepared.features) for net, part in zip(networks, batches.parts, strict=True)]
        sums = [t.cross_entropy(z, "sum").item() for t, z in zip(learning.train, logits, strict=True)]
        assert told == pytest.approx(sum(sums) / (1 if loss == "sum" else len(split.train)), rel=1e-4)


def test_more_batches_than_labels_still_train(graph: Graph, split: Split) -> None:
    assert graph.labels is not None
    few = replace(split, train=split.train[np.unique(graph.labels[split.train], return_index=True)[1]])
    result = fit(graph, few, settings(batches=12, epochs=3), [0], device="cpu")
    assert result.outcomes[0].failure is None


@pytest.mark.parametrize("method", ["hgcn", "gcn", "mlp"])
def test_accuracy_stays(graph: Graph, split: Split, method: str) -> None:
    chosen = settings_for(method).override({"epochs": 40})
    results = [fit(graph, split, chosen.override({"batches": count}), [0, 1], device="cpu") for count in (1, 4)]
    whole, batched = (sum(one.validation_accuracy or 0.0 for one in result.outcomes) / 2 for result in results)
    assert batched > whole - 0.05
    assert batched > 0.6


def test_the_same_seed_gives_the_same_model(graph: Graph, split: Split) -> None:
    one, other = (fit(graph, split, settings(batches=3), [5], device="cpu").probabilities for _ in range(2))
    assert np.array_equal(one, other)


def test_what_cannot_train_in_batches_is_refused(graph: Graph, split: Split) -> None:
    method = build_method("hgcn", settings().model)
    method.inductive = False
    task, hierarchy = Task.of(graph, split), coarsen(graph.adjacency, 2)
    with pytest.raises(InputError, match="cannot train in batches"):
        make_batches(method, method.prepare(task, hierarchy, CPU), task, hierarchy, 2, CPU)
    with pytest.raises(InputError, match="batches is 0"):
        TrainConfig(batches=0)


def test_networks_draw_apart() -> None:
    assert len(set(network_seeds(0, 50) + network_seeds(1, 50))) == 100
