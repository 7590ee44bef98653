"""H-GCN+ against small calculations by hand, in numpy and double precision."""

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.coarsening import Hierarchy, coarsen
from hiergcn.datasets import planted_graph
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.model import hgcn_plus as plus_module
from hiergcn.model.baselines.grand import GRANDMethod
from hiergcn.model.hgcn_plus import HGCNPlus, HGCNPlusMethod, hierarchical_propagation, label_prior
from hiergcn.model.method import Labelled, NodeModel, activated
from hiergcn.model.ops.sparse import SparseMatrix, normalised_adjacency
from hiergcn.run.fit import fit
from hiergcn.settings.methods import GRANDConfig, HGCNPlusConfig
from hiergcn.settings.settings import settings_for
from hiergcn.train.loop import train_models

CPU = torch.device("cpu")
QUIET: dict[str, Any] = {"drop_node": 0.0, "input_dropout": 0.0, "hidden_dropout": 0.0}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(90, classes=3, depth=1, degree=6, homophily=0.9, features=10, noise=0.7, seed=1)


@pytest.fixture(scope="module")
def task(graph: Graph) -> Task:
    return Task.of(graph, Split.random(graph.truth, per_class=5, validation=20, seed=2))


@pytest.fixture(scope="module")
def hierarchy(graph: Graph) -> Hierarchy:
    return coarsen(graph.adjacency, 3)


def dense_propagation(hierarchy: Hierarchy, shares: list[float], orders: list[int]) -> np.ndarray:
    """Return P by the formula, as a dense matrix."""
    P = np.zeros((hierarchy.levels[0].adjacency.shape[0],) * 2)
    for level, (share, order) in enumerate(zip(shares, orders, strict=True)):
        A = hierarchy.levels[level].adjacency.toarray() + np.eye(hierarchy.levels[level].adjacency.shape[0])
        root = np.sqrt(A.sum(axis=1))
        normalised = A / root[:, None] / root[None, :]
        mean = sum(np.linalg.matrix_power(normalised, k) for k in range(order + 1)) / (order + 1)
        M = np.eye(len(A))[hierarchy.hyper_nodes(level)]
        B = M / np.sqrt(M.sum(axis=0))
        P += share * B @ mean @ B.T
    return P


@pytest.mark.parametrize(
    ("shares", "orders"),
    [([0.5, 0.2, 0.2, 0.1], [3, 1, 2, 0]), ([1.0, 0.0, 0.0], [4, 1, 1]), ([0.6, 0.0, 0.4], [2, 1, 3])],
)
def test_propagation_and_its_gradient_are_the_formula(
    hierarchy: Hierarchy, shares: list[float], orders: list[int]
) -> None:
    propagation = hierarchical_propagation(hierarchy, shares, orders, CPU)
    H, G = (torch.randn(90, 5, generator=torch.Generator().manual_seed(seed)) for seed in (0, 3))
    P = dense_propagation(hierarchy, shares, orders)
    np.testing.assert_allclose(propagation(H).numpy(), P @ H.double().numpy(), rtol=0, atol=1e-5)
    (gradient,) = torch.autograd.grad(propagation(H.requires_grad_()), H, G)
    np.testing.assert_allclose(gradient.numpy(), P.T @ G.double().numpy(), rtol=0, atol=1e-5)
    np.testing.assert_allclose(P, P.T, atol=1e-12)
    assert np.abs(np.linalg.eigvalsh(P)).max() <= 1.0 + 1e-12


def test_label_prior_is_the_iteration(graph: Graph) -> None:
    adjacency = normalised_adjacency(graph.adjacency)
    nodes, classes = np.array([3, 40, 80]), np.array([0, 1, 1])
    Y = np.zeros((90, 3))
    Y[nodes, classes] = 1.0
    F = Y
    for _ in range(10):
        F = 0.5 * (adjacency @ F) + 0.5 * Y
    G = F / F.sum(axis=0).clip(min=1e-12)  # the third class has no label and no mass
    Q = 0.99 * G / G.sum(axis=1, keepdims=True).clip(min=1e-12) + 0.01 / 3
    found = label_prior(SparseMatrix.from_scipy(adjacency), Labelled(torch.tensor(nodes), torch.tensor(classes)), 3)
    np.testing.assert_allclose(found.exp().numpy(), Q, rtol=1e-4)


def test_a_node_that_no_label_reaches_has_equal_classes() -> None:
    adjacency = sp.csr_array((3, 3))
    known = Labelled(torch.tensor([0]), torch.tensor([1]))
    prior = label_prior(SparseMatrix.from_scipy(normalised_adjacency(adjacency)), known, 2)
    assert prior[2, 0] == prior[2, 1]
    assert prior[0, 1] > prior[0, 0]


