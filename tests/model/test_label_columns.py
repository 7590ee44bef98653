"""Harmonic columns beside the features: which values they hold, what they may know, and saved models that use them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.preprocessing import normalize

from hiergcn.coarsening.diffusion import Diffusion
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.model.inputs import build_method, harmonic_columns, keep_columns, label_columns
from hiergcn.model.ops.sparse import SparseMatrix
from hiergcn.run.fit import fit
from hiergcn.run.predict import predictions_again
from hiergcn.run.run import Run
from hiergcn.settings.fields import Scaling
from hiergcn.settings.methods import MLPConfig
from hiergcn.settings.settings import settings_for
from hiergcn.train.trainer import Trainer

CPU = torch.device("cpu")
SHORT = {
    "mlp": {"hidden": 8},
    "gcn": {"hidden": 8},
    "hgcn-plus": {"hidden": 8, "levels": 2, "order": 2},
    "hgcn": {"hidden": 8, "levels": 2},
}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(90, homophily=0.7, seed=3)


@pytest.fixture(scope="module")
def split(graph: Graph) -> Split:
    return Split.holdout(graph.truth, seed=0)


def inputs(graph: Graph, split: Split, scaling: Scaling = "row") -> np.ndarray:
    prepared = build_method("mlp", MLPConfig(harmonic=True, scaling=scaling)).prepare(Task.of(graph, split), None, CPU)
    return np.asarray(prepared.features)


def test_columns_are_added_after_rows_are_scaled(graph: Graph, split: Split) -> None:
    found = inputs(graph, split, "row")
    columns = Diffusion(graph.adjacency).cross_fitted(split.train, graph.truth[split.train], 4)
    np.testing.assert_allclose(found[:, :16], normalize(np.asarray(graph.features), norm="l1"), rtol=1e-5)
    np.testing.assert_allclose(found[:, 16:], columns, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(np.abs(found[:, :16]).sum(axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(found[:, 16:].sum(axis=1), 1.0, rtol=1e-4)


def test_a_graph_without_features_gets_the_columns_alone(graph: Graph, split: Split) -> None:
    bare = replace(graph, features=None)
    np.testing.assert_array_equal(inputs(bare, split), harmonic_columns(Task.of(bare, split)))


@pytest.mark.parametrize("scaling", ["row", "l2", "binary", "none", "standard"])
def test_sparse_features_stay_sparse(graph: Graph, split: Split, scaling: Scaling) -> None:
    words = sp.csr_array(sp.random_array((90, 300), density=0.02, rng=np.random.default_rng(0)))
    wordy = replace(graph, features=words)
    prepared = build_method("mlp", MLPConfig(harmonic=True, scaling=scaling)).prepare(Task.of(wordy, split), None, CPU)
    assert isinstance(prepared.features, SparseMatrix)
    assert prepared.features.pattern.shape == (90, 304)
    assert len(prepared.features.values) <= words.nnz + 4 * 90


@pytest.mark.parametrize("name", ["harmonic", "nearness"])
def test_columns_do_not_depend_on_validation_and_test_labels(graph: Graph, split: Split, name: str) -> None:
    poisoned = graph.truth.copy()
    for part in (split.validation, split.test):
        poisoned[part] = (poisoned[part] + 1) % 4
    config = settings_for("mlp").override({name: True}).model
    one, other = (label_columns(Task.of(each, split), config)[name] for each in (graph, graph.with_labels(poisoned)))
    np.testing.assert_array_equal(one, other)


def test_another_split_has_other_columns(graph: Graph, split: Split) -> None:
    """A trainer keeps prepared inputs, but not beyond the split that they were made for."""
    other = Split.holdout(graph.truth, seed=1)
    settings = settings_for("mlp").override({"harmonic": True, "epochs": 5})
    trainer = Trainer(graph, "cpu")
    for part in (split, other, split):
        _, prepared = trainer.prepare(settings, part)
        columns = harmonic_columns(Task.of(graph, part))
        np.testing.assert_allclose(np.asarray(prepared.features)[:, -4:], columns, rtol=1e-6)


@pytest.mark.parametrize("scaling", ["row", "standard"])
@pytest.mark.parametrize("method", SHORT)
def test_a_saved_model_predicts_the_same(
    method: str, scaling: Scaling, graph: Graph, split: Split, tmp_path: Path
) -> None:
    changes = {"harmonic": True, "scaling": scaling, "epochs": 15, **SHORT[method]}
    settings = settings_for(method).override(changes)
    result = fit(graph, split, settings, [0, 1], device="cpu")
    result.write(tmp_path / "run")
    run = Run.load(tmp_path / "run")
    assert run.settings.model.harmonic
    np.testing.assert_allclose(run.model.predict_proba(graph, "cpu"), result.probabilities, rtol=1e-4, atol=1e-6)
    assert len(predictions_again(run, graph, "cpu")) == 90


def test_a_saved_model_predicts_on_a_graph_in_another_order(graph: Graph, split: Split) -> None:
    """Labels are found by the nodes' ids, not by their places."""
    settings = settings_for("gcn").override({"harmonic": True, "epochs": 15})
    result = fit(graph, split, settings, device="cpu")
    order = np.random.default_rng(0).permutation(90)
    shuffled = Graph(
        sp.csr_array(graph.adjacency[order][:, order]), np.asarray(graph.features)[order], None, graph.ids[order]
    )
    np.testing.assert_allclose(result.model.predict_proba(shuffled, "cpu"), result.probabilities[order], atol=1e-4)


def test_settings_of_columns_need_columns() -> None:
    with pytest.raises(InputError, match="sharp has no effect without harmonic"):
        build_method("mlp", settings_for("mlp").override({"sharp": True}).model)


def test_sharp_columns_are_those_of_a_sharp_diffusion(graph: Graph, split: Split) -> None:
    task = Task.of(graph, split)
    sharp = Diffusion(graph.adjacency, sharp=True).cross_fitted(split.train, graph.truth[split.train], 4)
    np.testing.assert_allclose(harmonic_columns(task, sharp=True), sharp, rtol=1e-5, atol=1e-7)
    assert not np.allclose(harmonic_columns(task), sharp, atol=0.05)
    prepared = build_method("mlp", MLPConfig(harmonic=True, sharp=True, scaling="none")).prepare(task, None, CPU)
    np.testing.assert_allclose(np.asarray(prepared.features)[:, 16:], sharp, rtol=1e-5, atol=1e-7)


def test_columns_made_elsewhere_are_kept(graph: Graph, split: Split) -> None:
    """A worker takes the columns of its caller instead of making them again."""
    config = MLPConfig(harmonic=True, sharp=True)
    made = label_columns(Task.of(graph, split), config)
    task = Task.of(graph, split)
    keep_columns(task, made)
    assert harmonic_columns(task, sharp=True) is made["sharp"]
    assert list(label_columns(task, MLPConfig(nearness=True))) == ["nearness"]
