"""Estimated time and memory of a fit."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from hiergcn.choose import estimate
from hiergcn.choose.adapt import choose_settings
from hiergcn.choose.estimate import estimate_fit
from hiergcn.datasets import planted_graph
from hiergcn.graph import Split
from hiergcn.run.fit import resolve_split
from hiergcn.settings.settings import Settings
from hiergcn.train.events import EpochDone
from hiergcn.train.trainer import Trainer


def test_seconds_are_those_of_the_epochs_after_the_first_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def train(trainer: Trainer, folds: Any, settings: Settings, seeds: Any, emit: Callable[[EpochDone], None]) -> None:
        trainer.coarsen_seconds = 7.0
        for epoch in range(1, settings.train.epochs + 1):  # 100 s to warm up, then 2 s each
            monkeypatch.setattr(time, "perf_counter", lambda now=100.0 + 2.0 * epoch: now)
            emit(EpochDone(0, epoch, 0.5))

    monkeypatch.setattr(estimate, "train_seeds", train)
    graph = planted_graph(80, seed=0)
    found = estimate_fit(graph, Split.holdout(graph.truth))
    assert found.seconds == pytest.approx(7.0 + 2.0 * found.epochs)


def test_a_small_graph_is_its_own_trial() -> None:
    graph = planted_graph(80, seed=0)
    split = Split.holdout(graph.truth)
    found = estimate_fit(graph, split)
    assert found.epochs == choose_settings(graph, split).settings.train.epochs
    assert found.trial_nodes == 80
    assert 0.0 < found.seconds < 600.0
    assert found.memory > 0


def test_the_graph_is_coarsened_once(coarsenings: list[int]) -> None:
    graph = planted_graph(80, seed=0)
    estimate_fit(graph, resolve_split(graph))
    assert len(coarsenings) == 1
