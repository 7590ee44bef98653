"""Memory planned before a fit starts."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks

from hiergcn.coarsen import Hierarchy, coarsen
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.model.registry import build_method
from hiergcn.run import memory_plan as planning
from hiergcn.run.fit import Listener, fit
from hiergcn.run.memory_plan import coarsening_memory, plan_memory, planned_to_fit
from hiergcn.run.settings import Settings, settings_for
from hiergcn.train.labels import labelled_nodes

CPU = torch.device("cpu")
PAPER = settings_for("hgcn", "paper")


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(3000, classes=4, degree=10, features=50, seed=0)


@pytest.fixture(scope="module")
def split(graph: Graph) -> Split:
    assert graph.labels is not None
    return Split.random(graph.labels, per_class=10, validation=100, seed=0)


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets the bytes that seem to be free."""

    def set_free(memory: int) -> None:
        for home in ("hiergcn.run.memory_plan", "hiergcn.run.memory", "hiergcn.run.fit"):
            monkeypatch.setattr(f"{home}.available_memory", lambda _=None: memory)

    return set_free


def changed(**changes: object) -> Settings:
    return PAPER.override(changes)


@pytest.mark.parametrize(
    "changes", [{}, {"hidden": 64, "channels": 2}, {"levels": 1}, {"coarsening": False, "levels": 2}]
)
def test_what_layers_keep_is_counted(graph: Graph, split: Split, changes: dict[str, object]) -> None:
    """Against the bytes that autograd holds between the two passes."""
    settings = changed(**changes)
    hierarchy = coarsen(graph.adjacency, settings.model.levels)
    kept = held_between_passes(graph, split, settings, hierarchy)
    assert 0.7 < plan_memory(graph, settings, hierarchy).kept / kept < 1.5


WIDE = {"hidden": 8, "input_dropout": 0.5}
IN_FULL = WIDE | {"input_dropout_on": "propagated"}


@pytest.mark.parametrize("changes", [{}, WIDE, IN_FULL, IN_FULL | {"batch_norm": True}, {"networks": 3, "passes": 2}])
def test_what_passes_keep_is_counted(split: Split, changes: dict[str, object]) -> None:
    graph = planted_graph(3000, classes=4, degree=10, features=400, seed=0)
    settings = settings_for("hgcn-plus").override(changes)
    hierarchy = coarsen(graph.adjacency, settings.model.levels)
    kept = held_between_passes(graph, split, settings, hierarchy)
    assert 0.7 < plan_memory(graph, settings, hierarchy).kept / kept < 1.6  # dropout's bits are not among these


def held_between_passes(graph: Graph, split: Split, settings: Settings, hierarchy: Hierarchy) -> int:
    """The bytes that autograd knows of."""
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


def test_batches_and_recomputation_are_planned_with_less(graph: Graph) -> None:
    whole = plan_memory(graph, PAPER).kept
    assert plan_memory(graph, changed(batches=4)).kept == pytest.approx(whole / 4, rel=0.01)
    assert plan_memory(graph, changed(recompute=True)).kept < 0.5 * whole


@pytest.mark.parametrize(
    ("nodes", "edges", "least", "most"), [(1_000_000, 9_000_000, 4, 10), (5_000_000, 49_000_000, 20, 40)]
)
def test_large_graphs_are_planned_with_what_they_take(nodes: int, edges: int, least: float, most: float) -> None:
    """In gigabytes: about what fits of this size were measured with."""
    large: Any = SimpleNamespace(
        n_nodes=nodes,
        n_classes=8,
        n_features=100,
        adjacency=SimpleNamespace(nnz=2 * edges),
        features=np.broadcast_to(np.float32(0), (nodes, 100)),
    )
    assert least < plan_memory(large, PAPER).total / 1e9 < most


def test_a_batch_at_a_time_is_planned(graph: Graph) -> None:
    """The structure of the whole graph and of one batch, never that of all batches."""
    whole, few, many = (plan_memory(graph, changed(batches=count)).structure for count in (1, 2, 64))
    assert few < 1.6 * whole
    assert many < 1.05 * whole


