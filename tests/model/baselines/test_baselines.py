"""GCN, GCNII, APPNP, GAT and the perceptron against PyG's own layers with the same weights."""

import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from hiergcn.errors import MissingPackageError
from hiergcn.graph.task import Task
from hiergcn.model.baselines.appnp import APPNPMethod
from hiergcn.model.baselines.gat import GAT, Edges, GATMethod
from hiergcn.model.baselines.gcn import GCNMethod
from hiergcn.model.baselines.gcnii import GCNIIMethod
from hiergcn.model.baselines.mlp import MLPMethod
from hiergcn.model.method import Method
from hiergcn.model.ops.sparse import SparseMatrix
from hiergcn.settings.methods import APPNPConfig, GATConfig, GCNConfig, GCNIIConfig, MLPConfig

N, F, CLASSES = 40, 7, 3
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def task() -> Task:
    """Forty nodes with weighted edges, one isolated; features that are mostly zero."""
    rng = np.random.default_rng(5)
    dense = np.triu(rng.random((N, N)) < 0.1, 1) * rng.integers(1, 4, (N, N))
    dense[:, -1] = 0
    features = (rng.random((N, F)) * (rng.random((N, F)) < 0.2)).astype(np.float32)
    none = np.empty(0, dtype=np.int64)
    return Task(sp.csr_array((dense + dense.T).astype(np.float64)), features, CLASSES, none, none, none, none)


@pytest.fixture(scope="module")
def layers() -> Any:
    return pytest.importorskip("torch_geometric.nn")


def built(method: Method, task: Task) -> tuple[Any, SparseMatrix]:
    prepared = method.prepare(task, None, CPU)
    assert isinstance(prepared.features, SparseMatrix)
    return method.build(prepared, CLASSES, torch.Generator().manual_seed(0)).eval(), prepared.features


def edges_of(task: Task) -> tuple[Tensor, Tensor]:
    coo = task.adjacency.tocoo()
    return torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64)), torch.from_numpy(coo.data).float()


def dense_features(task: Task) -> Tensor:
    return torch.from_numpy(np.asarray(task.features))


def give(layer: nn.Module, weight: Tensor) -> None:
    """Copy our weight (in, out) into PyG's linear layer."""
    with torch.no_grad():
        layer.weight.copy_(weight.T)  # type: ignore[operator]


@pytest.mark.parametrize(("depth", "bias"), [(2, False), (4, False), (4, True)])
def test_deeper_gcn_equals_pyg(task: Task, layers: Any, depth: int, bias: bool) -> None:
    model, features = built(GCNMethod(GCNConfig(layers=depth, hidden=5, scaling="none", bias=bias)), task)
    weights = [model.first.weight, *(layer.weight for layer in model.between), model.second.weight.T]
    assert [tuple(weight.shape) for weight in weights] == [(F, 5), *[(5, 5)] * (depth - 2), (5, CLASSES)]
    H = dense_features(task)
    for number, weight in enumerate(weights):
        layer = layers.GCNConv(*weight.shape, bias=bias)
        give(layer.lin, weight)
        if bias:
            nn.init.uniform_(layer.bias)
            model.biases[number].data.copy_(layer.bias.data)
        H = layer(H if number == 0 else torch.relu(H), *edges_of(task))
    torch.testing.assert_close(model(features), H)


def test_gcnii_equals_pyg(task: Task, layers: Any) -> None:
    model, features = built(GCNIIMethod(GCNIIConfig(layers=3, hidden=5, alpha=0.2, scaling="none")), task)
    with torch.no_grad():
        model.first_bias.uniform_()
        model.last_bias.uniform_()
    H = first = torch.relu(dense_features(task) @ model.first.weight + model.first_bias)
    for number, ours in enumerate(model.convolutions, start=1):
        layer = layers.GCN2Conv(5, alpha=0.2, theta=0.5, layer=number)
        layer.load_state_dict({"weight1": ours.weight})
        H = torch.relu(layer(H, first, *edges_of(task)))
    torch.testing.assert_close(model(features), H @ model.last.weight + model.last_bias)


