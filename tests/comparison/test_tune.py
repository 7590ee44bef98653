"""The search for settings: on validation alone, resumable, never below its first trial."""

import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hiergcn.choose.adapt import choose_settings
from hiergcn.comparison.tune import JOURNAL, MOST_LEVELS, SPACE, Trial, Tuning, search_space, tune, write_tuning
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.run.fit import fit
from hiergcn.run.run import Run
from hiergcn.settings.settings import settings_for
from hiergcn.train.trainer import Trainer

optuna = pytest.importorskip("optuna")

FEW = {"epochs": 4}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(60, classes=3, depth=1, homophily=0.95, noise=1.0, seed=1)


@pytest.fixture(scope="module")
def split(graph: Graph) -> Split:
    return Split.holdout(graph.truth, seed=0)


def search(graph: Graph, split: Split, folder: Path, trials: int, changes: Any = FEW, **more: Any) -> Tuning:
    return tune(graph, split, folder, model="hgcn", changes=changes, trials=trials, seeds=[0], device="cpu", **more)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[Split]:
    """Every split that a trial was fitted on."""
    seen: list[Split] = []

    def watched(graph: Graph, split: Split, *rest: Any, **more: Any) -> Run:
        seen.append(split)
        return fit(graph, split, *rest, **more)

    monkeypatch.setattr("hiergcn.comparison.tune.fit", watched)
    return seen


NETWORK = {"levels", "hidden", "dropout", "learning_rate", "l2", "pooling", "scaling", "channels"}


def test_a_search_is_resumed(graph: Graph, split: Split, tmp_path: Path, recorded: list[Split]) -> None:
    told: list[Trial] = []

    def on_event(trial: Trial) -> None:
        told.append(trial)
        assert len(pd.read_csv(tmp_path / "trials.csv")) == len(told)  # not only at the end of the search

    first = search(graph, split, tmp_path, 2, on_event=on_event)
    assert [trial.number for trial in first.trials] == [trial.number for trial in told] == [0, 1]
    again = search(graph, split, tmp_path, 3)
    assert again.trials[:2] == first.trials
    assert len(again.trials) == 3
    assert len(recorded) == 3
    assert all(one.test.size == 0 for one in recorded)  # nothing of the test is looked at
    assert search(graph, split, tmp_path, 3).trials == again.trials
    assert len(recorded) == 3
    for line in (tmp_path / JOURNAL).read_text(encoding="utf-8").splitlines():
        json.loads(line)  # plain text


def test_searches_share_a_folder(graph: Graph, split: Split, tmp_path: Path) -> None:
    """Another process joins after the first trial, and runs the second; the first then has two left of four."""
    others: list[int] = []

    def join(_: Trial) -> None:
        if not others:
            others.append(len(search(graph, split, tmp_path, 2).trials))

    found = search(graph, split, tmp_path, 4, on_event=join)
    assert others == [2]
    assert [trial.number for trial in found.trials] == [0, 1, 2, 3]
    alone = search(graph, split, tmp_path / "alone", 4)
    assert [trial.settings for trial in found.trials] == [trial.settings for trial in alone.trials]


def test_the_first_trial_has_the_settings_for_the_graph(
    graph: Graph, split: Split, tmp_path: Path, coarsenings: list[int]
) -> None:
    """Search space, these settings and every trial share one hierarchy."""
    tuning = search(graph, split, tmp_path, 2)
    assert coarsenings == [MOST_LEVELS]
    base = choose_settings(graph, split, "hgcn", changes=FEW).settings
    assert tuning.base == base
    first = tuning.trials[0].settings
    assert {name: base.values()[name] for name in ("levels", "channels", "pooling", "scaling")}.items() <= first.items()
    own = fit(graph, split, base.override(first), [0], device="cpu").validation.accuracy.mean
    assert tuning.trials[0].accuracy == pytest.approx(own)
    assert (tuning.best.accuracy or 0.0) >= (own or 0.0)
    assert tuning.settings == base.override(tuning.best.settings)