def built(task: Task, hierarchy: Hierarchy, **changes: Any) -> tuple[HGCNPlus, Any]:
    method = HGCNPlusMethod(HGCNPlusConfig(scaling="none", levels=2, hidden=7, **changes))
    prepared = method.prepare(task, hierarchy, CPU)
    return method.build(prepared, 3, torch.Generator().manual_seed(4)), prepared


@pytest.mark.parametrize("side", ["features", "auto"])
def test_few_columns_are_propagated_before_the_product(task: Task, hierarchy: Hierarchy, side: str) -> None:
    """A pass is the same whichever side of X W is propagated; 4 columns are fewer than 7 hidden ones."""
    model, prepared = built(
        task, hierarchy, components=4, order=3, share=0.4, input_dropout=0.0, hidden_dropout=0.0, input_dropout_on=side
    )
    assert (model.graph.smoothed is None) == (side == "features")
    model.train().generator.manual_seed(5)
    drawn = model(prepared.features).detach().double().numpy()
    model.generator.manual_seed(5)
    kept = model._kept_nodes()
    assert isinstance(kept, torch.Tensor)
    P = dense_propagation(hierarchy, [0.6, 0.2, 0.2], [3, 1, 1])
    W1, b1, W2, b2 = (
        parameter.detach().double().numpy()
        for parameter in (model.first, model.first_bias, model.second, model.second_bias)
    )
    X = (prepared.features * kept).double().numpy()
    np.testing.assert_allclose(drawn, np.maximum(P @ X @ W1 + b1, 0.0) @ W2 + b2, rtol=0, atol=1e-4)


@pytest.mark.parametrize("share", [0.0, 0.4])
@pytest.mark.parametrize("input_dropout_on", ["features", "propagated"])
def test_prediction_is_a_perceptron_on_propagated_features(
    task: Task, hierarchy: Hierarchy, share: float, input_dropout_on: str
) -> None:
    model, prepared = built(task, hierarchy, share=share, order=3, drop_node=0.25, input_dropout_on=input_dropout_on)
    P = dense_propagation(hierarchy, [1 - share, share / 2, share / 2], [3, 1, 1])
    W1, b1, W2, b2 = (
        parameter.detach().double().numpy()
        for parameter in (model.first, model.first_bias, model.second, model.second_bias)
    )
    logits = np.maximum(P @ (0.75 * np.asarray(task.features)) @ W1 + b1, 0.0) @ W2 + b2
    np.testing.assert_allclose(model.eval()(prepared.features).detach().numpy(), logits, rtol=0, atol=1e-4)


def test_components_replace_the_features(task: Task, hierarchy: Hierarchy) -> None:
    model, prepared = built(task, hierarchy, components=4, scale=2.0, order=3, share=0.4)
    assert isinstance(prepared.features, torch.Tensor)
    assert prepared.features.shape == (90, 4)
    assert model.first.shape == (4, 7)
    P = dense_propagation(hierarchy, [0.6, 0.2, 0.2], [3, 1, 1])
    propagated = P @ prepared.features.double().numpy()
    assert np.linalg.norm(propagated, axis=1).mean() == pytest.approx(2.0, rel=1e-4)
    products = propagated.T @ propagated
    np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=0.01 * products.max())  # uncorrelated
    assert (np.diff(np.diag(products)) <= 0).all()  # the first one is the largest


def test_a_restored_model_uses_its_own_components_on_another_graph(task: Task, hierarchy: Hierarchy) -> None:
    model, prepared = built(task, hierarchy, components=4)
    other = planted_graph(60, classes=3, depth=1, degree=6, homophily=0.9, features=10, noise=0.7, seed=8)
    method = HGCNPlusMethod(model.config)
    levels = coarsen(other.adjacency, 3)
    seen = method.prepare(Task.to_predict(other, 3), levels, CPU, model.state_dict()).features
    centre, directions = (part.double().numpy() for part in vars(prepared.structure.components).values())
    expected = (np.asarray(other.features) - centre) @ directions
    np.testing.assert_allclose(np.asarray(seen), expected, rtol=0, atol=1e-4)


def test_the_objective_by_hand(task: Task, hierarchy: Hierarchy) -> None:
    """Passes without dropout are equal, so the consistency loss is the distance to the target."""
    model, prepared = built(
        task,
        hierarchy,
        passes=2,
        temperature=0.5,
        consistency=0.6,
        label_prior=2.0,
        balance_below=20,  # and there are 5 nodes of each class
        warm_up=4,
        **QUIET,
    )
    labelled = Labelled(torch.tensor(task.train), torch.tensor(task.train_labels))
    logits = model.eval()(prepared.features).detach().double().numpy()
    Z = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    supervised = -np.log(Z[task.train, task.train_labels]).mean()
    prior = label_prior(model.graph.adjacency, labelled, 3).double().exp().numpy()
    target = Z**2 * prior**2 / Z.mean(axis=0) ** 0.75
    target /= target.sum(axis=1, keepdims=True)
    distance = ((Z - target) ** 2).sum(axis=1).mean()
    for step in range(1, 7):
        expected = supervised + 0.6 * min(step / 4, 1.0) * distance
        assert model.train().objective(prepared.features, labelled, step).item() == pytest.approx(expected, rel=1e-4)