def test_gat_equals_pyg(task: Task, layers: Any) -> None:
    model, features = built(GATMethod(GATConfig(hidden=4, heads=3, output_heads=2, scaling="none")), task)
    first, second = layers.GATConv(F, 4, 3), layers.GATConv(12, CLASSES, 2, concat=False)
    first.load_state_dict(model.first.state_dict() | {"lin.weight": model.project.weight.T})
    second.load_state_dict(model.second.state_dict())
    index = edges_of(task)[0]
    theirs = second(nn.functional.elu(first(dense_features(task), index)), index)
    torch.testing.assert_close(model(features), theirs)


def test_appnp_equals_pyg(task: Task, layers: Any) -> None:
    model, features = built(APPNPMethod(APPNPConfig(hidden=5, scaling="none")), task)
    H = torch.relu(dense_features(task) @ model.first.weight) @ model.second.weight
    torch.testing.assert_close(model(features), layers.APPNP(10, 0.1)(H, *edges_of(task)))


def test_mlp_is_two_linear_layers(task: Task) -> None:
    model, features = built(MLPMethod(MLPConfig(hidden=5, scaling="none")), task)
    with torch.no_grad():
        model.first_bias.uniform_()
        model.second_bias.uniform_()
    H = torch.relu(nn.functional.linear(dense_features(task), model.first.weight.T, model.first_bias))
    torch.testing.assert_close(model(features), nn.functional.linear(H, model.second.weight.T, model.second_bias))


def test_appnp_drops_from_the_whole_matrix_in_each_step(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    model, features = built(APPNPMethod(APPNPConfig(dropout=0.0, adjacency_dropout=0.5)), task)
    seen: list[Tensor] = []
    product = SparseMatrix.__matmul__

    def watched(matrix: SparseMatrix, dense: Tensor) -> Tensor:
        if matrix.pattern is model.adjacency.pattern:
            seen.append(matrix.values)
        return product(matrix, dense)

    monkeypatch.setattr(SparseMatrix, "__matmul__", watched)
    model.train()(features)
    kept = [float((values != 0).float().mean()) for values in seen]
    assert len(kept) == 10
    assert all(0.35 < share < 0.65 for share in kept)
    assert not torch.equal(seen[0], seen[1])
    torch.testing.assert_close(seen[0][seen[0] != 0], 2 * model.adjacency.values[seen[0] != 0])


@pytest.mark.parametrize(
    ("method", "regularised"),
    [
        (GCNMethod(GCNConfig()), ["first.weight"]),
        (GCNMethod(GCNConfig(layers=3)), ["first.weight", "between.0.weight"]),
        (GCNIIMethod(GCNIIConfig()), None),
        (APPNPMethod(APPNPConfig()), ["first.weight"]),
        (MLPMethod(MLPConfig()), ["first.weight"]),
        (GATMethod(GATConfig()), None),
    ],
)
def test_l2_penalty_is_on_the_parameters_of_the_source(
    task: Task, layers: Any, method: Method, regularised: list[str] | None
) -> None:
    model, _ = built(method, task)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    assert [names[id(parameter)] for parameter in model.regularised()] == (regularised or list(names.values()))


def test_edges_leave_out_self_loops() -> None:
    adjacency = sp.csr_array(np.array([[2.0, 3.0], [3.0, 0.0]]))
    edges = Edges.of(adjacency, CPU)
    assert edges.index.tolist() == [[0, 1], [1, 0]]
    assert edges.weight.tolist() == [3.0, 3.0]


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric.nn", None)
    with pytest.raises(MissingPackageError, match=r"pip install torch_geometric"):
        GAT(Edges.of(sp.csr_array((2, 2)), CPU), F, 2, GATConfig(), torch.Generator())