def test_fixed_settings_are_not_searched(graph: Graph, split: Split, tmp_path: Path) -> None:
    tuning = search(graph, split, tmp_path, 1, FEW | {"levels": 1, "dropout": 0.85})
    assert set(tuning.trials[0].settings) == NETWORK - {"levels", "dropout"}
    with pytest.raises(InputError, match="no setting left to search"):
        search_space(tuning.base, list(SPACE), Trainer(graph).coarsen)


def test_other_data_is_not_mixed_in(graph: Graph, split: Split, tmp_path: Path) -> None:
    search(graph, split, tmp_path, 1)
    features = np.asarray(graph.features) + 1
    with pytest.raises(InputError, match="trials with other data"):
        search(replace(graph, features=features), split, tmp_path, 2)
    with pytest.raises(InputError, match="trials with other data"):
        search(graph, split, tmp_path, 2, {"epochs": 5})


def raising(error: BaseException, after: int) -> Callable[..., Run]:
    calls = 0

    def run(*args: Any, **more: Any) -> Run:
        nonlocal calls
        calls += 1
        if calls > after:
            raise error
        return fit(*args, **more)

    return run


@pytest.mark.parametrize("finished", [0, 1])
def test_ctrl_c_keeps_finished_trials(
    graph: Graph, split: Split, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finished: int
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("hiergcn.comparison.tune.fit", raising(KeyboardInterrupt(), after=finished))
        stopped = search(graph, split, tmp_path, 3)
    assert stopped.interrupted
    assert len(stopped.trials) == finished
    again = search(graph, split, tmp_path, finished + 1)
    assert len(again.trials) == finished + 1  # the one that was stopped is not counted
    assert again.trials[0].settings["scaling"] == again.base.model.scaling  # the first is tried again


def test_a_failed_trial_is_kept(graph: Graph, split: Split, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hiergcn.comparison.tune.fit", raising(MemoryError("too large"), after=1))
    tuning = search(graph, split, tmp_path, 2)
    assert [trial.failure for trial in tuning.trials] == [None, "It failed with MemoryError: too large"]
    assert tuning.best.number == 0
    with pytest.raises(InputError, match="Every trial failed"):
        _ = replace(tuning, trials=tuning.trials[1:]).best


def test_the_recipe_holds_the_best_settings(tmp_path: Path) -> None:
    base = settings_for("hgcn", "paper").override({"hidden": 16, "levels": 1})
    trial = Trial(0, {"hidden": 64, "dropout": 0.3, "pooling": "l2", "learning_rate": 0.01}, 0.9, 0.1, 0.0, None)
    worse = Trial(1, {}, 0.9, 0.2, 0.0, None)  # of equal accuracy
    tuning = Tuning(base, (worse, trial), {})
    write_tuning(tuning, tmp_path, 'hiergcn tune "x"')
    found = tomllib.loads((tmp_path / "best.toml").read_text())
    assert found["about"] == 'Best of 2 trials by validation accuracy: hiergcn tune "x"'
    settings = settings_for("hgcn", "paper")
    again = replace(
        settings, model=replace(settings.model, **found["model"]), train=replace(settings.train, **found["train"])
    )
    assert (again.model, again.train) == (tuning.settings.model, tuning.settings.train)


def test_importance_needs_some_trials(graph: Graph, split: Split, tmp_path: Path) -> None:
    assert search(graph, split, tmp_path, 3).importance == {}
    tuning = search(graph, split, tmp_path, 7)
    assert set(tuning.importance) <= set(SPACE)
    assert sum(tuning.importance.values()) == pytest.approx(1.0)


def test_each_method_has_its_search_space(graph: Graph) -> None:
    assert set(search_space(settings_for("hgcn"), (), Trainer(graph).coarsen)) == NETWORK
    plus = set(search_space(settings_for("hgcn", "plus"), (), Trainer(graph).coarsen))
    assert {"share", "order", "drop_node", "levels", "hidden"} <= plus
    assert not plus & {"dropout", "channels", "pooling"}
