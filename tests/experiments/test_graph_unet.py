"""Graph U-Net against PyG's own layers with the same weights."""

from typing import Any

import torch
from test_baselines import CLASSES, F, N, built, edges_of
from test_baselines import layers as layers
from test_baselines import task as task

from hiergcn.graph.task import Task
from hiergcn_experiments.methods.graph_unet import GraphUNetConfig, GraphUNetMethod


def test_graph_unet_equals_pyg(task: Task, layers: Any) -> None:
    config = GraphUNetConfig(hidden=5, first_pool=30)
    model, features = built(GraphUNetMethod(config), task)
    theirs = layers.GraphUNet(F, 5, CLASSES, 3, [30 / N, 0.5])
    theirs.load_state_dict(model.unet.state_dict() | {"down_convs.0.lin.weight": model.project.weight.T})
    index, weight = edges_of(task)
    torch.testing.assert_close(model(features), theirs(torch.from_numpy(task.features), index, edge_weight=weight))


def test_graph_unet_drops_both_directions_of_an_edge(task: Task, layers: Any) -> None:
    model, _ = built(GraphUNetMethod(GraphUNetConfig(edge_dropout=0.5)), task)
    index, weight = model.train()._kept_edges()
    kept = {(int(i), int(j)): float(w) for i, j, w in zip(*index, weight, strict=True)}
    assert len(kept) == len(weight)  # none twice
    assert 0.3 < len(kept) / task.adjacency.nnz < 0.7
    assert all(kept[j, i] == w == task.adjacency[i, j] for (i, j), w in kept.items())


def test_graph_unet_on_a_small_graph_keeps_a_share(task: Task, layers: Any) -> None:
    """PyG reads a ratio of 1 or more as a number of nodes, so that 2000 / n would keep one."""
    model, _ = built(GraphUNetMethod(GraphUNetConfig()), task)
    assert model.unet.pool_ratios == [0.5, 0.5, 0.5]


def test_l2_penalty_is_on_every_parameter(task: Task, layers: Any) -> None:
    model, _ = built(GraphUNetMethod(GraphUNetConfig()), task)
    assert {id(one) for one in model.regularised()} == {id(one) for one in model.parameters()}
