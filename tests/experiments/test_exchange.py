"""Exchange between levels, against its equations computed densely in numpy."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.coarsening import Hierarchy, coarsen
from hiergcn.graph.task import Task
from hiergcn.model.method import Features
from hiergcn_experiments.methods.exchange import ExchangeConfig, ExchangeHGCN, ExchangeMethod

N, F, CLASSES = 16, 6, 3
PLAIN = ExchangeConfig(
    levels=2, hidden=5, channels=1, weight_embedding=0, pooling="mean", exchange=2, output_relu=False
)


def adjacency() -> sp.csr_array:
    rng = np.random.default_rng(3)
    dense = np.triu(rng.random((N, N)) < 0.2, 1) * rng.integers(1, 4, (N, N))
    return sp.csr_array((dense + dense.T).astype(np.float64))


def features() -> np.ndarray:
    return np.random.default_rng(4).normal(size=(N, F)).astype(np.float32)


def built(config: ExchangeConfig, hierarchy: Hierarchy) -> tuple[ExchangeHGCN, Features]:
    none = np.empty(0, dtype=np.int64)
    method = ExchangeMethod(replace(config, scaling="none"))
    prepared = method.prepare(
        Task(adjacency(), features(), CLASSES, none, none, none, none), hierarchy, torch.device("cpu")
    )
    model = method.build(prepared, CLASSES, torch.Generator().manual_seed(1))
    assert isinstance(model, ExchangeHGCN)
    return model.eval(), prepared.features


def by_the_equations(model: Any, hierarchy: Hierarchy) -> np.ndarray:
    """Return the logits of the module's docstring in dense double precision; one channel."""
    levels, L = hierarchy.levels, model.hierarchy.depth
    M = [hierarchy.grouping_matrix(i).toarray() for i in range(L)]
    pool = [m.T / (m.sum(axis=0)[:, None] if model.config.pooling == "mean" else 1.0) for m in M]
    T = np.unique(np.concatenate([level.node_weight for level in levels]))

    def convolution(layer: Any, i: int, H: np.ndarray, weights: bool = True) -> np.ndarray:
        if model.V is not None and weights:
            H = np.hstack([H, model.V.detach().numpy()[np.searchsorted(T, levels[i].node_weight)]])
        loops = levels[i].adjacency.toarray() + np.eye(levels[i].n_nodes)
        D = np.diag(loops.sum(axis=1) ** -0.5)
        Z: np.ndarray = D @ loops @ D @ H @ layer.theta.detach().numpy()
        if layer.phi is not None:
            Z = Z + H @ layer.phi.detach().numpy()
        return Z.clip(min=0) if layer.relu else Z

    H = [convolution(model.layers[0], 0, features().astype(np.float64), model.config.embed_input)]
    for i in range(L):
        H.append(pool[i] @ H[i])
    for t in range(1, model.config.exchange + 1):
        layer = model.layers[t]
        G = [H[i] + convolution(layer.convolutions[i], i, H[i]) for i in range(L + 1)]
        H = list(G)
        if t < model.config.exchange:
            U, D = ([weight.detach().numpy() for weight in weights] for weights in (layer.coarser, layer.finer))
            for i in range(L + 1):
                from_finer = pool[i - 1] @ G[i - 1] @ U[i - 1] if i > 0 else 0.0
                from_coarser = M[i] @ G[i + 1] @ D[i] if i < L else 0.0
                H[i] = G[i] + from_finer + from_coarser
    total = sum(np.linalg.multi_dot([np.eye(N), *M[:i], H[i]]) for i in range(L + 1))
    return convolution(model.output, 0, np.asarray(total), weights=False)


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(PLAIN, id="plain"),
        pytest.param(replace(PLAIN, weight_embedding=2, pooling="sum", exchange=3), id="node-weights"),
        pytest.param(replace(PLAIN, weight_embedding=2, embed_input=False, own_weights=True), id="own-weights"),
        pytest.param(replace(PLAIN, exchange=1, levels=1), id="one-layer"),
    ],
)
def test_forward_is_the_equations(config: ExchangeConfig) -> None:
    hierarchy = coarsen(adjacency(), config.levels)
    model, X = built(config, hierarchy)
    expected = by_the_equations(model, hierarchy)
    assert np.abs(expected).max() > 1e-2
    np.testing.assert_allclose(model(X).detach().numpy(), expected, rtol=2e-4, atol=2e-5)


def test_the_two_parts_add_up_to_the_embedding() -> None:
    model, X = built(PLAIN, coarsen(adjacency(), 2))
    coarse, own = model.embedding_parts(X)
    assert coarse.shape == own.shape == (N, 5)
    torch.testing.assert_close(model.output(model.hierarchy.levels[0], coarse + own), model(X))


def test_every_weight_has_a_gradient_and_exchange_weights_are_penalised() -> None:
    model, X = built(replace(PLAIN, own_weights=True), coarsen(adjacency(), 2))
    model(X).square().sum().backward()
    parameters = dict(model.named_parameters())
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in parameters.values())
    assert {id(parameter) for parameter in model.regularised()} == {id(one) for one in parameters.values()}
