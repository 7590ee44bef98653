"""Measurements, as opposed to trainings: dataset statistics, toy graph, receptive field, seconds and memory.

Each function of `MEASURES` returns figures that can be written as JSON.
"""

import timeit
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
import torch
from scipy.sparse.csgraph import dijkstra

from hiergcn import Graph, InputError, Split
from hiergcn.coarsening import CoarsenConfig, coarsen
from hiergcn.datasets import load_dataset, planted_graph
from hiergcn.errors import MissingPackageError
from hiergcn.research import (
    Settings,
    Trainer,
    neighbourhood_sizes,
    peak_memory,
    receptive_field_sizes,
    reset_peak_memory,
    settings_for,
)

# Statistics of the datasets: Table 1, and the counts that explain where ours differ


def statistics(dataset: str) -> dict[str, Any]:
    """Count nodes, edges, classes, features and training nodes of a dataset."""
    found = load_dataset(dataset)
    graph = found.graph
    listed: float | None = None  # half the entries of the neighbour lists, repeated edges included, if the files tell
    with suppress(InputError):
        listed = float(load_dataset(dataset, multiplicity=True).graph.adjacency.sum()) / 2
    return {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "listed_edges": listed,
        "classes": graph.n_classes,
        "features": graph.n_features,
        "train": int(found.split.train.size),
    }


# The toy graph of the paper's coarsening figure. The text gives no edge weights: these are ours.

TOY_NODES = "ABCDE"
TOY_EDGES: Any = (("A", "B", 1.0), ("A", "D", 4.0), ("A", "C", 1.0), ("A", "E", 2.0), ("C", "E", 3.0))


def toy_graph() -> dict[str, Any]:
    """Coarsen the toy graph once, in the two steps of the paper."""
    source, target = ([TOY_NODES.index(edge[end]) for edge in TOY_EDGES] for end in (0, 1))
    graph = Graph.from_edges(source, target, [weight for _, _, weight in TOY_EDGES], n=len(TOY_NODES))
    config = CoarsenConfig()
    alike = np.unique(graph.adjacency.toarray() > 0, axis=0, return_inverse=True)[1].ravel().tolist()
    equivalent = [list(dict.fromkeys(alike)).index(group) for group in alike]  # numbered by their first node
    fine, coarse = coarsen(graph.adjacency, 1, config).levels
    return {
        "names": list(TOY_NODES),
        "edges": [list(edge) for edge in TOY_EDGES],
        "equivalence": equivalent,
        "groups": fine.grouping().tolist(),
        "node_weight": coarse.node_weight.tolist(),
        "coarse": coarse.adjacency.toarray().tolist(),
    }


# Receptive field

GCN_LAYERS = 2


def receptive_field(dataset: str, levels: int) -> dict[str, Any]:
    """Count the nodes in the receptive field of sampled nodes, and the distance of test nodes to training nodes."""
    found = load_dataset(dataset)
    A = found.graph.adjacency
    hierarchy = coarsen(A, levels)
    split = found.split
    steps = dijkstra(A, unweighted=True, indices=split.train, min_only=True)[split.test]
    return {
        "nodes": found.graph.n_nodes,
        "depth": hierarchy.depth,
        "hgcn": [_quantiles(row) for row in receptive_field_sizes(hierarchy)],
        "gcn": _quantiles(neighbourhood_sizes(A, [GCN_LAYERS])[0]),
        "flat": [_quantiles(row) for row in neighbourhood_sizes(A, range(1, 2 * hierarchy.depth + 2, 2))],
        "distance": {  # from each test node to the nearest training node; nodes without a path are counted apart
            "mean": float(steps[np.isfinite(steps)].mean()),
            "beyond_two": float(np.mean(steps > 2)),
            "without_path": float(np.mean(~np.isfinite(steps))),
        },
    }


def _quantiles(reached: np.ndarray) -> dict[str, float]:
    """Summarise over the sampled nodes."""
    found = np.quantile(reached, [0.05, 0.25, 0.5, 0.75, 0.95])
    names = ("low", "first", "median", "third", "high")
    return dict(zip(names, map(float, found), strict=True)) | {"mean": float(reached.mean())}


# Seconds. The graphs keep their average degree m while n grows, so O(n log n) + O(mn) shows as a line of slope slightly
# above 1, and as a line of slope at most 1 if n stays and m grows.

LEVELS = 4
EPOCHS = 3
TRIES = 3
LARGEST = {"hgcn": 1_000_000, "gcn": 1_000_000, "gat": 100_000}
"""Nodes up to which a method is timed; attention keeps several numbers per edge."""


def cost(nodes: int, degree: int) -> dict[str, Any]:
    """Time coarsening, preparation and an epoch on a planted graph, on one thread."""
    torch.set_num_threads(1)
    graph = planted_graph(nodes, degree=degree, seed=0)
    coarsen(planted_graph(500, seed=0).adjacency, LEVELS)  # loads compiled code before the clock runs
    hierarchy = coarsen(graph.adjacency, LEVELS)
    found: dict[str, Any] = {
        "nodes": nodes,
        "degree": degree,
        "edges": graph.n_edges,
        "coarsen": min(timeit.repeat(lambda: coarsen(graph.adjacency, LEVELS), number=1, repeat=TRIES)),
    }
    split = Split.random(graph.truth, seed=0)
    for method in (method for method, largest in LARGEST.items() if nodes <= largest):
        with suppress(MissingPackageError):
            settings = settings_for(method, "paper" if method == "hgcn" else None).override({"epochs": EPOCHS})
            trainer = Trainer(graph, torch.device("cpu"), hierarchy)
            began = perf_counter()
            trainer.prepare(settings, split)  # apart from coarsening
            seconds = perf_counter() - began
            epoch = epoch_seconds(trainer, settings, split, perf_counter)
            found |= {f"{method}_prepare": seconds, f"{method}_epoch": epoch}
    return found


def epoch_seconds(trainer: Trainer, settings: Settings, split: Split, clock: Callable[[], float]) -> float:
    """Return the shortest time between two epochs of a training, each with its validation."""
    stamps: list[float] = []
    for _ in trainer.train(settings, [(split, 0)], lambda *_: stamps.append(clock())):
        pass
    return min(later - sooner for sooner, later in pairwise(stamps))


# Memory


def memory(dataset: str, method: str) -> dict[str, Any]:
    """Measure the peak memory of training on the CPU above what the process holds after reading the graph.

    Two epochs suffice: the second one holds gradients and the optimiser's state, as every later one does. `bytes` is
    None if the system does not tell; Linux does.
    """
    data = load_dataset(dataset)
    settings = settings_for(method, None, dataset).override({"epochs": 2})
    trainer = Trainer(data.graph, torch.device("cpu"))
    trainer.hierarchy(settings)
    return {"dataset": dataset, "method": method, "bytes": training_memory(trainer, settings, data.split, False)}


def training_memory(trainer: Trainer, settings: Settings, split: Split, prepare: bool = True) -> int | None:
    """Return the bytes that training adds to the process at its peak, with preparation before or as a part of it.

    None if the system does not tell.
    """
    if prepare:
        trainer.prepare(settings, split)
    before = reset_peak_memory()
    for _ in trainer.train(settings, [(split, 0)]):
        pass
    after = peak_memory().resident
    return None if before is None or after is None else after - before


MEASURES = (statistics, toy_graph, receptive_field, cost, memory)
