"""DGCN and PPMI against dense calculations, and the schedule."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.datasets import planted_graph
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.model.method import Labelled
from hiergcn.model.ops.sparse import SparseMatrix
from hiergcn_experiments.methods import dgcn as module
from hiergcn_experiments.methods.dgcn import DGCN, DGCNConfig, DGCNMethod, co_occurrence, consistency_weight, ppmi

CPU = torch.device("cpu")


@pytest.fixture
def task() -> Task:
    rng = np.random.default_rng(2)
    dense = np.triu(rng.random((12, 12)) < 0.35, 1).astype(float)
    features = (rng.random((12, 5)) * (rng.random((12, 5)) < 0.6)).astype(np.float32)
    labels = np.arange(12) % 3
    graph = Graph(sp.csr_array(dense + dense.T), sp.csr_array(features), labels)
    return Task.of(graph, Split(np.arange(6), np.arange(6, 9), np.arange(9, 12)))


def built(task: Task, config: DGCNConfig) -> tuple[DGCN, torch.Tensor, Labelled]:
    method = DGCNMethod(config)
    prepared = method.prepare(task, None, CPU)
    labelled = Labelled(torch.from_numpy(task.train.copy()), torch.from_numpy(task.train_labels.copy()))
    return method.build(prepared, 3, torch.Generator().manual_seed(0)), prepared.features, labelled  # type: ignore[return-value]


def softmax(Z: np.ndarray) -> np.ndarray:
    E = np.exp(Z)
    share: np.ndarray = E / E.sum(axis=1, keepdims=True)
    return share


@pytest.mark.parametrize("supervised", ["squared", "cross_entropy"])
def test_objective_is_the_papers(task: Task, supervised: str) -> None:
    config = DGCNConfig(hidden=4, dropout=0.0, supervised=supervised, output_relu=False)  # type: ignore[arg-type]
    model, X, labelled = built(task, config)
    summed = replace(labelled, reduction="sum")
    loss = model.objective(X, summed, epoch=31).item()
    assert model.P is not None
    W_1, W_2 = (W.detach().numpy().astype(float) for W in (model.W_1, model.W_2))
    dense = np.asarray(task.features.todense())  # type: ignore[union-attr]

    def view(matrix: SparseMatrix) -> np.ndarray:
        M = matrix.to_dense().numpy().astype(float)
        logits: np.ndarray = M @ np.maximum(M @ dense @ W_1, 0) @ W_2
        return logits

    Z_A, Z_P = softmax(view(model.adjacency)), softmax(view(model.P))
    y = np.eye(3)[task.train_labels]
    by_loss = {"squared": ((Z_A[task.train] - y) ** 2).sum(), "cross_entropy": -(np.log(Z_A[task.train]) * y).sum()}
    weight = 15 * 6 / 12 * math.exp(-5 * (1 - 30 / 120) ** 2)
    assert loss == pytest.approx(by_loss[supervised] + weight * ((Z_A - Z_P) ** 2).sum(), rel=1e-5)
    assert model.objective(X, labelled, epoch=31).item() == pytest.approx(loss / 6, rel=1e-6)
    np.testing.assert_allclose(model.eval()(X).detach().numpy(), view(model.adjacency), rtol=1e-4, atol=1e-6)


def test_class_weights(task: Task) -> None:
    """A class of weight 2 is like one whose nodes are listed twice."""
    model, X, labelled = built(task, DGCNConfig(dropout=0.0, consistency=0.0))
    heavy = Labelled(labelled.nodes, labelled.classes, torch.tensor([2.0, 1.0, 1.0]), reduction="sum")
    first = labelled.classes == 0
    twice = Labelled(*(torch.cat([part, part[first]]) for part in (labelled.nodes, labelled.classes)), reduction="sum")
    torch.testing.assert_close(model.objective(X, heavy, 1), model.objective(X, twice, 1))


def test_consistency_weight_rises_and_stays() -> None:
    golden = {0: 0.006738, 30: 0.060055, 60: 0.286505, 90: 0.731616, 119: 0.999653, 120: 1.0, 299: 1.0}
    assert {t: round(consistency_weight(t, 120, 1.0), 6) for t in golden} == golden
    assert consistency_weight(0, 0, 3.0) == 3.0


def test_walks_come_from_the_generator_and_are_not_saved(task: Task) -> None:
    first, X, labelled = built(task, DGCNConfig(walks=5))
    again, _, _ = built(task, DGCNConfig(walks=5))
    torch.manual_seed(7)
    assert first.objective(X, labelled, 1).item() == again.objective(X, labelled, 1).item()
    assert set(first.state_dict()) == {"W_1", "W_2"}


@pytest.mark.parametrize("shift", [1.0, 1.5])
def test_ppmi_is_the_formula(shift: float) -> None:
    counts = np.array([[4, 6, 0, 1], [6, 2, 3, 0], [0, 3, 9, 0], [1, 0, 0, 0]])
    P = ppmi(sp.csr_array(counts), shift)
    share = counts.sum() * counts / np.outer(counts.sum(axis=1), counts.sum(axis=0))
    expected = np.log(np.maximum(share / shift, 1.0))
    np.testing.assert_allclose(P.toarray(), expected)
    assert P.nnz == np.count_nonzero(expected) < np.count_nonzero(counts)  # zeros have no entry


def test_counts_take_every_pair_of_places_on_a_walk() -> None:
    """An isolated node stays where it is: 3 places make 3 pairs a walk."""
    counts = co_occurrence(sp.csr_array((1, 1)), 5, 3, np.random.default_rng(0))
    assert counts.toarray().tolist() == [[15]]


def test_counts_are_of_neighbours_and_do_not_change_with_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    adjacency = planted_graph(200, seed=4).adjacency
    counts = co_occurrence(adjacency, 40, 2, np.random.default_rng(1))
    np.testing.assert_array_equal(counts.toarray(), counts.toarray().T)
    reachable = (adjacency + sp.eye_array(200)) > 0
    assert (counts.astype(bool) > reachable).nnz == 0
    monkeypatch.setattr(module, "_PAIRS_AT_ONCE", 1)
    in_pieces = co_occurrence(adjacency, 40, 2, np.random.default_rng(1))
    assert in_pieces.sum() == pytest.approx(counts.sum(), rel=0.02)
