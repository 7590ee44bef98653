"""Both forms of Planetoid: predictions, losses, the order of learning, and rows of features."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.datasets import planted_graph
from hiergcn.graph import Split
from hiergcn.graph.task import Task
from hiergcn.model.method import Labelled
from hiergcn.model.ops.sparse import SparseMatrix
from hiergcn.settings.settings import settings_for
from hiergcn_experiments.methods import planetoid as module
from hiergcn_experiments.methods.planetoid import (
    ContextSigmoid,
    ContextSoftmax,
    Planetoid,
    PlanetoidIConfig,
    PlanetoidIMethod,
    PlanetoidTConfig,
    PlanetoidTMethod,
    feature_rows,
    few_rows,
)
from hiergcn_experiments.methods.walks import Contexts

NODES = {"cora": 2708, "citeseer": 3327, "pubmed": 19717, "nell": 65755}

FEW: dict[str, Any] = {"embedding": 8, "label_steps": 20, "graph_steps": 20, "steps": 5, "graph_batch": 20}
T, I = PlanetoidTConfig(**FEW), PlanetoidIConfig(**FEW)  # noqa: E741  (the paper's names)


def built(config: PlanetoidTConfig) -> tuple[Planetoid, Any, Labelled]:
    graph = planted_graph(200, classes=3, noise=1.0, seed=3)
    return taught(Task.of(graph, Split.random(graph.truth, per_class=10, validation=30, seed=0)), config)


def taught(task: Task, config: PlanetoidTConfig) -> tuple[Planetoid, Any, Labelled]:
    method = PlanetoidIMethod(config) if isinstance(config, PlanetoidIConfig) else PlanetoidTMethod(config)
    prepared = method.prepare(task, None, torch.device("cpu"))
    labelled = Labelled(torch.from_numpy(task.train.copy()), torch.from_numpy(task.train_labels.copy()))
    model = method.build(prepared, 3, torch.Generator().manual_seed(0))
    assert isinstance(model, Planetoid)
    return model, prepared.features, labelled


@pytest.mark.parametrize("config", [T, I], ids=["t", "i"])
def test_prediction_joins_the_two_softmaxes(config: PlanetoidTConfig) -> None:
    model, X, _ = built(config)
    by = {name: value.detach().numpy() for name, value in model.state_dict().items()}
    dense = X.numpy()
    h = by["E"] if "E" in by else np.maximum(dense @ by["embedding.W"] + by["embedding.b"], 0)

    def softmax(Z: np.ndarray) -> np.ndarray:
        return np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)  # type: ignore[no-any-return]

    p_x = softmax(dense @ by["by_features.W"] + by["by_features.b"])
    p_h = softmax(h @ by["by_embedding.W"] + by["by_embedding.b"])
    expected = np.hstack([p_x, p_h]) @ by["output.W"] + by["output.b"]
    np.testing.assert_allclose(model(X).detach().numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("config", [T, I], ids=["t", "i"])
def test_objective_is_the_cross_entropy_of_all_three_layers(config: PlanetoidTConfig) -> None:
    model, X, labelled = built(replace(config, label_steps=0, graph_steps=0))
    logits = model._logits(X, model.embed(X))
    expected = sum(labelled.loss(z) for z in logits)
    torch.testing.assert_close(model.objective(X, labelled, 1), expected)


def test_without_features_p_is_p_h() -> None:
    model, X, _ = built(replace(T, use_features=False))
    assert set(model.state_dict()) == {"E", "by_embedding.W", "by_embedding.b"}
    torch.testing.assert_close(model(X), model.by_embedding(model.embed(X)))


@pytest.mark.parametrize("config", [T, I], ids=["t", "i"])
def test_contexts_are_learned_once_before_the_classes(
    config: PlanetoidTConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, X, labelled = built(replace(config, graph_share=0.0))
    calls: list[int] = []
    monkeypatch.setattr(model, "learn_contexts", lambda *_: calls.append(1))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    model.step(X, labelled, optimiser, 1)
    assert len(calls) == 40
    model.step(X, labelled, optimiser, 2)
    assert len(calls) == 40


def with_a_hub(n: int) -> tuple[Task, np.ndarray]:
    """Return a planted graph with a hub that is joined to half of the nodes, and 10 labels per class."""
    graph = planted_graph(n, classes=3, degree=6, noise=8.0, seed=3)
    hub = sp.coo_array((np.ones(n // 2), (np.zeros(n // 2, dtype=int), np.arange(1, n, 2)[: n // 2])), shape=(n, n))
    graph = replace(graph, adjacency=sp.csr_array(graph.adjacency.maximum(hub).maximum(hub.T)))
    return Task.of(graph, Split.random(graph.truth, per_class=10, validation=30, seed=0)), graph.truth


@pytest.mark.parametrize("dataset", ["pubmed", "nell"])
def test_settings_for_large_graphs_train_unlabelled_nodes(dataset: str) -> None:
    """With as many walks per node, the loss falls, stays finite and changes unlabelled nodes."""
    task, labels = with_a_hub(3000)
    there = settings_for("planetoid-t", None, dataset).model
    assert isinstance(there, PlanetoidTConfig)
    walks = there.graph_steps * there.graph_batch / NODES[dataset]
    config = replace(there, use_features=False, graph_steps=round(walks * 3000 / there.graph_batch), label_steps=200)
    model, X, labelled = taught(task, config)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = [model.step(X, labelled, optimiser, epoch) for epoch in range(1, 21)]
    assert np.isfinite(losses).all()
    assert losses[-1] < 0.5 * losses[0]
    unlabelled = np.setdiff1d(np.arange(1, 3000), task.train)
    predicted = model(X).argmax(dim=1).numpy()
    assert (predicted[unlabelled] == labels[unlabelled]).mean() > 0.7


@pytest.mark.parametrize("dataset", list(NODES))
def test_settings_of_each_dataset_walk_from_each_node_more_than_once(dataset: str) -> None:
    """An embedding with few walks stays at its initial value, whatever the labelled ones do."""
    config = settings_for("planetoid-t", None, dataset).model
    assert isinstance(config, PlanetoidTConfig)
    assert config.graph_steps * config.graph_batch >= 3 * NODES[dataset]


def test_a_step_is_gradient_descent_on_the_summed_cross_entropy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SCORES_AT_ONCE", 20)  # two rows of ten nodes at a time
    nodes, contexts = np.array([1, 4, 4, 9, 1, 1, 6]), np.array([0, 1, 1, 9, 5, 0, 2])
    batch = Contexts.of(nodes, contexts)
    draw = torch.Generator().manual_seed(0)
    softmax = ContextSoftmax(10, 4, draw)
    E = torch.randn(10, 4, generator=draw, requires_grad=True)
    C, b = softmax.C.clone().requires_grad_(), softmax.b.clone().requires_grad_()
    scores = E[torch.from_numpy(nodes)] @ C.T + b
    loss = torch.nn.functional.cross_entropy(scores, torch.from_numpy(contexts), reduction="sum")
    by_E, by_C, by_b = torch.autograd.grad(loss, (E, C, b))
    by_H = softmax.descend(E.detach()[torch.from_numpy(batch.nodes)], batch, 0.1)
    torch.testing.assert_close(by_H, by_E[torch.from_numpy(batch.nodes)])
    torch.testing.assert_close(softmax.C, C.detach() - 0.1 * by_C)
    torch.testing.assert_close(softmax.b, b.detach() - 0.1 * by_b)


def test_a_step_is_gradient_descent_on_the_summed_logistic_loss() -> None:
    nodes, contexts = np.array([1, 4, 4, 9]), np.array([0, 1, 1, 9])
    others = np.array([[2, 2], [1, 3], [0, 5], [9, 7]])  # 1 and 9 are both contexts and negative samples
    batch = Contexts.of(nodes, contexts, others)
    draw = torch.Generator().manual_seed(0)
    sigmoid = ContextSigmoid(10, 4, draw)
    E = torch.randn(10, 4, generator=draw, requires_grad=True)
    C = sigmoid.C.normal_(generator=draw).clone().requires_grad_()
    loss = -torch.nn.functional.logsigmoid((E[nodes] * C[contexts]).sum(dim=1)).sum()
    loss = loss - torch.nn.functional.logsigmoid(-(E[nodes][:, None] * C[others]).sum(dim=2)).sum()
    by_E, by_C = torch.autograd.grad(loss, (E, C))
    by_H = sigmoid.descend(E.detach()[torch.from_numpy(batch.nodes)], batch, 0.1)
    torch.testing.assert_close(by_H, by_E[torch.from_numpy(batch.nodes)])
    torch.testing.assert_close(sigmoid.C, C.detach() - 0.1 * by_C)


@pytest.mark.parametrize("nodes", [[4, 0, 4, 2], [1], []])
@pytest.mark.parametrize("kind", ["dense", "sparse", "few"])
def test_rows_multiply_and_give_gradients_like_dense_ones(nodes: list[int], kind: str) -> None:
    rng = np.random.default_rng(0)
    dense = (rng.random((6, 40)) * (rng.random((6, 40)) < 0.2)).astype(np.float32)
    dense[1] = 0
    chosen = torch.tensor(nodes, dtype=torch.int64)
    features = torch.from_numpy(dense) if kind == "dense" else SparseMatrix.from_scipy(sp.csr_array(dense))
    rows = (few_rows if kind == "few" else feature_rows)(features, chosen)
    W = torch.randn(40, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    expected = torch.from_numpy(dense)[chosen]
    product = rows @ W
    torch.testing.assert_close(product, expected @ W)
    target = torch.arange(product.numel(), dtype=torch.float32).view_as(product)
    (gradient,) = torch.autograd.grad(product, W, target)
    assert gradient.is_sparse == (kind == "few")
    torch.testing.assert_close(gradient.to_dense(), expected.T @ target)
