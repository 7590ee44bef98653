"""Label propagation against its closed form and PyG's; the harmonic function against the diffusion of labels."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.coarsening.diffusion import Diffusion
from hiergcn.datasets import planted_graph
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.model.baselines.label_propagation import HarmonicMethod, LabelPropagation, LabelPropagationMethod
from hiergcn.model.method import Labelled
from hiergcn.run.fit import fit
from hiergcn.settings.methods import LabelOnlyConfig, LabelPropagationConfig

NODES, LABELS = np.array([0, 1, 2, 3]), np.array([0, 0, 1, 2])


@pytest.fixture
def adjacency() -> sp.csr_array:
    """Twelve nodes with weighted edges; the last one is isolated."""
    rng = np.random.default_rng(2)
    dense = np.triu(rng.random((12, 12)) < 0.4, 1) * rng.integers(1, 5, (12, 12))
    dense[:, 11] = 0
    return sp.csr_array((dense + dense.T).astype(np.float64))


def taught(adjacency: sp.csr_array, config: LabelPropagationConfig) -> LabelPropagation:
    none = np.empty(0, dtype=np.int64)
    method = LabelPropagationMethod(config)
    prepared = method.prepare(Task(adjacency, None, 3, none, none, none, none), None, torch.device("cpu"))
    model: LabelPropagation = method.build(prepared, 3, torch.Generator())
    labelled = Labelled(torch.from_numpy(NODES), torch.from_numpy(LABELS))
    model.step(prepared.features, labelled, torch.optim.Adam([torch.zeros(1)]), 1)
    return model


def normalised(adjacency: sp.csr_array) -> np.ndarray:
    A = adjacency.toarray()
    root = np.where(A.sum(axis=1) > 0, 1 / np.sqrt(np.maximum(A.sum(axis=1), 1e-30)), 0.0)
    S: np.ndarray = root[:, None] * A * root
    return S


def test_many_steps_reach_the_fixed_point(adjacency: sp.csr_array) -> None:
    model = taught(adjacency, LabelPropagationConfig(alpha=0.8, steps=200))
    Y = np.zeros((12, 3))
    Y[NODES, LABELS] = 1.0
    F = 0.2 * np.linalg.solve(np.eye(12) - 0.8 * normalised(adjacency), Y)
    np.testing.assert_allclose(torch.exp(model(torch.empty(12, 0))).numpy(), F, rtol=1e-4, atol=1e-7)


def test_a_node_that_no_label_reaches_has_equal_classes(adjacency: sp.csr_array) -> None:
    model = taught(adjacency, LabelPropagationConfig())
    probabilities = torch.softmax(model(torch.empty(12, 0)), dim=1)
    torch.testing.assert_close(probabilities[11], torch.full((3,), 1 / 3))
    assert probabilities[:4].argmax(dim=1).tolist() == LABELS.tolist()


def test_only_the_labels_are_saved(adjacency: sp.csr_array) -> None:
    model = taught(adjacency, LabelPropagationConfig())
    assert list(model.state_dict()) == ["known"]
    assert model.known.tolist() == [0, 0, 1, 2] + [-1] * 8


def test_before_it_learns_all_classes_are_equal() -> None:
    method, none = HarmonicMethod(LabelOnlyConfig()), np.empty(0, dtype=np.int64)
    task = Task(sp.csr_array(np.ones((3, 3))), None, 4, none, none, none, none)
    prepared = method.prepare(task, None, torch.device("cpu"))
    model = method.build(prepared, 4, torch.Generator())
    assert list(model.state_dict()) == ["shares"]
    torch.testing.assert_close(torch.softmax(model(prepared.features), dim=1), torch.full((3, 4), 0.25))


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(100, homophily=0.7, seed=2)


def test_fit_gives_the_diffusion_of_the_training_labels(graph: Graph) -> None:
    split = Split.holdout(graph.truth, seed=1)
    result = fit(graph, split, model="harmonic", seeds=[0, 5], device="cpu")
    shares = Diffusion(graph.adjacency).harmonic(split.train, graph.truth[split.train], 4)
    np.testing.assert_allclose(result.probabilities, shares, atol=1e-6)
    np.testing.assert_allclose(result.model.predict_proba(graph, "cpu"), shares, atol=1e-6)


def test_another_graph_is_diffused_again_from_the_labels_that_it_shares(graph: Graph) -> None:
    """Its nodes stand in another order and some are gone."""
    graph, split = replace(graph, ids_given=True), Split.holdout(graph.truth, seed=1)
    model = fit(graph, split, model="harmonic", device="cpu").model
    kept = np.random.default_rng(0).permutation(100)[:80]
    newer = Graph(sp.csr_array(graph.adjacency[kept][:, kept]), np.asarray(graph.features)[kept], None, graph.ids[kept])
    train = np.flatnonzero(np.isin(kept, split.train))
    shares = Diffusion(newer.adjacency).harmonic(train, graph.truth[kept[train]], 4)
    np.testing.assert_allclose(model.predict_proba(newer, "cpu"), shares, atol=1e-6)
