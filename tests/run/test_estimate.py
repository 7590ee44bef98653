"""How long a fit will take."""

import time

import pytest

from hiergcn.datasets import planted_graph
from hiergcn.graph import Split
from hiergcn.run.adapt import adapted_settings
from hiergcn.run.estimate import LOOKS, TRIAL_EPOCHS, Clock, estimate_fit
from hiergcn.run.events import EpochDone
from hiergcn.train.loop import LOOK


@pytest.mark.parametrize("told", [range(1, TRIAL_EPOCHS + 1), range(LOOK, LOOKS * LOOK + 1, LOOK)], ids=["cpu", "gpu"])
def test_seconds_of_an_epoch_by_those_that_are_told_of(told: range, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    for epoch in told:  # 100 s to warm up, then 2 s each
        monkeypatch.setattr(time, "perf_counter", lambda now=100.0 + 2.0 * epoch: now)
        clock(EpochDone(0, epoch, 0.5))
    assert clock.epoch == pytest.approx(2.0)


def test_a_small_graph_is_tried_itself() -> None:
    graph = planted_graph(80, seed=0)
    assert graph.labels is not None
    split = Split.holdout(graph.labels)
    told = estimate_fit(graph, split, adapted_settings(graph, split).settings)
    assert told.trial_nodes == 80
    assert not told.scaled
    assert 0.0 < told.seconds < 600.0
    assert told.memory > 0
