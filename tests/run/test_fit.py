"""A whole run: seeds, test evaluation, failures, interruption."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from sklearn.metrics import log_loss

from hiergcn.choose.adapt import MOST_LEVELS, choose_settings
from hiergcn.cli.summary import print_summary
from hiergcn.coarsening import Hierarchy
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.evaluate.metrics import METRICS, Metric
from hiergcn.graph import Graph, Split
from hiergcn.reports.leaderboard import Row, board_of
from hiergcn.run.fit import BASELINES, fit, resolve_split
from hiergcn.run.run import Run
from hiergcn.settings.settings import Settings, settings_for
from hiergcn.train import trainer
from hiergcn.train.events import BaselineStarted, Coarsened, EpochDone, FitEvent, OnFitEvent
from hiergcn.train.loop import SeedOutcome
from hiergcn.train.trainer import AllSeedsFailedError, Trainer


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(160, seed=2)


@pytest.fixture(scope="module")
def split(graph: Graph) -> Split:
    return Split.random(graph.truth, per_class=5, validation=40, seed=0)


@pytest.fixture(scope="module")
def settings() -> Settings:
    return settings_for("hgcn", "paper").override({"levels": 2, "hidden": 8, "epochs": 12, "dropout": 0.3})


@pytest.fixture(scope="module")
def result(graph: Graph, split: Split, settings: Settings) -> Run:
    return fit(graph, split, settings, range(3), device="cpu")


def test_scores_match_the_predictions(graph: Graph, split: Split, result: Run) -> None:
    assert result.test is not None
    by_hand = float((result.predicted[split.test] == graph.truth[split.test]).mean())
    assert result.scores["delivered_accuracy"] == result.metrics()["delivered_accuracy"] == pytest.approx(by_hand)
    np.testing.assert_allclose(result.probabilities, result.model.predict_proba(graph, "cpu"), atol=1e-6)
    ranks = {o.seed: (o.validation_accuracy or 0.0, -(o.validation_loss or 0.0)) for o in result.outcomes}
    assert result.scores["selected_seed"] == max(ranks, key=lambda seed: ranks[seed])
    per_seed = [value for value in result.test.accuracy.per_seed if value is not None]
    assert result.test.accuracy.mean == pytest.approx(sum(per_seed) / 3)
    assert result.test.accuracy.std == pytest.approx(np.std(per_seed, ddof=1))


def test_a_new_metric_shows_up_everywhere_and_earlier_runs_load(
    small: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    baselines = {"changes": {"epochs": 2, "levels": 1}, "baselines": ["label-propagation"], "device": "cpu"}
    first = fit(small, model="hgcn-plus", **baselines)  # type: ignore[arg-type]
    first.save(tmp_path / "earlier")
    loss = Metric("log loss", lambda truth, p: log_loss(truth, p, labels=range(p.shape[1])), of_outputs=True)
    monkeypatch.setitem(METRICS, "log_loss", loss._replace(lower_is_better=True))
    fit(small, model="hgcn-plus", **baselines).save(tmp_path / "now")  # type: ignore[arg-type]

    def screen(run: Run) -> str:
        console = Console(file=StringIO(), width=200)
        print_summary(console, run, None, asked=1)
        return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]

    def load(name: str) -> Run:
        return replace(Run.load(tmp_path / name), outcomes=first.outcomes)

    earlier, now = load("earlier"), load("now")
    metrics, shown = now.metrics(), screen(now)
    assert metrics["log_loss"]["mean"] == pytest.approx(metrics["val_log_loss"]["mean"], abs=1.0)
    assert now.test is not None
    assert now.test["log_loss"].mean == metrics["log_loss"]["mean"]
    scores = metrics["log_loss"]["mean"], metrics["baselines"][0]["test"]["log_loss"]["mean"]
    assert all(f"{score:.4g}" in shown for score in scores)
    assert shown.count("log loss") == 2  # of the run, and over a column of the methods
    assert "test, log loss (lower is better, not in %)" in shown
    page = now.page()
    assert '<th scope="col">log loss</th>' in page  # of the leaderboard
    assert page.count(f"<td>{scores[0]:.4g}</td>") == 2
    assert metrics["delivered_log_loss"] == pytest.approx(scores[0])
    automatic = replace(board_of(now.scores), automatic=True)
    assert any(column.title == "log loss" and column.cell(automatic.ours) for column in automatic.columns)

    assert list(earlier.test or ()) == ["accuracy", "macro_f1", "balanced_accuracy"]
    assert "log loss" not in screen(earlier) + earlier.page() + earlier._repr_html_()
    monkeypatch.delitem(METRICS, "log_loss")  # a package that is no longer installed had registered it
    assert list(load("now").validation) == list(earlier.validation)
    assert "log loss" not in screen(load("now"))


def test_without_test_nodes_there_is_no_test_score(small: Graph) -> None:
    result = fit(
        small, resolve_split(small, test=0.0), model="mlp", changes={"epochs": 2}, baselines=BASELINES["classes"]
    )
    assert result.test is None
    assert result.metrics()["test_accuracy"] is None
    assert result.baselines is not None
    assert [row.model for row in result.baselines] == ["label-propagation", "gcn"]  # not the method itself
    assert all(row.test is None and row.validation is not None for row in result.baselines)


def test_a_failed_seed_is_counted_not_dropped(
    graph: Graph, split: Split, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hiergcn.train.loop import train_runs as real

    def second_fails(*args: Any, **named: Any) -> Iterator[SeedOutcome]:
        for outcome in real(*args, **named):
            if outcome.seed == 1:
                yield SeedOutcome(1, outcome.history[:1], None, None, None, 0.1, "diverged at epoch 2")
            else:
                yield outcome

    monkeypatch.setattr(trainer, "train_runs", second_fails)
    result = fit(graph, split, settings.override({"epochs": 3}), range(3), device="cpu")
    metrics = result.metrics()
    assert list(result.scores["failed_seeds"]) == ["1"]
    assert metrics["failed_seeds"] == {"1": "diverged at epoch 2"}
    assert metrics["test_accuracy"]["per_seed"][1] is None
    assert metrics["seeds"] == [0, 1, 2]


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        ({"seeds": [0, 1], "changes": {"learning_rate": 1e30}}, AllSeedsFailedError, r"Every seed failed.*diverged at"),
        ({"seeds": []}, InputError, "no seeds"),
        ({"seeds": [1, 1]}, InputError, "twice"),
        ({"model": "gcn"}, InputError, "leave one of them out"),
    ],
)
def test_what_cannot_be_done_is_refused(
    graph: Graph, split: Split, settings: Settings, given: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        fit(graph, split, settings, **{"seeds": [0], "device": "cpu", **given})
    with pytest.raises(InputError, match="no labels to learn from"):
        fit(graph.with_labels(None))


def interrupt_in(seed: int) -> OnFitEvent:
    def on_event(event: FitEvent) -> None:
        if isinstance(event, EpochDone) and (event.seed, event.epoch) == (seed, 2):
            raise KeyboardInterrupt

    return on_event


def test_interruption_keeps_finished_seeds(graph: Graph, split: Split, settings: Settings) -> None:
    result = fit(graph, split, settings, range(5), device="cpu", on_event=interrupt_in(2))
    assert result.interrupted
    assert result.seeds == (0, 1)
    assert len(result.metrics()["test_accuracy"]["per_seed"]) == 2
    with pytest.raises(KeyboardInterrupt):  # nothing is finished
        fit(graph, split, settings, range(5), device="cpu", on_event=interrupt_in(0))


def test_too_many_levels_are_noted(graph: Graph, split: Split, settings: Settings) -> None:
    seen: list[Hierarchy] = []

    def on_event(event: FitEvent) -> None:
        if isinstance(event, Coarsened):
            seen.append(event.hierarchy)

    deep = settings.override({"levels": 60, "epochs": 1, "hidden": 4})
    result = fit(graph, split, deep, [0], device="cpu", on_event=on_event)
    assert seen[0].depth < 60
    assert any("not the 60 that were asked for" in note for note in result.notes)


@pytest.fixture(scope="module")
def small() -> Graph:
    return planted_graph(90, classes=3, depth=1, homophily=0.95, noise=1.0, seed=1)


def quick_baselines(graph: Graph, *names: str, seeds: int = 1, **given: Any) -> tuple[Row, ...]:
    """The baselines of a fit that itself takes no time."""
    run: dict[str, Any] = {"model": "hgcn", "changes": {"epochs": 2, "levels": 1}, "device": "cpu"}
    result = fit(graph, seeds=range(seeds), baselines=names or BASELINES["classes"], **run, **given)
    assert result.baselines is not None
    return result.baselines


def test_fit_does_everything_and_coarsens_once(small: Graph, coarsenings: list[int]) -> None:
    """Split, settings, hierarchy, training, baselines, reasons: without a further step, and with one coarsening."""
    result = fit(small, model="hgcn-plus", changes={"epochs": 3}, baselines=BASELINES["classes"], device="cpu")
    assert coarsenings == [MOST_LEVELS]
    assert result.settings == choose_settings(small, result.split, changes={"epochs": 3}).settings
    assert result.reasons["levels"]
    assert "epochs" not in result.reasons
    assert result.hierarchy is not None
    assert result.hierarchy.requested == result.settings.model.levels
    assert result.baselines is not None
    assert [one.model for one in result.baselines] == list(BASELINES["classes"])
    assert np.array_equal(result.split.test, Split.by_id(small.truth, small.ids).test)


def test_a_named_dataset_has_its_recipe_and_the_published_accuracy(small: Graph) -> None:
    result = fit(small, dataset="cora", changes={"epochs": 2}, device="cpu")
    assert (result.settings.method, result.settings.preset, result.scores["claim"]) == ("hgcn", "paper", 0.845)
    assert result.reasons == {}


def test_each_baseline_gives_scores_without_any_extra(small: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    found = quick_baselines(small, seeds=2)
    assert [one.model for one in found] == ["label-propagation", "mlp", "gcn"]
    assert [one.seeds for one in found] == [1, 2, 2]
    for one in found:
        assert one.test is not None
        assert one.test.accuracy.mean is not None
        assert one.test.accuracy.mean > 0.5


def test_a_baseline_without_a_result_says_why(small: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Any, *args: object, **kwargs: object) -> None:
        raise RuntimeError("can't allocate memory")

    monkeypatch.setattr("hiergcn.model.baselines.label_propagation.LabelPropagationMethod.prepare", full)
    perceptron, propagation = quick_baselines(replace(small, features=None), "mlp", "label-propagation")
    assert "no features" in str(perceptron.left_out)
    assert "can't allocate" in str(propagation.left_out)
    assert perceptron.to_dict()["test"]["accuracy"] is None


def test_interrupted_baselines_leave_the_run(small: Graph) -> None:
    def interrupt(event: FitEvent) -> None:
        if isinstance(event, BaselineStarted):
            raise KeyboardInterrupt

    changes = {"epochs": 2, "levels": 1}
    result = fit(small, model="hgcn", changes=changes, baselines=BASELINES["classes"], device="cpu", on_event=interrupt)
    assert result.baselines is None
    assert not result.interrupted
    assert any("comparison with simpler methods was stopped" in note for note in result.notes)


def test_baselines_have_the_recipes_of_a_named_dataset(small: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    real = Trainer.train

    def watched(self: Trainer, settings: Settings, *rest: Any, **more: Any) -> Any:
        seen.append(settings.preset)
        return real(self, settings, *rest, **more)

    monkeypatch.setattr(Trainer, "train", watched)
    for dataset in ("cora", None):
        quick_baselines(small, "mlp", dataset=dataset)
    assert seen == ["paper", "default", "adapted", "adapted"]
