"""GraphSAGE against PyG's layers with the same weights."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from hiergcn.graph.task import Task
from hiergcn.model.baselines.graphsage import GraphSAGE, GraphSAGEMethod
from hiergcn.model.method import Features
from hiergcn.settings.methods import GraphSAGEConfig

N, F, CLASSES = 30, 6, 3
CPU = torch.device("cpu")
NONE = np.empty(0, dtype=np.int64)


def adjacency(weighted: bool = False) -> sp.csr_array:
    """Thirty nodes; the last has no neighbour."""
    rng = np.random.default_rng(4)
    dense = np.triu(rng.random((N, N)) < 0.15, 1) * (rng.integers(1, 4, (N, N)) if weighted else 1)
    dense[:, -1] = 0
    return sp.csr_array((dense + dense.T).astype(np.float64))


def built(config: GraphSAGEConfig, A: sp.csr_array, X: np.ndarray | sp.csr_array) -> tuple[GraphSAGE, Features]:
    method = GraphSAGEMethod(config)
    prepared = method.prepare(Task(A, X, CLASSES, NONE, NONE, NONE, NONE), None, CPU)
    model: GraphSAGE = method.build(prepared, CLASSES, torch.Generator().manual_seed(1))
    with torch.no_grad():
        for bias in model.bias:
            bias.uniform_(-1, 1)  # they start at 0, which would hide them
    return model.eval(), prepared.features


def features() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(N, F)).astype(np.float32)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_equals_pyg(layers: int) -> None:
    conv = pytest.importorskip("torch_geometric.nn").SAGEConv
    A, X = adjacency(), features()
    model, ours = built(GraphSAGEConfig(layers=layers, hidden=5, scaling="none"), A, X)
    assert len(model.bias) == layers
    coo = A.tocoo()
    edges = torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64))
    H = torch.from_numpy(X)
    for number in range(layers):
        own: Any = model.own[number]
        neighbours: Any = model.neighbours[number]
        layer = conv(own.weight.shape[0], own.weight.shape[1], aggr="mean", root_weight=True, bias=True)
        layer.load_state_dict(
            {"lin_l.weight": neighbours.weight.T, "lin_l.bias": model.bias[number], "lin_r.weight": own.weight.T}
        )
        H = layer(H, edges)
        H = torch.relu(H) if number + 1 < layers else H
    torch.testing.assert_close(model(ours), H)


def test_the_weighted_mean_and_its_gradients() -> None:
    """The product with P has a backward of its own, with the transpose, which differs from P."""
    A, X = adjacency(weighted=True), features()
    model, ours = built(GraphSAGEConfig(layers=2, hidden=4, scaling="none"), A, X)
    degree = A.sum(axis=1)
    P = torch.from_numpy(A.toarray() / np.maximum(degree, 1)[:, None]).float()

    def dense() -> Tensor:
        H = torch.from_numpy(X)
        for number, (own, neighbours, bias) in enumerate(zip(model.own, model.neighbours, model.bias, strict=True)):
            H = H @ own.weight + P @ (H @ neighbours.weight) + bias  # type: ignore[operator]
            H = torch.relu(H) if number == 0 else H
        return H

    parameters = list(model.parameters())
    torch.testing.assert_close(model(ours), dense())
    ours_found = torch.autograd.grad(model(ours).square().sum(), parameters)
    theirs = torch.autograd.grad(dense().square().sum(), parameters)
    for one, other in zip(ours_found, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
