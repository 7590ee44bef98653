"""Recomputation in the backward pass: the same result with less memory."""

import numpy as np
import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks

from hiergcn.coarsening import coarsen
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.model.hgcn import HGCN, HGCNMethod
from hiergcn.run.fit import fit
from hiergcn.settings.methods import HGCNConfig
from hiergcn.settings.settings import settings_for
from hiergcn.train.learners import labelled_nodes


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(500, classes=3, degree=8, features=12, seed=1)


@pytest.fixture(scope="module")
def split(graph: Graph) -> Split:
    return Split.random(graph.truth, per_class=10, validation=100, seed=0)


def network(graph: Graph, split: Split) -> tuple[HGCN, torch.Tensor, Task]:
    config, device, task = HGCNConfig(levels=3, hidden=8), torch.device("cpu"), Task.of(graph, split)
    method = HGCNMethod(config)
    prepared = method.prepare(task, coarsen(graph.adjacency, 3), device)
    assert isinstance(prepared.features, torch.Tensor)
    return method.build(prepared, 3, torch.Generator().manual_seed(0)), prepared.features, task


@pytest.mark.parametrize("sparse", [False, True])
def test_training_is_the_same_to_the_last_bit(graph: Graph, split: Split, sparse: bool) -> None:
    """With dropout: the second pass repeats the draws and leaves the next one unchanged."""
    if sparse:
        dense = np.asarray(graph.features)
        graph = Graph(graph.adjacency, dense * (dense > 2), graph.labels)
    chosen = settings_for("hgcn").override({"epochs": 6, "levels": 3, "hidden": 8})
    kept, again = (fit(graph, split, chosen.override({"recompute": way}), [2], device="cpu") for way in (False, True))
    assert np.array_equal(kept.probabilities, again.probabilities)
    assert kept.history.equals(again.history)


def test_less_is_kept_for_the_backward_pass(graph: Graph, split: Split) -> None:
    model, features, task = network(graph, split)
    nodes, sizes = labelled_nodes(task, torch.device("cpu"), loss="sum"), {}
    for way in (False, True):
        model.recompute_layers(way)
        kept: dict[int, int] = {}

        def keep(tensor: torch.Tensor, kept: dict[int, int] = kept) -> torch.Tensor:
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with saved_tensors_hooks(keep, lambda tensor: tensor):
            model.train().objective(features, nodes.train, 1)
        sizes[way] = sum(kept.values())
    assert sizes[True] < 0.5 * sizes[False]


def test_a_model_without_recomputation_is_refused(graph: Graph, split: Split) -> None:
    with pytest.raises(InputError, match="cannot recompute"):
        fit(graph, split, settings_for("gcn").override({"recompute": True, "epochs": 1}), [0], device="cpu")
