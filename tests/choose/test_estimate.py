"""Estimated time and memory of a fit."""

import time

import pytest

from hiergcn.choose.adapt import choose_settings
from hiergcn.choose.estimate import TRIAL_EPOCHS, TRIAL_REPORTS, Clock, estimate_fit
from hiergcn.datasets import planted_graph
from hiergcn.graph import Split
from hiergcn.run.fit import own_split
from hiergcn.train.events import EpochDone
from hiergcn.train.loop import REPORT_EVERY


@pytest.mark.parametrize(
    "reported",
    [range(1, TRIAL_EPOCHS + 1), range(REPORT_EVERY, TRIAL_REPORTS * REPORT_EVERY + 1, REPORT_EVERY)],
    ids=["cpu", "gpu"],
)
def test_clock_measures_the_epochs_after_the_first_report(reported: range, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    for epoch in reported:  # 100 s to warm up, then 2 s each
        monkeypatch.setattr(time, "perf_counter", lambda now=100.0 + 2.0 * epoch: now)
        clock(EpochDone(0, epoch, 0.5))
    assert clock.epoch == pytest.approx(2.0)


def test_a_small_graph_is_its_own_trial() -> None:
    graph = planted_graph(80, seed=0)
    split = Split.holdout(graph.truth)
    estimate = estimate_fit(graph, split)
    assert estimate.epochs == choose_settings(graph, split).settings.train.epochs
    assert estimate.trial_nodes == 80
    assert not estimate.scaled
    assert 0.0 < estimate.seconds < 600.0
    assert estimate.memory > 0


def test_the_graph_is_coarsened_once(coarsenings: list[int]) -> None:
    graph = planted_graph(80, seed=0)
    estimate_fit(graph, own_split(graph))
    assert len(coarsenings) == 1
