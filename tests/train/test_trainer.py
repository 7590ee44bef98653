"""One graph, many trainings: hierarchies and prepared inputs are made once."""

import multiprocessing
import os
import signal
from typing import Any

import numpy as np
import pytest

from hiergcn.coarsening import CoarsenConfig, Hierarchy, coarsen
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.model.hgcn import HGCNMethod
from hiergcn.run.fit import fit
from hiergcn.settings.settings import Settings, settings_for
from hiergcn.train import trainer as trainer_module
from hiergcn.train.events import EpochDone
from hiergcn.train.trainer import Trainer
from hiergcn.workers.pool import WorkerDiedError


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(160, seed=2)


@pytest.fixture(scope="module")
def splits(graph: Graph) -> list[Split]:
    return [Split.random(graph.truth, per_class=5, validation=40, seed=seed) for seed in range(2)]


def paper(**changes: Any) -> Settings:
    return settings_for("hgcn", "paper").override({"levels": 2, "hidden": 8, "epochs": 5} | changes)


def same(one: Hierarchy, other: Hierarchy) -> bool:
    return (
        one.requested == other.requested
        and len(one.levels) == len(other.levels)
        and all(
            np.array_equal(a.adjacency.data, b.adjacency.data)
            and np.array_equal(a.adjacency.indices, b.adjacency.indices)
            and np.array_equal(a.group if a.group is not None else [], b.group if b.group is not None else [])
            for a, b in zip(one.levels, other.levels, strict=True)
        )
    )


def test_a_hierarchy_is_made_once_for_each_config(graph: Graph, coarsenings: list[int]) -> None:
    trainer = Trainer(graph, "cpu")
    for levels in (1, 3, 60, 80):
        assert same(trainer.coarsen(levels, CoarsenConfig()), coarsen(graph.adjacency, levels, CoarsenConfig()))
    assert coarsenings == [1, 3, 60]  # 60 are more than there are, and so are 80
    other: Any = trainer.hierarchy(paper(strategy="heavy-edge"))
    assert same(other, coarsen(graph.adjacency, 2, CoarsenConfig(strategy="heavy-edge")))
    assert coarsenings == [1, 3, 60, 2]


def test_a_given_hierarchy_is_used(graph: Graph, coarsenings: list[int]) -> None:
    own = coarsen(graph.adjacency, 4, CoarsenConfig(strategy="two-hop"))
    used: Any = Trainer(graph, "cpu", own).hierarchy(paper())
    assert same(used, own.truncated(2))
    assert coarsenings == []


def test_inputs_are_prepared_once_for_all_splits_and_seeds(
    graph: Graph, splits: list[Split], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[Task] = []
    real = HGCNMethod.prepare

    def counted(self: HGCNMethod, task: Task, *rest: Any) -> Any:
        prepared.append(task)
        return real(self, task, *rest)

    monkeypatch.setattr(HGCNMethod, "prepare", counted)
    trainer = Trainer(graph, "cpu")
    for learning_rate in (0.01, 0.02):
        list(trainer.train(paper(learning_rate=learning_rate), [(split, seed) for split in splits for seed in (0, 1)]))
    assert len(prepared) == 1


@pytest.mark.parametrize("batches", [1, 2])
def test_runs_give_what_fits_of_each_split_give(graph: Graph, splits: list[Split], batches: int) -> None:
    settings = paper(batches=batches)
    trained: Any = Trainer(graph, "cpu").train(settings, [(split, seed) for split in splits for seed in (0, 1)])
    fitted = [fit(graph, split, settings, [seed], device="cpu") for split in splits for seed in (0, 1)]
    for outcome, result in zip(trained, fitted, strict=True):
        np.testing.assert_array_equal(outcome.probabilities, result.probabilities)


@pytest.mark.parametrize("setting", ["harmonic", "nearness", "hop_counts", "hop_means"])
def test_columns_of_the_whole_graph_are_refused_in_batches(graph: Graph, splits: list[Split], setting: str) -> None:
    settings = paper(batches=2).override({setting: True})
    with pytest.raises(InputError, match=r"need the whole graph.* Leave batches at 1"):
        list(Trainer(graph, "cpu").train(settings, [(splits[0], 0)]))


def test_workers_give_the_same_runs_bit_for_bit(
    graph: Graph, splits: list[Split], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer_module, "_WORTH_PROCESSES", 0.0)
    runs, seen = [(split, seed) for seed in (3, 0) for split in splits], set()
    trainer, settings = Trainer(graph, "cpu"), paper(epochs=60)
    shared: Any = trainer.train(settings, runs, lambda event: seen.add(event.seed), workers=2)
    alone: Any = trainer.train(settings, runs)
    for one, other in zip(shared, alone, strict=True):
        assert one.seed == other.seed
        np.testing.assert_array_equal(one.probabilities, other.probabilities)
        np.testing.assert_array_equal(one.history, other.history)
        for name, value in other.weights.items():
            np.testing.assert_array_equal(one.weights[name].numpy(), value.numpy())
    assert 3 in seen


def test_a_worker_that_is_killed_is_reported(
    graph: Graph, splits: list[Split], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer_module, "_WORTH_PROCESSES", 0.0)

    def kill_one(event: EpochDone) -> None:
        if event.seed > 0:
            (one, *_) = multiprocessing.active_children()
            assert one.pid is not None
            os.kill(one.pid, signal.SIGKILL)

    runs = [(splits[0], seed) for seed in range(9)]
    with pytest.raises(WorkerDiedError, match=r"A worker process died, probably out of memory. Try --workers 1."):
        list(Trainer(graph, "cpu").train(paper(epochs=300), runs, kill_one, workers=2))
    assert not multiprocessing.active_children()
