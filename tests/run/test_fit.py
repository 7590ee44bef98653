"""A whole run: seeds, test evaluation, failures, interruption."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from hiergcn.coarsen import Hierarchy
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.run import trainer
from hiergcn.run.events import Coarsened, EpochDone, FitEvent, OnFitEvent
from hiergcn.run.fit import AllSeedsFailedError, fit
from hiergcn.run.result import RunResult
from hiergcn.run.settings import Settings, settings_for
from hiergcn.train.loop import SeedOutcome


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(160, seed=2)


@pytest.fixture(scope="module")
def split(graph: Graph) -> Split:
    assert graph.labels is not None
    return Split.random(graph.labels, per_class=5, validation=40, seed=0)


@pytest.fixture(scope="module")
def settings() -> Settings:
    return settings_for("hgcn", "paper").override({"levels": 2, "hidden": 8, "epochs": 12, "dropout": 0.3})


@pytest.fixture(scope="module")
def result(graph: Graph, split: Split, settings: Settings) -> RunResult:
    return fit(graph, split, settings, range(3), device="cpu")


def test_figures_are_those_of_the_predictions(graph: Graph, split: Split, result: RunResult) -> None:
    assert graph.labels is not None
    assert result.test is not None
    by_hand = float((result.predicted[split.test] == graph.labels[split.test]).mean())
    assert result.test.accuracy.per_seed[result.seeds.index(result.selected_seed)] == pytest.approx(by_hand)
    per_seed = [value for value in result.test.accuracy.per_seed if value is not None]
    assert result.test.accuracy.mean == pytest.approx(sum(per_seed) / 3)
    assert result.test.accuracy.std == pytest.approx(np.std(per_seed, ddof=1))


def test_the_selected_seed_is_the_best_on_validation(result: RunResult) -> None:
    ranks = {o.seed: (o.validation_accuracy or 0.0, -(o.validation_loss or 0.0)) for o in result.outcomes}
    assert result.selected_seed == max(ranks, key=lambda seed: ranks[seed])


def test_metrics_keep_their_contract(result: RunResult) -> None:
    metrics = result.metrics()
    assert metrics["model"] == "hgcn"
    assert metrics["seeds"] == [0, 1, 2]
    for figure in ("test_accuracy", "val_accuracy", "macro_f1", "balanced_accuracy"):
        assert set(metrics[figure]) == {"mean", "std", "per_seed"}
        assert 0.0 <= metrics[figure]["mean"] <= 1.0
    assert metrics["hierarchy"]["nodes"][0] == 160
    assert len(metrics["hierarchy"]["nodes"]) == len(metrics["hierarchy"]["edges"]) == 3
    assert set(metrics["seconds"]) == {"coarsen", "train", "epoch"}
    assert "validation" in metrics["selection"]


def test_test_labels_change_nothing_but_the_test_figures(graph: Graph, split: Split, settings: Settings) -> None:
    assert graph.labels is not None
    poisoned = graph.labels.copy()
    poisoned[split.test] = (poisoned[split.test] + 1) % graph.n_classes
    honest = fit(graph, split, settings, [0], device="cpu")
    other = fit(graph.with_labels(poisoned), split, settings, [0], device="cpu")
    assert np.array_equal(honest.probabilities, other.probabilities)
    assert honest.history.equals(other.history)
    assert honest.test is not None
    assert other.test is not None
    assert honest.test.accuracy.mean != other.test.accuracy.mean


def test_without_test_nodes_there_is_no_test_figure(graph: Graph, split: Split, settings: Settings) -> None:
    blind = Split(split.train, split.validation, np.empty(0, dtype=np.int64))
    result = fit(graph, blind, settings.override({"epochs": 2}), [0], device="cpu")
    assert result.test is None
    assert result.metrics()["test_accuracy"] is None


def test_a_failed_seed_is_counted_not_dropped(
    graph: Graph, split: Split, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hiergcn.train.runs import train_runs as real

    def second_fails(*args: Any, **named: Any) -> Iterator[SeedOutcome]:
        for outcome in real(*args, **named):
            if outcome.seed == 1:
                yield SeedOutcome(1, outcome.history[:1], None, None, None, 0.1, "diverged at epoch 2")
            else:
                yield outcome

    monkeypatch.setattr(trainer, "train_runs", second_fails)
    result = fit(graph, split, settings.override({"epochs": 3}), range(3), device="cpu")
    metrics = result.metrics()
    assert result.failed_seeds == (1,)
    assert metrics["failed_seeds"] == {"1": "diverged at epoch 2"}
    assert metrics["test_accuracy"]["per_seed"][1] is None
    assert metrics["seeds"] == [0, 1, 2]


def test_all_seeds_failing_is_an_error_in_words(graph: Graph, split: Split, settings: Settings) -> None:
    with pytest.raises(AllSeedsFailedError, match=r"Every seed failed.*diverged at epoch"):
        fit(graph, split, settings.override({"learning_rate": 1e30}), [0, 1], device="cpu")


def interrupt_in(seed: int) -> OnFitEvent:
    def on_event(event: FitEvent) -> None:
        if isinstance(event, EpochDone) and (event.seed, event.epoch) == (seed, 2):
            raise KeyboardInterrupt

    return on_event


def test_interruption_keeps_finished_seeds(graph: Graph, split: Split, settings: Settings) -> None:
    result = fit(graph, split, settings, range(5), device="cpu", on_event=interrupt_in(2))
    assert result.interrupted
    assert result.seeds == (0, 1)
    assert result.metrics()["test_accuracy"]["per_seed"].__len__() == 2


def test_interruption_of_the_first_seed_is_raised(graph: Graph, split: Split, settings: Settings) -> None:
    with pytest.raises(KeyboardInterrupt):
        fit(graph, split, settings, range(5), device="cpu", on_event=interrupt_in(0))


def test_levels_beyond_the_graph_stop_early_and_say_so(graph: Graph, split: Split, settings: Settings) -> None:
    seen: list[Hierarchy] = []

    def on_event(event: FitEvent) -> None:
        if isinstance(event, Coarsened):
            seen.append(event.hierarchy)

    deep = settings.override({"levels": 60, "epochs": 1, "hidden": 4})
    result = fit(graph, split, deep, [0], device="cpu", on_event=on_event)
    assert seen[0].depth < 60
    assert any("not the 60 that were asked for" in note for note in result.notes)


def test_more_seeds_than_memory_is_refused(graph: Graph, split: Split, settings: Settings) -> None:
    with pytest.raises(InputError, match=r"need about .* GB .* give fewer seeds"):
        fit(graph, split, settings, range(10**12), device="cpu")


@pytest.mark.parametrize(("seeds", "sentence"), [([], "no seeds"), ([1, 1], "twice")])
def test_seeds_that_make_no_sense(
    graph: Graph, split: Split, settings: Settings, seeds: list[int], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        fit(graph, split, settings, seeds, device="cpu")


def test_unknown_device(graph: Graph, split: Split, settings: Settings) -> None:
    with pytest.raises(InputError, match="no device named 'abacus'"):
        fit(graph, split, settings, [0], device="abacus")
