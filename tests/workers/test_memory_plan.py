"""Memory planned before a fit starts."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.autograd.graph import saved_tensors_hooks

from hiergcn.coarsening import Hierarchy, coarsen
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.model.inputs import build_method
from hiergcn.model.ops.propagation import Spread
from hiergcn.run.fit import fit
from hiergcn.settings.settings import Settings, settings_for
from hiergcn.train.events import FitEvent, MemoryPlanned
from hiergcn.train.learners import labelled_nodes
from hiergcn.workers.memory_plan import coarsening_memory, plan_memory, planned_to_fit

CPU = torch.device("cpu")
PAPER = settings_for("hgcn", "paper")


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(3000, classes=4, degree=10, features=50, seed=0)


@pytest.fixture(scope="module")
def split(graph: Graph) -> Split:
    return Split.random(graph.truth, per_class=10, validation=100, seed=0)


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Set the bytes that seem to be free."""

    def set_free(memory: int) -> None:
        for home in ("hiergcn.workers.machine", "hiergcn.workers.memory_plan", "hiergcn.run.fit"):
            monkeypatch.setattr(f"{home}.available_memory", lambda _=None: memory)

    return set_free


def changed(**changes: object) -> Settings:
    return PAPER.override(changes)


@pytest.mark.parametrize(
    "changes", [{}, {"hidden": 64, "channels": 2}, {"levels": 1}, {"coarsening": False, "levels": 2}]
)
def test_plan_counts_what_layers_keep(graph: Graph, split: Split, changes: dict[str, object]) -> None:
    """Compare with the bytes that autograd saves for the backward pass."""
    settings = changed(**changes)
    hierarchy = coarsen(graph.adjacency, settings.model.levels)
    kept = held_between_passes(graph, split, settings, hierarchy)
    assert 0.7 < plan_memory(graph, settings, hierarchy).kept / kept < 1.5


WIDE = {"hidden": 8, "input_dropout": 0.5}
IN_FULL = WIDE | {"input_dropout_on": "propagated"}


