"""Several methods over the same splits and seeds, each in its own process."""

import csv
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hiergcn.choose.adapt import choose_settings
from hiergcn.comparison.compare import (
    CompareEvent,
    Comparison,
    MethodDone,
    MethodStarted,
    RunDone,
    compare,
    read_comparison,
    write_comparison,
)
from hiergcn.comparison.splits import PUBLIC, describe_splits, drawn_splits, parse_splits
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.evaluate.metrics import metrics_for, result_key
from hiergcn.evaluate.paired import signed_rank_p
from hiergcn.graph import Graph, Split
from hiergcn.run.fit import fit
from hiergcn.settings.settings import Settings, settings_for
from hiergcn.workers.pool import Engine

SEEDS = (0, 1)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(700, classes=3, depth=1, homophily=0.9, noise=1.0, seed=0)


@pytest.fixture(scope="module")
def own(graph: Graph) -> Split:
    return Split.random(graph.truth, per_class=10, validation=50, seed=7)


@pytest.fixture
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods run here, where starting a process for each would only take time."""
    monkeypatch.setattr("hiergcn.comparison.compare.Engine", partial(Engine, 0))


def quick(method: str = "hgcn", **changes: Any) -> Settings:
    return settings_for(method).override({"epochs": 5, "hidden": 8} | changes)


@pytest.fixture(scope="module")
def comparison(graph: Graph, own: Split) -> Comparison:
    methods = {"shallow": quick(levels=0), "deep": quick(levels=2), "hopeless": quick(learning_rate=1e30)}
    return compare(graph, own, methods, SEEDS, device="cpu")


def test_scores_are_those_of_fit(comparison: Comparison, graph: Graph, own: Split) -> None:
    alone = fit(graph, own, quick(levels=2), SEEDS, device="cpu")
    assert alone.test is not None
    deep = comparison.runs[1]
    assert deep.test_accuracy.per_seed == alone.test.accuracy.per_seed
    assert [score.best_epoch for score in deep.scores] == [outcome.best_epoch for outcome in alone.outcomes]
    assert 5e7 < (deep.peak.resident or 0) < 5e9
    assert (deep.seconds or 0) > 0 < (deep.epoch_seconds or 0)


def test_differences_are_paired_by_seed(comparison: Comparison) -> None:
    shallow, deep = (comparison.runs[k].test_accuracy.values for k in (0, 1))
    found = comparison.difference("deep")
    assert found is not None
    assert found.mean == pytest.approx((deep - shallow).mean())
    assert found.p == signed_rank_p(deep - shallow)
    assert comparison.difference("shallow") is None


def test_failed_seeds_are_counted_and_left_out(comparison: Comparison) -> None:
    hopeless = comparison.runs[2]
    assert hopeless.failed == len(SEEDS)
    assert "diverged" in str(hopeless.scores[0].failure)
    found = comparison.difference("hopeless")
    assert found is not None
    assert (found.units, found.left_out, found.p) == (0, 2, None)


def test_files_hold_every_figure(comparison: Comparison, tmp_path: Path) -> None:
    write_comparison(comparison, tmp_path / "out")
    saved = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert [model["model"] for model in saved["models"]] == ["shallow", "deep", "hopeless"]
    assert saved["differences"][0]["mean"] == comparison.differences[0].mean
    assert saved["environment"]["packages"]["torch"]
    with (tmp_path / "out" / "scores.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 3 * len(SEEDS)
    assert {result_key(metric) for metric in metrics_for("classes")} <= set(rows[0])
    assert saved["models"][1]["macro_f1"]["mean"] == comparison.runs[1].summary("macro_f1").mean
    assert float(rows[2]["test_accuracy"]) == comparison.runs[1].test_accuracy.per_seed[0]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["comparison.json", "scores.csv"]


def test_a_written_comparison_is_read_again(comparison: Comparison, tmp_path: Path) -> None:
    write_comparison(comparison, tmp_path)
    assert read_comparison(tmp_path) == comparison
    (tmp_path / "scores.csv").write_text("model,split\n1")
    with pytest.raises(InputError, match="damaged"):
        read_comparison(tmp_path)


def test_explanations_name_the_rival_the_pairs_and_the_lowest_p(comparison: Comparison) -> None:
    words = " ".join(comparison.explanations)
    assert "from shallow in points" in words
    assert "over paired seeds, for this split only" in words
    assert "overlap" not in words
    pairs = tuple(replace(one, units=5) for one in comparison.differences)
    several = replace(comparison, splits=drawn_splits("random", 5), differences=pairs)
    assert "With 5 pairs p cannot fall below 0.0625" in " ".join(several.explanations)
    assert "Random splits overlap" in " ".join(several.explanations)


def test_every_kind_of_split_is_described() -> None:
    assert describe_splits((PUBLIC,)) == "the graph's own split"
    assert describe_splits((PUBLIC,), drawn=True).startswith("one split, drawn")
    assert "10 %, apart from these, validate" in describe_splits(parse_splits("apart:2"))


@pytest.mark.usefixtures("one_process")
def test_random_splits_are_the_same_for_every_method(graph: Graph, own: Split) -> None:
    specs = parse_splits("random:2")
    expected = Split.random(graph.truth, 20, 500, seed=1)
    assert np.array_equal(specs[1].split(graph, own).train, expected.train)
    found = compare(graph, own, {"a": quick(levels=0), "b": quick(levels=0)}, (0,), splits=specs, device="cpu")
    assert found.runs[0].by_pair == found.runs[1].by_pair
    assert set(found.runs[0].by_pair) == {(0, 0), (1, 0)}
    assert found.differences[0].p == 1.0
    assert "not of its largest component" in found.to_dict()["splits_about"]


@pytest.mark.usefixtures("one_process")
def test_ctrl_c_keeps_finished_methods(graph: Graph, own: Split) -> None:
    methods = {"a": quick(levels=0), "b": quick(levels=0)}
    events: list[CompareEvent] = []

    def interrupt_at(model: str) -> Any:
        def on_event(event: CompareEvent) -> None:
            events.append(event)
            if isinstance(event, MethodStarted) and event.model == model:
                raise KeyboardInterrupt

        return on_event

    found = compare(graph, own, methods, (0,), device="cpu", on_event=interrupt_at("b"))
    assert found.interrupted
    assert [run.model for run in found.runs] == ["a"]
    done = MethodDone(found.runs[0], found)
    assert events == [MethodStarted("a", 1), RunDone("a", 0, 0, None), done, MethodStarted("b", 1)]
    with pytest.raises(KeyboardInterrupt):
        compare(graph, own, methods, (0,), device="cpu", on_event=interrupt_at("a"))


@pytest.mark.usefixtures("one_process")
def test_settings_are_chosen_and_the_graph_coarsened_once(graph: Graph, own: Split, coarsenings: list[int]) -> None:
    changes = {"epochs": 2}
    found = compare(graph, own, ["hgcn", "hgcn-plus", "hgcn:paper"], (0,), changes=changes, device="cpu")
    assert len(coarsenings) == 1
    adapted = [choose_settings(graph, own, name, changes=changes).settings for name in ("hgcn", "hgcn-plus")]
    expected = [*adapted, settings_for("hgcn", "paper").override(changes)]
    assert [run.settings for run in found.runs] == expected
