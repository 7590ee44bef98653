"""Simpler methods on the same split, beside a run."""

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hiergcn.datasets import planted_graph
from hiergcn.graph import Graph, Split
from hiergcn.run.baselines import fit_baselines
from hiergcn.run.fit import fit


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(90, classes=3, depth=1, homophily=0.95, noise=1.0, seed=1)


@pytest.fixture(scope="module")
def split(graph: Graph) -> Split:
    assert graph.labels is not None
    return Split.holdout(graph.labels, seed=0)


def test_each_gives_figures_without_any_extra(graph: Graph, split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    found = fit_baselines(graph, split, [0, 1], device="cpu")
    assert [one.model for one in found] == ["label-propagation", "mlp", "gcn"]
    assert [one.seeds for one in found] == [1, 2, 2]
    for one in found:
        assert one.test is not None
        assert one.test.accuracy.mean is not None
        assert one.test.accuracy.mean > 0.5


def test_the_perceptron_needs_features(graph: Graph, split: Split) -> None:
    bare = replace(graph, features=None)
    (one,) = fit_baselines(bare, split, [0], leave_out=["label-propagation", "gcn"], device="cpu")
    assert one.left_out is not None
    assert "no features" in one.left_out
    assert one.test is None
    assert one.to_dict()["test"]["accuracy"] is None


def test_a_failure_does_not_lose_the_run(graph: Graph, split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise RuntimeError("can't allocate memory")

    monkeypatch.setattr("hiergcn.run.baselines.fit", full)
    (one,) = fit_baselines(graph, split, [0], leave_out=["gcn", "mlp"], device="cpu")
    assert one.left_out is not None
    assert "can't allocate" in one.left_out


def test_a_named_dataset_keeps_its_recipes(graph: Graph, split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def watched(graph: Graph, split: Split, settings: Any, *rest: Any, **more: Any) -> Any:
        seen.append(settings.preset)
        return fit(graph, split, settings, *rest, **more)

    monkeypatch.setattr("hiergcn.run.baselines.fit", watched)
    for dataset in ("cora", None):
        fit_baselines(graph, split, [0], dataset=dataset, leave_out=["gcn", "label-propagation"], device="cpu")
    assert seen == ["default", "adapted"]


def test_without_test_nodes_validation_has_the_figures(graph: Graph) -> None:
    assert graph.labels is not None
    bare = Split.holdout(graph.labels, test=0.0)
    assert np.size(bare.test) == 0
    (one,) = fit_baselines(graph, bare, [0], leave_out=["gcn", "mlp"], device="cpu")
    assert one.test is None
    assert one.validation is not None
