"""The harmonic function as a method: its probabilities, its one step, and other graphs."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.coarsening.diffusion import Diffusion
from hiergcn.datasets import planted_graph
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.model.baselines.label_propagation import Harmonic, HarmonicMethod
from hiergcn.model.method import Labelled
from hiergcn.run.fit import fit
from hiergcn.settings.methods import LabelOnlyConfig

CPU = torch.device("cpu")
NONE = np.empty(0, dtype=np.int64)


def taught(adjacency: sp.csr_array, nodes: list[int], classes: list[int], n_classes: int) -> Harmonic:
    method = HarmonicMethod(LabelOnlyConfig())
    prepared = method.prepare(Task(adjacency, None, n_classes, NONE, NONE, NONE, NONE), None, CPU)
    model: Harmonic = method.build(prepared, n_classes, torch.Generator())
    labelled = Labelled(torch.tensor(nodes), torch.tensor(classes))
    model.step(prepared.features, labelled, torch.optim.Adam([torch.zeros(1)]), 1)
    return model.eval()


def test_before_it_learns_all_classes_are_equal() -> None:
    method = HarmonicMethod(LabelOnlyConfig())
    prepared = method.prepare(Task(sp.csr_array(np.ones((3, 3))), None, 4, NONE, NONE, NONE, NONE), None, CPU)
    model = method.build(prepared, 4, torch.Generator())
    torch.testing.assert_close(torch.softmax(model(prepared.features), dim=1), torch.full((3, 4), 0.25))


def test_only_the_shares_are_saved() -> None:
    model = taught(sp.csr_array(np.eye(3, k=1) + np.eye(3, k=-1)), [0, 2], [0, 1], 2)
    assert list(model.state_dict()) == ["shares"]


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
    split = Split.holdout(graph.truth, seed=1)
    model = fit(graph, split, model="harmonic", device="cpu").model
    kept = np.random.default_rng(0).permutation(100)[:80]
    newer = Graph(sp.csr_array(graph.adjacency[kept][:, kept]), np.asarray(graph.features)[kept], None, graph.ids[kept])
    train = np.flatnonzero(np.isin(kept, split.train))
    shares = Diffusion(newer.adjacency).harmonic(train, graph.truth[kept[train]], 4)
    np.testing.assert_allclose(model.predict_proba(newer, "cpu"), shares, atol=1e-6)
