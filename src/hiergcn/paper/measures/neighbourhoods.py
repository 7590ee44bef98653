"""How many nodes reach a node's output, for GCN and for H-GCN by its levels; and how far labels are from test nodes."""

from typing import Any

import numpy as np
from scipy.sparse.csgraph import dijkstra

from hiergcn.coarsen import coarsen
from hiergcn.coarsen.receptive_field import flat_reach, reach
from hiergcn.datasets import Dataset, load_dataset

GCN_LAYERS = 2


def measure(dataset: str, levels: int) -> dict[str, Any]:
    found = load_dataset(dataset)
    hierarchy = coarsen(found.graph.adjacency, levels)
    return {
        "nodes": found.graph.n_nodes,
        "asked": levels,
        "depth": hierarchy.depth,
        "level_nodes": list(hierarchy.sizes().nodes),
        "hgcn": [_quantiles(row) for row in reach(hierarchy)],
        "gcn": _quantiles(flat_reach(found.graph.adjacency, GCN_LAYERS)),
        "flat": [_quantiles(flat_reach(found.graph.adjacency, 2 * depth + 1)) for depth in range(hierarchy.depth + 1)],
        "distance": _distance_to_labels(found),
    }


def _quantiles(reached: np.ndarray) -> dict[str, float]:
    """Over the sampled nodes."""
    found = np.quantile(reached, [0.05, 0.25, 0.5, 0.75, 0.95])
    names = ("low", "first", "median", "third", "high")
    return dict(zip(names, map(float, found), strict=True)) | {"mean": float(reached.mean())}


def _distance_to_labels(dataset: Dataset) -> dict[str, float]:
    """Steps from each test node to the nearest training node; those that no path leads to are counted apart."""
    split = dataset.split
    steps = dijkstra(dataset.graph.adjacency, unweighted=True, indices=split.train, min_only=True)[split.test]
    joined = steps[np.isfinite(steps)]
    return {
        "mean": float(joined.mean()),
        "beyond_two": float(np.mean(steps > 2)),
        "without_path": float(np.mean(~np.isfinite(steps))),
    }
