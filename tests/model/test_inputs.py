"""Hop columns: counts and means are those of shortest paths; models with them are saved and move to other graphs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.sparse.csgraph import shortest_path

import hiergcn
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.neighbourhoods import within_hops
from hiergcn.graph.task import Task
from hiergcn.model import inputs as inputs_module
from hiergcn.model.inputs import COUNT_HOPS, MEAN_HOPS, WIDEST, build_method, column_names
from hiergcn.model.nearness import SHARE_HOPS, SPREADS, share_columns
from hiergcn.run.run import Run
from hiergcn.settings.methods import MLPConfig
from hiergcn.settings.settings import settings_for
from hiergcn.workers.memory_plan import plan_memory

CPU = torch.device("cpu")
BOTH = {"hop_counts": True, "hop_means": True}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(120, classes=3, degree=2, seed=4)  # in several components


@pytest.fixture(scope="module")
def split(graph: Graph) -> Split:
    return Split.holdout(graph.truth, 0.3, 0.3, 0)


def inputs(graph: Graph, **settings: Any) -> np.ndarray:
    prepared = build_method("mlp", MLPConfig(**settings)).prepare(Task.to_predict(graph, 3), None, CPU)
    return np.asarray(prepared.features)


def test_columns_are_those_of_shortest_paths(graph: Graph) -> None:
    distance = shortest_path(graph.adjacency, unweighted=True)
    own = np.asarray(graph.features)
    counts = [np.log((distance <= hops).sum(axis=1)) for hops in COUNT_HOPS]
    within = [(distance <= hops).astype(float) for hops in MEAN_HOPS]
    means = [near @ own / near.sum(axis=1, keepdims=True) for near in within]
    found = inputs(graph, scaling="none", **BOTH)
    np.testing.assert_allclose(found, np.column_stack([own, *counts, *means]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("also", [{}, {"harmonic": True}, {"degrees": True}])
def test_standardised_inputs_are_standardised_with_their_columns_and_names(
    graph: Graph, split: Split, also: dict[str, Any]
) -> None:
    config = MLPConfig(scaling="standard", **BOTH, **also)
    method = build_method("mlp", config)
    found = method.prepare(Task.of(graph, split), None, CPU).features
    assert isinstance(found, torch.Tensor)
    width = 3 if "degrees" in also else graph.n_features
    assert found.shape[1] == width + len(COUNT_HOPS) + len(MEAN_HOPS) * width + (3 if "harmonic" in also else 0)
    names = column_names(config, [f"x{k}" for k in range(graph.n_features)], ["a", "b", "c"])
    assert len(set(names)) == found.shape[1]
    assert names[width + len(COUNT_HOPS)] == (
        "mean degree within 1 hop" if "degrees" in also else "mean x0 within 1 hop"
    )
    np.testing.assert_allclose(found.mean(dim=0), 0.0, atol=1e-4)
    assert set(np.round(found.std(dim=0, correction=0).numpy(), 3)) <= {0.0, 1.0}


def test_sparse_features_take_counts_and_refuse_means(graph: Graph) -> None:
    sparse = replace(graph, features=sp.csr_array(np.asarray(graph.features)))
    method = build_method("mlp", MLPConfig(scaling="none", hop_counts=True))
    found = method.prepare(Task.to_predict(sparse, 3), None, CPU).features
    assert found.shape[1] == graph.n_features + len(COUNT_HOPS)
    wide = replace(graph, features=np.ones((graph.n_nodes, WIDEST + 1), np.float32))
    for refused in (sparse, wide):
        with pytest.raises(InputError, match="hop_means takes up to 256 dense features"):
            inputs(refused, hop_means=True)


def test_columns_of_a_graph_are_made_once_and_freed_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    own, calls, real = planted_graph(40, seed=1), [], within_hops

    def counted(*given: Any) -> Any:
        calls.append(given[1])
        return real(*given)

    monkeypatch.setattr(inputs_module, "within_hops", counted)
    before = len(inputs_module._MADE)
    first, second = inputs(own, **BOTH), inputs(own, **BOTH)
    np.testing.assert_array_equal(first, second)
    assert calls == [COUNT_HOPS, MEAN_HOPS]
    assert len(inputs_module._MADE) == before + 2
    del own
    assert len(inputs_module._MADE) == before


def test_the_memory_plan_counts_the_columns(graph: Graph) -> None:
    bare = settings_for("mlp")
    without, beside = (plan_memory(graph, one, None).structure for one in (bare, bare.override(BOTH)))
    columns = len(COUNT_HOPS) + len(MEAN_HOPS) * graph.n_features
    assert beside - without == 4 * graph.n_nodes * columns


def test_shares_are_a_kernel_estimate_without_the_node_itself(graph: Graph, split: Split) -> None:
    task = Task.of(graph, split)
    distance = shortest_path(graph.adjacency, unweighted=True)
    ends = np.array(SHARE_HOPS)
    starts = np.concatenate([[1], ends[:-1] + 1])
    expected = np.zeros((graph.n_nodes, len(SPREADS), 3))
    for node in range(graph.n_nodes):
        for labelled, label in zip(task.train, task.train_labels, strict=True):
            hops = distance[node, labelled]
            if 1 <= hops <= ends[-1]:
                shell = np.searchsorted(ends, hops)
                expected[node, :, label] += np.exp(-(starts[shell] + ends[shell]) / 2 / np.array(SPREADS))
    total = expected.sum(axis=2, keepdims=True)
    expected = 5 * np.divide(expected, total, out=np.zeros_like(expected), where=total > 0)
    np.testing.assert_allclose(share_columns(task), expected.reshape(graph.n_nodes, -1), rtol=1e-4, atol=1e-6)


def test_shares_need_nearness() -> None:
    with pytest.raises(InputError, match="no effect without nearness"):
        build_method("mlp", MLPConfig(nearness_shares=True))


@pytest.mark.parametrize("method", ["mlp", "gcn", "hgcn"])
@pytest.mark.parametrize("nearness", [False, True])
def test_a_saved_model_predicts_on_another_graph(method: str, nearness: bool, graph: Graph, tmp_path: Path) -> None:
    """Scales are those of the training graph: a component of it, by itself, gets the same answer from an MLP."""
    graph = replace(graph, ids_given=True)
    settings: dict[str, Any] = {"epochs": 4, "hidden": 8, **BOTH}
    settings |= {"nearness": True, "nearness_shares": True} if nearness else {}
    fitted = hiergcn.fit(graph, method, seeds=2, device="cpu", **settings)
    fitted.save(tmp_path / "run")
    run = Run.load(tmp_path / "run")
    assert run.model.members[0].name == method + "+hops" + ("+nearness" if nearness else "")
    again = run.model.predict_proba(graph, "cpu")
    np.testing.assert_allclose(again, fitted.probabilities, atol=1e-5)
    _, component = sp.csgraph.connected_components(graph.adjacency)
    inside = np.flatnonzero(component == np.bincount(component).argmax())
    part = Graph(
        graph.adjacency[inside][:, inside], np.asarray(graph.features)[inside], graph.truth[inside], graph.ids[inside]
    )
    alone = run.model.predict_proba(part, "cpu")
    assert np.isfinite(alone).all()
    if method == "mlp":
        np.testing.assert_allclose(alone, again[inside], atol=1e-4)
