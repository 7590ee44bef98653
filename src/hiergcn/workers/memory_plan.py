"""The memory plan of a fit, made before it starts, and its refusal if there is not enough memory."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from hiergcn.coarsening import Hierarchy
from hiergcn.graph import Graph
from hiergcn.graph.structure import WIDTH
from hiergcn.model.inputs import build_method, stored_entries
from hiergcn.model.method import WORD, LevelSize, MemoryPlan, Workload
from hiergcn.settings.registry import method_info
from hiergcn.settings.settings import Settings
from hiergcn.workers.machine import available_memory, require_memory
from hiergcn.workers.pool import Request

_COARSER = 8  # bytes per entry of a coarser level in the hierarchy
_PROCESS = 400_000_000  # bytes of a worker process before it trains: Python, torch and numba


def plan_memory(
    graph: Graph, settings: Settings, hierarchy: Hierarchy | None = None, full_validation: bool = True
) -> MemoryPlan:
    """Return the memory plan of one seed. Without a hierarchy, each level has half the nodes and as many edges."""
    method = build_method(settings.method, settings.model)
    n, entries = graph.n_nodes, graph.adjacency.nnz + graph.n_nodes
    depth = settings.model.levels if settings.model.uses_hierarchy else 0
    if depth and hierarchy is not None:
        levels = [LevelSize(made.n_nodes, made.adjacency.nnz + made.n_nodes) for made in hierarchy.levels[: depth + 1]]
    else:
        halved = [max(n >> i, 1) for i in range(depth + 1)]
        levels = [LevelSize(nodes, min(entries, nodes**2)) for nodes in halved]
    dense = isinstance(graph.features, np.ndarray) and getattr(settings.model, "scaling", None) == "standard"
    work = Workload(
        levels=tuple(levels),
        n_features=graph.n_features or WIDTH,
        stored=None if graph.features is None or dense else stored_entries(graph.features),  # of a sparse tensor
        n_classes=graph.n_outputs,
        batches=settings.train.batches,
        recompute=settings.train.recompute,
        full_validation=full_validation,
    )
    coarser = _COARSER * sum(level.entries for level in levels[1:])
    return replace(method.memory(work), hierarchy=coarser, full_validation=full_validation)


def planned_to_fit(graph: Graph, settings: Settings, hierarchy: Hierarchy | None, device: torch.device) -> MemoryPlan:
    """Return the memory plan; raise an `InputError` with a remedy if there is not enough memory for it."""
    free, needed = available_memory(device), partial(needed_on, device)
    available: float = np.inf if free is None else free
    batched = settings.train.batch_validation and settings.train.batches > 1
    plans = [plan_memory(graph, settings, hierarchy, full_validation=whole) for whole in (not batched, False)]
    for plan in plans:
        if needed(plan) <= available:
            return plan

    def fits(**changes: Any) -> bool:
        changed = replace(settings, train=replace(settings.train, **changes))
        return needed(plan_memory(graph, changed, hierarchy, full_validation=False)) <= available

    fewer = f"fewer {'networks, ' if getattr(settings.model, 'networks', 1) > 1 else ''}levels or hidden columns"
    needs_whole = build_method(settings.method, settings.model).needs_whole
    counts = () if needs_whole else (2**k for k in range(1, 11) if 2**k > settings.train.batches)
    if method_info(settings.method).recomputes and not settings.train.recompute and fits(recompute=True):
        remedy = "take --set recompute=true, which keeps less and computes more"  # only costs time
    elif batches := next((count for count in counts if fits(batches=count)), None):
        remedy = f"take --set batches={batches}, which trains on parts of the graph, or {fewer}"
    else:
        remedy = f"take {fewer}, or a machine with more"
    what = f"the layers of {settings.method} over {graph.n_nodes:,} nodes and {graph.n_edges:,} edges"
    require_memory(needed(plans[0]), what, remedy, device)
    return plans[0]


def needed_on(device: torch.device, plan: MemoryPlan) -> int:
    """Return the planned bytes of the device's memory."""
    return plan.on_gpu if device.type == "cuda" else plan.on_device


def unit_request(graph: Graph, settings: Settings, hierarchy: Hierarchy | None, device: str) -> Request:
    """Return the resources to train on the graph: a core, the planned memory, and a GPU if there is one."""
    plan = plan_memory(graph, settings, hierarchy)
    on_gpu = device.startswith("cuda")
    host = plan.hierarchy + plan.preparing if on_gpu else plan.total
    return Request(_PROCESS + host, gpus=int(on_gpu))


def coarsening_memory(graph: Graph, levels: int) -> int:
    """Return an upper bound for the coarser levels and one level in the making; integer weights take less."""
    whole = np.array_equal(graph.adjacency.data, np.floor(graph.adjacency.data))
    return int((_COARSER if whole else _COARSER + WORD) * graph.adjacency.nnz * (levels + 1))