def test_without_a_hierarchy_the_plan_is_about_the_same(graph: Graph) -> None:
    blind, seeing = (plan_memory(graph, PAPER, hierarchy) for hierarchy in (None, coarsen(graph.adjacency, 4)))
    assert 0.8 < blind.total / seeing.total < 1.3


def test_a_fit_that_cannot_be_is_refused_with_a_remedy(graph: Graph, free: Callable[[int], None]) -> None:
    """Nine layers of one size: to compute them again saves most of what they keep."""
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


def test_a_look_at_all_nodes_holds_nothing_of_any_network(graph: Graph) -> None:
    """Batches keep little, so looking at the whole graph takes more: as much with several networks as with one."""
    one, four = (plan_memory(graph, changed(batches=64, networks=networks)) for networks in (1, 4))
    assert one.kept + one.working == four.kept + four.working


@pytest.mark.parametrize("preset", ["plus", "paper"])
def test_fewer_networks_are_a_remedy_where_there_are_several(
    graph: Graph, free: Callable[[int], None], preset: str
) -> None:
    free(1000)
    for networks, fewer in ((1, "fewer levels"), (2, "fewer networks, levels")):
        settings = settings_for("hgcn", preset).override({"networks": networks})
        with pytest.raises(InputError, match=f"take {fewer} or hidden columns"):
            planned_to_fit(graph, settings, None, CPU)


def test_the_remedy_names_batches_that_would_do(free: Callable[[int], None]) -> None:
    wide = planted_graph(3000, classes=4, degree=2, features=10, seed=0)
    settings = changed(recompute=True, hidden=256)
    hierarchy = coarsen(wide.adjacency, 4)
    enough = replace(settings, train=replace(settings.train, batches=4))
    free(plan_memory(wide, enough, hierarchy, look_at_whole=False).on_device)
    with pytest.raises(InputError, match="take --set batches=4,"):
        planned_to_fit(wide, settings, hierarchy, CPU)
    assert not planned_to_fit(wide, enough, hierarchy, CPU).looks_at_whole


def test_nothing_is_prepared_for_a_fit_that_is_refused(
    graph: Graph, split: Split, free: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    free(10**6)

    def never(*_: object) -> Hierarchy:
        raise AssertionError("coarsened all the same")

    monkeypatch.setattr("hiergcn.run.fit.coarsen", never)
    with pytest.raises(InputError, match=r"4 coarser levels of .* edges need about .* take fewer levels"):
        fit(graph, split, PAPER, [0], device="cpu")


def test_coarsening_is_planned_by_the_weights_of_the_edges(graph: Graph) -> None:
    half = Graph(graph.adjacency * 0.5, graph.features, graph.labels)
    assert coarsening_memory(half, 4) == pytest.approx(1.5 * coarsening_memory(graph, 4))
    made = sum(level.adjacency.data.nbytes + level.adjacency.indices.nbytes for level in coarsen(graph, 4).levels[1:])
    assert made < coarsening_memory(graph, 4)


def test_the_listener_hears_of_the_plan(graph: Graph, split: Split) -> None:
    heard: list[int] = []

    class Ear(Listener):
        def planned(self, memory: int, available: int | None) -> None:
            heard.append(memory)

    fit(graph, split, changed(epochs=1), [0], device="cpu", listener=Ear())
    assert heard == [plan_memory(graph, PAPER, coarsen(graph.adjacency, 4)).on_device]


def test_other_methods_have_a_plan_too(graph: Graph) -> None:
    plain, attentive = (plan_memory(graph, settings_for(method)).total for method in ("gcn", "gat"))
    assert planning.WORD * 50 * 3000 < plain < attentive


def test_few_components_are_planned_with_less_and_more_than_columns_with_no_more(graph: Graph) -> None:
    few, all_of_them, too_many = (
        plan_memory(graph, settings_for("hgcn-plus").override({"components": components})).on_device
        for components in (8, 50, 500)
    )
    assert few < all_of_them == too_many