@pytest.mark.parametrize("changes", [{}, WIDE, IN_FULL, IN_FULL | {"batch_norm": True}, {"networks": 3, "passes": 2}])
def test_plan_counts_what_passes_keep(
    split: Split, changes: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare with what autograd saves in passes at once, and one after the other, as on a GPU."""
    graph = planted_graph(3000, classes=4, degree=10, features=400, seed=0)
    settings = settings_for("hgcn-plus").override(changes)
    hierarchy = coarsen(graph.adjacency, settings.model.levels)
    planned = plan_memory(graph, settings, hierarchy).kept
    if changes.get("input_dropout_on") == "propagated":
        assert 0.2 < held_between_passes(graph, split, settings, hierarchy) / planned < 1.4
    monkeypatch.setattr(Spread, "is_large", lambda *_: False)
    kept = held_between_passes(graph, split, settings, hierarchy)
    assert 0.7 < planned / kept < 1.6  # autograd does not know of dropout masks


def held_between_passes(graph: Graph, split: Split, settings: Settings, hierarchy: Hierarchy) -> int:
    """Return the bytes that autograd saves for the backward pass."""
    task, method = Task.of(graph, split), build_method(settings.method, settings.model)
    prepared = method.prepare(task, hierarchy, CPU)
    model = method.build(prepared, 4, torch.Generator().manual_seed(0)).train()
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.layout == torch.strided:
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = model.objective(prepared.features, labelled_nodes(task, CPU, loss="sum").train, 1)
    assert loss.requires_grad
    return sum(kept.values())


def sized(nodes: int, edges: int) -> Any:
    """Return the sizes of a graph, without its arrays."""
    return SimpleNamespace(
        n_nodes=nodes,
        n_outputs=8,
        n_features=100,
        adjacency=SimpleNamespace(nnz=2 * edges),
        features=np.broadcast_to(np.float32(1), (nodes, 100)),
    )


@pytest.mark.parametrize(
    ("method", "preset", "changes", "planned"),
    [
        ("hgcn", "paper", {}, 5_692_348),
        ("hgcn", "paper", {"batches": 4, "recompute": True}, 3_370_467),
        ("hgcn-plus", "plus", {"networks": 2}, 11_961_724),
        ("grand", "default", {"batch_norm": True}, 11_444_000),
        ("gcn", "default", {}, 1_624_000),
        ("gat", "default", {}, 19_672_000),
        ("hgcn", "paper", {"batches": 64}, 3_159_770),
        ("hgcn", "paper", {"batches": 64, "networks": 4}, 3_159_770),  # of batches, validation needs the most
        ("hgcn-plus", "plus", {"components": 8}, 5_449_724),
        ("hgcn-plus", "plus", {"components": 100}, 7_289_724),
        ("hgcn-plus", "plus", {"components": 500}, 7_289_724),  # there are 100 columns
    ],
)
def test_planned_bytes(method: str, preset: str, changes: dict[str, object], planned: int) -> None:
    """These were compared with measured peaks (benchmarks/memory.py): measure again before changing them."""
    assert plan_memory(sized(1000, 5000), settings_for(method, preset).override(changes)).total == planned


def test_plan_without_a_hierarchy_is_about_the_same(graph: Graph) -> None:
    blind, seeing = (plan_memory(graph, PAPER, hierarchy) for hierarchy in (None, coarsen(graph.adjacency, 4)))
    assert 0.8 < blind.total / seeing.total < 1.3


def test_too_large_a_fit_is_refused_with_a_remedy(graph: Graph, free: Callable[[int], None]) -> None:
    """Nine layers of one size: recomputing them saves most of what they keep."""
    flat, hierarchy = changed(coarsening=False), coarsen(graph.adjacency, 0)
    whole = plan_memory(graph, flat, hierarchy).on_device
    again = plan_memory(graph, flat.override({"recompute": True}), hierarchy).on_device
    assert again < 0.8 * whole
    free(whole)
    assert planned_to_fit(graph, flat, hierarchy, CPU).on_device == whole
    free((whole + again) // 2)
    with pytest.raises(
        InputError, match=r"over 3,000 nodes .* need about .* GB .* are free; take --set recompute=true"
    ):
        planned_to_fit(graph, flat, hierarchy, CPU)
    free(1000)
    with pytest.raises(InputError, match="or a machine with more"):
        planned_to_fit(graph, flat, hierarchy, CPU)


@pytest.mark.parametrize("preset", ["plus", "paper"])
def test_remedy_names_fewer_networks_if_there_are_several(
    graph: Graph, free: Callable[[int], None], preset: str
) -> None:
    free(1000)
    for networks, fewer in ((1, "fewer levels"), (2, "fewer networks, levels")):
        settings = settings_for("hgcn", preset).override({"networks": networks})
        with pytest.raises(InputError, match=f"take {fewer} or hidden columns"):
            planned_to_fit(graph, settings, None, CPU)


def test_remedy_names_the_fewest_batches_that_fit(free: Callable[[int], None]) -> None:
    wide = planted_graph(3000, classes=4, degree=2, features=10, seed=0)
    settings = changed(recompute=True, hidden=256)
    hierarchy = coarsen(wide.adjacency, 4)
    enough = replace(settings, train=replace(settings.train, batches=4))
    free(plan_memory(wide, enough, hierarchy, full_validation=False).on_device)
    with pytest.raises(InputError, match="take --set batches=4,"):
        planned_to_fit(wide, settings, hierarchy, CPU)
    with pytest.raises(InputError, match="take fewer levels or hidden columns"):  # no batch has these columns
        planned_to_fit(wide, settings.override({"harmonic": True}), hierarchy, CPU)
    assert not planned_to_fit(wide, enough, hierarchy, CPU).full_validation
    split = Split.random(wide.truth, per_class=10, validation=100, seed=0)
    found = fit(wide, split, enough.override({"epochs": 1}), [0], device="cpu", hierarchy=hierarchy)
    assert found.settings.train.batch_validation  # so that the run says how its predictions were made


def test_a_refused_fit_does_not_coarsen(
    graph: Graph, split: Split, free: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    free(10**6)

    def never(*_: object) -> Hierarchy:
        raise AssertionError("coarsened all the same")

    monkeypatch.setattr("hiergcn.train.trainer.coarsen", never)
    with pytest.raises(InputError, match=r"4 coarser levels of .* edges need about .* take fewer levels"):
        fit(graph, split, PAPER, [0], device="cpu")


def test_coarsening_memory_depends_on_the_edge_weights(graph: Graph) -> None:
    half = Graph(graph.adjacency * 0.5, graph.features, graph.labels)
    assert coarsening_memory(half, 4) == pytest.approx(1.5 * coarsening_memory(graph, 4))
    made = sum(level.adjacency.data.nbytes + level.adjacency.indices.nbytes for level in coarsen(graph, 4).levels[1:])
    assert made < coarsening_memory(graph, 4)


def test_the_plan_is_an_event(graph: Graph, split: Split) -> None:
    events: list[FitEvent] = []
    fit(graph, split, changed(epochs=1), [0], device="cpu", on_event=events.append)
    planned = [event.memory for event in events if isinstance(event, MemoryPlanned)]
    assert planned == [plan_memory(graph, PAPER, coarsen(graph.adjacency, 4)).on_device]


def test_dense_features_that_are_mostly_zeros_count_as_the_sparse_ones_that_they_become() -> None:
    """Standardised, they have no zeros."""
    features = np.zeros((50, 40), dtype=np.float32)
    features[:, 3] = np.arange(50) % 2
    dense = Graph(sp.csr_array((50, 50)), features, np.arange(50) % 2)
    sparse = Graph(dense.adjacency, sp.csr_array(features), dense.labels)
    plain = settings_for("gcn", "default")
    assert plan_memory(dense, plain) == plan_memory(sparse, plain)
    standard = plain.override({"scaling": "standard"})
    assert plan_memory(dense, standard).total > plan_memory(sparse, standard).total