def test_balance_evens_out_class_sizes_if_labels_are_few(task: Task, hierarchy: Hierarchy) -> None:
    labelled = Labelled(torch.tensor(task.train), torch.tensor(task.train_labels))
    mean = torch.tensor([[0.6, 0.4], [0.7, 0.3], [0.8, 0.2], [0.3, 0.7]])
    mean = torch.cat([mean, torch.zeros(4, 1)], dim=1) * 0.99 + 0.01 / 3

    def largest(balance_below: int) -> float:
        model, _ = built(task, hierarchy, temperature=1.0, balance_below=balance_below)
        return activated(model.target_logits(mean, labelled)).mean(dim=0).max().item()

    few = Labelled(labelled.nodes[:3], labelled.classes[:3], total=15)  # those of a batch
    model, _ = built(task, hierarchy, temperature=1.0, balance_below=10)
    assert torch.equal(model.target_logits(mean, few), model.target_logits(mean, labelled))
    without = largest(0)
    assert largest(5) == pytest.approx(without)  # 5 nodes per class are enough
    assert without > largest(10) > largest(100)


def test_levels_below_the_first_are_left_out(task: Task, hierarchy: Hierarchy) -> None:
    config = HGCNPlusConfig(levels=3, first_level=2, share=0.5, order=2, level_order=1, scaling="none", **QUIET)
    spread = HGCNPlusMethod(config).prepare(task, hierarchy, CPU).structure.spread
    H = torch.randn(90, 4, generator=torch.Generator().manual_seed(1))
    P = dense_propagation(hierarchy, [0.5, 0.0, 0.25, 0.25], [2, 0, 1, 1])
    np.testing.assert_allclose(spread(H).numpy(), P @ H.double().numpy(), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "settings",
    [{}, {"input_dropout": 0.0, "passes": 2}, {"batch_norm": True, "order": 5}, {"input_dropout_on": "features"}],
)
def test_without_hierarchy_it_is_grand(task: Task, hierarchy: Hierarchy, settings: dict[str, Any]) -> None:
    train = replace(settings_for("grand").train, epochs=12)
    grand = GRANDConfig(**settings)
    plus = HGCNPlusConfig(**asdict(grand), share=0.0, warm_up=0)
    found = []
    for method, given in ((GRANDMethod(grand), None), (HGCNPlusMethod(plus), hierarchy)):
        outcome = train_models(method, method.prepare(task, given, CPU), [(task, 3)], train, CPU)[0]
        assert outcome.probabilities is not None
        found.append((outcome.history, outcome.probabilities))
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)


def test_label_prior_is_computed_once(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result is the same as with computing it in every step, to the last bit."""
    split = Split.random(graph.truth, per_class=3, validation=20, seed=0)
    settings = settings_for("hgcn", "plus").override({"levels": 2, "hidden": 6, "epochs": 5, "label_prior": 2.0})
    asked = []

    def counted(*given: Any) -> torch.Tensor:
        asked.append(given)
        return label_prior(*given)

    monkeypatch.setattr(plus_module, "label_prior", counted)
    once = fit(graph, split, settings, [0], device="cpu")
    assert len(asked) == 1
    monkeypatch.setattr(HGCNPlus, "precompute", NodeModel.precompute)
    always = fit(graph, split, settings, [0], device="cpu")
    assert len(asked) == 1 + 5
    assert np.array_equal(once.probabilities, always.probabilities)


def test_prediction_balance_evens_out_class_sizes(graph: Graph, task: Task, hierarchy: Hierarchy) -> None:
    """Predictions are p_ic / m_c^b, normalised, where m_c is the mean of p_ic over the nodes; training is the same."""
    found = []
    for power in (0.0, 0.6):
        method = HGCNPlusMethod(HGCNPlusConfig(levels=3, hidden=8, prediction_balance=power, **QUIET))
        prepared = method.prepare(task, hierarchy, CPU)
        model = method.build(prepared, 3, torch.Generator().manual_seed(0))
        with torch.no_grad():
            model.second_bias.copy_(torch.tensor([2.0, 0.0, -1.0]))  # one class is large, one small
            found += [
                torch.softmax(model.train(mode)(prepared.features), dim=1).double().numpy() for mode in (True, False)
            ]
    training, plain, still, drawn = found
    expected = plain / plain.mean(axis=0) ** 0.6
    np.testing.assert_allclose(drawn, expected / expected.sum(axis=1, keepdims=True), atol=1e-5)
    np.testing.assert_array_equal(still, training)
    assert np.ptp(drawn.mean(axis=0)) < 0.8 * np.ptp(plain.mean(axis=0))
