"""GRAND against dense formulas and worked examples."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.datasets import planted_graph
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.model.baselines.grand import GRAND, GRANDMethod
from hiergcn.model.method import Labelled, Prepared
from hiergcn.model.ops import propagation
from hiergcn.model.ops.sparse import normalised_adjacency
from hiergcn.settings.methods import GRANDConfig

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(60, classes=3, depth=1, homophily=0.9, noise=1.0, seed=3)


@pytest.fixture(scope="module")
def task(graph: Graph) -> Task:
    return Task.of(graph, Split.random(graph.truth, per_class=5, validation=15, seed=0))


def dense_mean_of_powers(task: Task, order: int) -> np.ndarray:
    A = normalised_adjacency(task.adjacency).toarray()
    mean: np.ndarray = np.mean([np.linalg.matrix_power(A, k) for k in range(order + 1)], axis=0)
    return mean


def built(task: Task, **settings: object) -> tuple[GRAND, Prepared]:
    method = GRANDMethod(GRANDConfig(scaling="none", **settings))  # type: ignore[arg-type]
    prepared = method.prepare(task, None, CPU)
    return method.build(prepared, task.n_classes, torch.Generator().manual_seed(0)), prepared


@pytest.mark.parametrize("rescale", [False, True])
@pytest.mark.parametrize("side", ["propagated", "features"])
def test_prediction_equals_the_dense_formula(task: Task, side: str, rescale: bool) -> None:
    model, prepared = built(task, order=3, input_dropout_on=side, rescale=rescale, drop_node=0.4)
    model.eval()
    X = np.asarray(task.features) * (1.0 if rescale else 0.6)
    first, b1, second, b2 = (parameter.detach().numpy() for parameter in model.parameters())
    hidden = np.maximum(dense_mean_of_powers(task, 3) @ X @ first + b1, 0)
    np.testing.assert_allclose(model(prepared.features).detach(), hidden @ second + b2, rtol=1e-4, atol=1e-4)


def test_both_sides_give_the_same_pass_without_input_dropout(task: Task) -> None:
    """Â(ε X)W is Â ε (X W): with the same masks the two sides must agree, gradients included."""
    found = []
    for side in ("auto", "features"):  # `auto`: the features, of which there are fewer columns than hidden ones
        method = GRANDMethod(GRANDConfig(input_dropout=0.0, hidden_dropout=0.3, input_dropout_on=side))
        prepared = method.prepare(task, None, CPU)
        model = method.build(prepared, task.n_classes, torch.Generator().manual_seed(5)).train()
        assert (model.graph.smoothed is not None) == (side == "auto")
        logits = model(prepared.features)
        logits.square().sum().backward()
        found.append((logits.detach(), model.first.grad))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rescale", [False, True])
def test_dropped_nodes_have_the_mean_that_prediction_uses(task: Task, rescale: bool) -> None:
    model, _ = built(task, drop_node=0.3, rescale=rescale)
    masks = torch.stack([torch.as_tensor(model.train()._kept_nodes()) for _ in range(2000)])
    assert masks.shape == (2000, 60, 1)
    top = 1 / 0.7 if rescale else 1.0
    assert sorted(masks.unique().tolist()) == pytest.approx([0.0, top], rel=1e-4)
    assert masks.mean().item() == pytest.approx(model.eval()._kept_nodes(), abs=0.01)


def test_features_wider_than_the_hidden_layer_are_multiplied_first(task: Task) -> None:
    assert task.features is not None
    method = GRANDMethod(GRANDConfig(input_dropout=0.0, hidden=task.features.shape[1]))
    assert method.prepare(task, None, CPU).structure.smoothed is None


def test_input_dropout_is_on_propagated_features(task: Task) -> None:
    """Entries of X̄ are zero at the dropout rate although no node is dropped."""
    model, prepared = built(task, drop_node=0.0, input_dropout=0.25, input_dropout_on="propagated")
    passes = torch.stack([model.train()._propagated(prepared.features, model._kept_nodes()) for _ in range(50)])
    assert (passes == 0).float().mean().item() == pytest.approx(0.25, abs=0.02)
    smoothed = dense_mean_of_powers(task, 8) @ np.asarray(task.features)
    kept = passes[0] != 0
    np.testing.assert_allclose(passes[0][kept] * 0.75, smoothed[kept.numpy()], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("side", ["propagated", "features"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"batch_norm": True, "hidden_dropout": 0.8, "hidden": 40},
        {"batch_norm": True, "input_dropout": 0.0, "initial": "uniform"},
        {"input_dropout": 0.0, "hidden_dropout": 0.0, "rescale": True},
    ],
)
def test_passes_at_once_are_passes_one_by_one(
    task: Task, side: str, sparse: bool, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same draws, logits, gradients and running statistics."""
    X = np.asarray(task.features)
    if sparse:
        task = replace(task, features=sp.csr_array(np.where(np.abs(X) > 0.8, X, 0.0)))
    found = []
    for least in (0, 2**60):  # entries of Â times columns for which passes are made at once
        monkeypatch.setattr(propagation, "_SMALL", least)
        model, prepared = built(task, order=3, passes=3, input_dropout_on=side, **settings)
        logits = model.train().random_passes(prepared.features)
        logits.square().sum().backward()
        gradients = {f"gradient of {name}": parameter.grad for name, parameter in model.named_parameters()}
        drawn = {"logits": logits, "generator": model.generator.get_state()}
        found.append({**drawn, **gradients, **dict(model.named_buffers())})
    one, other = found
    assert one.keys() == other.keys()
    for name, value in one.items():
        torch.testing.assert_close(value, other[name], rtol=1e-3, atol=1e-3)


def test_the_objective_of_two_passes_by_hand(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their target is their mean, sharpened, and has no gradient."""
    model, prepared = built(task, passes=2, consistency=0.7, temperature=0.5)
    passes = torch.tensor([[[1.0, 0.0]], [[0.0, 3.0]]], requires_grad=True)  # (S, n, classes)
    monkeypatch.setattr(model, "random_passes", lambda _: passes)
    labelled = Labelled(torch.tensor([0]), torch.tensor([1]))
    found = torch.autograd.grad(model.objective(prepared.features, labelled, 0), passes)
    probabilities = passes.softmax(dim=2)
    powers = probabilities.detach().mean(dim=0) ** 2
    supervised = -probabilities[:, 0, 1].log().mean()
    expected = supervised + 0.7 * (probabilities - powers / powers.sum()).square().sum() / 2
    torch.testing.assert_close(found, torch.autograd.grad(expected, passes))


def test_features_too_large_to_propagate_are_multiplied_first() -> None:
    n = 20_000
    ring = sp.csr_array(sp.diags_array([1.0, 1.0], offsets=[1, -1], shape=(n, n)))
    none = np.empty(0, dtype=np.int64)
    task = Task(ring, sp.eye_array(n, format="csr"), 2, none, none, none, none)
    prepared = GRANDMethod(GRANDConfig(batch_norm=True)).prepare(task, None, CPU)
    model = GRANDMethod(GRANDConfig(batch_norm=True)).build(prepared, 2, torch.Generator().manual_seed(0))
    assert prepared.structure.smoothed is None
    assert not list(model.input_norm.parameters())
    assert model(prepared.features).shape == (n, 2)
