"""Seconds of preprocessing and of an epoch on a planted graph, one thread; the least of a few tries each.

The graphs keep their average degree m while n grows, so O(n log n) + O(mn) is to be seen as a straight line of slope
just above 1, and as a line of slope at most 1 where n stays and m grows.
"""

from itertools import pairwise
from time import perf_counter
from typing import Any

import torch

from hiergcn.coarsen import coarsen
from hiergcn.datasets import planted_graph
from hiergcn.errors import MissingPackageError
from hiergcn.graph import Split
from hiergcn.graph.task import Task
from hiergcn.model.registry import build_method
from hiergcn.run.settings import settings_for
from hiergcn.train.runs import train_runs

LEVELS = 4
EPOCHS = 3
TRIES = 3
LARGEST = {"hgcn": 1_000_000, "gcn": 1_000_000, "gat": 100_000}  # nodes; attention keeps several numbers an edge


def measure(nodes: int, degree: int) -> dict[str, Any]:
    torch.set_num_threads(1)
    graph = planted_graph(nodes, degree=degree, seed=0)
    coarsen(planted_graph(500, seed=0).adjacency, LEVELS)  # compiled code is loaded before the clock runs
    assert graph.labels is not None
    task = Task.of(graph, Split.random(graph.labels, seed=0))
    hierarchy = coarsen(graph.adjacency, LEVELS)
    found: dict[str, Any] = {
        "nodes": nodes,
        "degree": degree,
        "edges": graph.n_edges,
        "level_nodes": list(hierarchy.sizes().nodes),
        "coarsen": _least(lambda: coarsen(graph.adjacency, LEVELS)),
    }
    for name, largest in LARGEST.items():
        if nodes <= largest:
            try:
                found |= _epoch(name, task, hierarchy)
            except MissingPackageError:
                continue
    return found


def _epoch(name: str, task: Task, hierarchy: Any) -> dict[str, float]:
    """Preprocessing of the method beside the hierarchy, and an epoch with its validation."""
    settings = settings_for(name, "paper" if name == "hgcn" else None).override({"epochs": EPOCHS})
    method = build_method(name, settings.model)
    cpu = torch.device("cpu")
    given = hierarchy if method.uses_hierarchy else None
    began = perf_counter()
    prepared = method.prepare(task, given, cpu)
    seconds = perf_counter() - began
    stamps: list[float] = []
    for _ in train_runs(method, prepared, [(task, 0)], settings.train, cpu, lambda *_: stamps.append(perf_counter())):
        pass
    epochs = [later - sooner for sooner, later in pairwise(stamps)]
    return {f"{name}_prepare": seconds, f"{name}_epoch": min(epochs)}


def _least(work: Any) -> float:
    tries = []
    for _ in range(TRIES):
        began = perf_counter()
        work()
        tries.append(perf_counter() - began)
    return min(tries)
