"""Standardised features, whose statistics are saved with the model, and degrees in place of features."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
import torch

from hiergcn.datasets import planted_graph
from hiergcn.graph import Graph
from hiergcn.graph.task import Task
from hiergcn.model.inputs import build_method
from hiergcn.model.ops.sparse import SparseMatrix
from hiergcn.settings.methods import MLPConfig

CPU = torch.device("cpu")


def uneven(graph: Graph) -> Graph:
    """Columns of very different sizes, one of them constant."""
    features = np.asarray(graph.features) * np.geomspace(1e-3, 1e3, graph.n_features) + 5
    features[:, 0] = 7.0
    return replace(graph, features=features)


def test_columns_have_mean_0_and_deviation_1() -> None:
    graph = uneven(planted_graph(80, seed=1))
    prepared = build_method("mlp", MLPConfig(scaling="standard")).prepare(Task.to_predict(graph, 4), None, CPU)
    found = np.asarray(prepared.features)
    np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=1e-4)
    np.testing.assert_allclose(found[:, 1:].std(axis=0), 1.0, rtol=1e-4)
    assert (found[:, 0] == 0).all()


def test_sparse_features_stay_sparse() -> None:
    words = sp.csr_array(sp.random_array((60, 30), density=0.1, rng=np.random.default_rng(0)))
    graph = replace(planted_graph(60, seed=1), features=words)
    prepared = build_method("mlp", MLPConfig(scaling="standard")).prepare(Task.to_predict(graph, 4), None, CPU)
    assert isinstance(prepared.features, SparseMatrix)
    assert len(prepared.features.values) == words.nnz
    squares = np.bincount(prepared.features.pattern.column.numpy(), prepared.features.values.numpy() ** 2, minlength=30)
    np.testing.assert_allclose(squares[squares > 0] / 60, 1.0, rtol=1e-5)


def test_degrees_stand_in_place_of_features() -> None:
    graph = planted_graph(80, seed=1)
    method = build_method("mlp", MLPConfig(degrees=True))
    found, other = (
        method.prepare(Task.to_predict(one, 4), None, CPU).features for one in (graph, replace(graph, features=None))
    )
    assert isinstance(found, torch.Tensor)
    assert isinstance(other, torch.Tensor)
    assert found.shape == (80, 3)
    assert torch.equal(found, other)
    degree = np.log1p(np.diff(graph.adjacency.indptr))
    np.testing.assert_allclose(found[:, 0], (degree - degree.mean()) / degree.std(), rtol=1e-4)
