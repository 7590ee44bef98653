"""Integrated gradients: completeness, a closed form, sparse against dense, and what cannot be traced."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from hiergcn.coarsening import coarsen
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.explanation.node import CLOSE, attribute, attribute_labels
from hiergcn.graph import Graph
from hiergcn.graph.task import Task
from hiergcn.model.baselines.base import LabelModel
from hiergcn.model.inputs import build_method
from hiergcn.model.method import Features, Labelled, NodeModel, Prepared
from hiergcn.model.ops.sparse import SparseMatrix
from hiergcn.settings.settings import settings_for

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Mostly zero features, as counts of words are."""
    rng = np.random.default_rng(3)
    words = sp.csr_array(rng.poisson(0.15, (70, 24)).astype(np.float64))
    return replace(planted_graph(70, classes=3, seed=2), features=words)


def built(method: str, graph: Graph, **settings: object) -> tuple[NodeModel, Prepared]:
    config = settings_for(method).override({"hidden": 8} | settings).model
    made = build_method(method, config)
    hierarchy = coarsen(graph.adjacency, 2) if config.uses_hierarchy else None
    prepared = made.prepare(Task.to_predict(graph, 3), hierarchy, CPU)
    return made.build(prepared, 3, torch.Generator().manual_seed(0)), prepared


@pytest.mark.parametrize("method", ["hgcn", "hgcn-plus", "mlp", "gcn", "appnp"])
def test_shares_add_up_to_the_difference_of_scores(method: str, graph: Graph) -> None:
    if method in ("gcn", "appnp"):
        pytest.importorskip("torch_geometric")
    model, prepared = built(method, graph)
    found = attribute(model, prepared.features, 5, 1)
    with torch.no_grad():
        logits = model(prepared.features)[5].double()
    assert found.score == pytest.approx((logits[1] - logits.mean()).item(), abs=1e-6)
    assert abs(found.missed) <= CLOSE * abs(found.score - found.without) + 1e-6
    assert found.by_node().sum() == pytest.approx(found.share.sum())
    assert found.by_feature().sum() == pytest.approx(found.share.sum())


def test_sparse_and_dense_features_get_the_same_shares(graph: Graph) -> None:
    model, prepared = built("hgcn", graph)
    assert isinstance(prepared.features, SparseMatrix)
    sparse = attribute(model, prepared.features, 0, 0)
    assert isinstance(graph.features, sp.csr_array)
    assert len(sparse.share) == graph.features.nnz  # nothing was filled
    full = attribute(model, prepared.features.to_dense(), 0, 0)
    np.testing.assert_allclose(sparse.by_node(), full.by_node(), atol=1e-5)
    np.testing.assert_allclose(sparse.by_feature(), full.by_feature(), atol=1e-5)


class Linear(NodeModel):
    """Logits X W: the shares of a node are its own entries times the centred weights."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(weight)

    def forward(self, features: Features) -> Tensor:
        return features @ self.weight


def test_a_linear_model_by_hand() -> None:
    X = torch.tensor([[1.0, 0.0, 2.0], [5.0, 5.0, 5.0]])
    weight = torch.tensor([[1.0, 0.0], [3.0, -3.0], [0.0, 1.0]])
    found = attribute(Linear(weight), X, 0, 0)
    np.testing.assert_allclose(found.by_feature(), [0.5, 0.0, -1.0], atol=1e-6)
    np.testing.assert_allclose(found.by_node(), [-0.5, 0.0], atol=1e-6)
    assert (found.without, found.missed) == pytest.approx((0.0, 0.0), abs=1e-6)


def test_label_propagation_has_no_attribution(graph: Graph) -> None:
    config = settings_for("label-propagation").model
    method = build_method("label-propagation", config)
    prepared = method.prepare(Task.to_predict(graph, 3), None, CPU)
    model = method.build(prepared, 3, torch.Generator())
    with pytest.raises(InputError, match="does not compute its predictions from the features"):
        attribute(model, prepared.features, 0, 0)


@pytest.mark.parametrize("method", ["label-propagation", "harmonic"])
def test_labels_contribute_what_the_shares_of_the_classes_are(method: str, graph: Graph) -> None:
    made = build_method(method, settings_for(method).model)
    prepared = made.prepare(Task.to_predict(graph, 3), None, CPU)
    model = made.build(prepared, 3, torch.Generator())
    assert isinstance(model, LabelModel)
    nodes, classes = torch.tensor([3, 8, 20, 41]), torch.tensor([0, 1, 2, 1])
    model.solve(Labelled(nodes, classes))
    shares = torch.softmax(model(prepared.features), dim=1)
    for node in (5, 60, 8):  # the last has a label
        for class_ in range(3):
            found = attribute_labels(model, node, class_, 3)
            assert found.score == pytest.approx(shares[node, class_].item() - 1 / 3, abs=1e-5)
            assert found.score == pytest.approx(found.share.sum())
            assert found.row.tolist() == nodes.tolist()
            assert ((found.share > 0) == (classes.numpy() == class_))[np.abs(found.share) > 1e-9].all()
