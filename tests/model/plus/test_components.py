"""Principal components of propagated features against numpy's singular values of the dense matrix."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.datasets import planted_graph
from hiergcn.model.hgcn_plus import principal_components
from hiergcn.model.ops.propagation import mean_of_powers
from hiergcn.model.ops.sparse import SparseMatrix, normalised_adjacency

N, F = 80, 30

Case = tuple[np.ndarray, np.ndarray, Callable[[torch.Tensor], torch.Tensor]]


@pytest.fixture(scope="module")
def case() -> Case:
    """X, P as a dense matrix, and P as a function."""
    graph = planted_graph(N, classes=4, depth=1, degree=6, homophily=0.9, features=F, noise=0.7, seed=3)
    adjacency = normalised_adjacency(graph.adjacency)
    dense = adjacency.toarray()
    X = np.asarray(graph.features, dtype=np.float64)
    X = np.where(np.abs(X) > 0.4, X, 0.0)
    return X, (np.eye(N) + dense + dense @ dense) / 3, partial(mean_of_powers, SparseMatrix.from_scipy(adjacency), 2)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_components_span_the_same_space_as_singular_vectors(case: Case, kind: str) -> None:
    X, P, spread = case
    features = torch.tensor(X, dtype=torch.float32) if kind == "dense" else SparseMatrix.from_scipy(sp.csr_array(X))
    centred = X - X.mean(axis=0)
    _, _, right = np.linalg.svd(P @ centred)
    expected = centred @ right[:5].T
    expected /= np.linalg.norm(P @ expected, axis=1).mean()
    found = principal_components(features, spread, 5)
    seen = found(features).double().numpy()
    signs = np.sign((seen * expected).sum(axis=0))
    np.testing.assert_allclose(seen * signs, expected, rtol=0, atol=0.02 * np.abs(expected).max())
    assert np.linalg.norm(P @ seen, axis=1).mean() == pytest.approx(1.0, rel=1e-4)


def test_fewer_nodes_than_components() -> None:
    features = torch.tensor([[1.0, 0.0, 2.0, 0.0, 1.0], [0.0, 1.0, 0.0, 3.0, 1.0]])
    seen = principal_components(features, lambda H: H, 4)(features)
    assert torch.isfinite(seen).all()
    torch.testing.assert_close(seen[0], -seen[1])  # one direction is all that two nodes differ in
    assert int((seen[0].abs() > 1e-6).sum()) == 1


@pytest.mark.parametrize("value", [0.0, 0.1, 1.0])
def test_constant_features_give_zero(case: Case, value: float) -> None:
    _, _, spread = case
    features = torch.full((N, 200), value)
    found = principal_components(features, spread, 8).scaled(10.0)
    assert torch.equal(found(features), torch.zeros(N, 8))
    assert torch.equal(found(features + torch.rand(N, 200)), torch.zeros(N, 8))


def test_constant_columns_are_ignored_on_another_graph_too(case: Case) -> None:
    X, _, spread = case
    features = torch.tensor(X[:, :6], dtype=torch.float32)
    features[:, 3:] = 0.3
    found, other = principal_components(features, spread, 6), features.clone()
    other[:, 3:] = torch.rand(N, 3)
    torch.testing.assert_close(found(other), found(features), rtol=0, atol=1e-3)
    assert found.directions.any(dim=0).tolist() == [True] * 3 + [False] * 3


def test_signs_do_not_depend_on_the_svd(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    X, _, spread = case
    features = torch.tensor(X, dtype=torch.float32)
    found = principal_components(features, spread, 5).directions
    svd = torch.linalg.svd

    def other_way_up(*args: Any, **options: Any) -> tuple[torch.Tensor, ...]:
        left, size, right = svd(*args, **options)
        return -left, size, -right

    monkeypatch.setattr(torch.linalg, "svd", other_way_up)
    torch.testing.assert_close(principal_components(features, spread, 5).directions, found)
