"""The statistics of a dataset, as Table 1 of the paper has them, and the counts that explain where they differ."""

from typing import Any

import numpy as np

from hiergcn.datasets import load_dataset
from hiergcn.errors import InputError


def measure(dataset: str) -> dict[str, Any]:
    found = load_dataset(dataset)
    graph, split = found.graph, found.split
    assert graph.labels is not None
    return {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "classes": graph.n_classes,
        "features": graph.n_features,
        "own_features": _own_features(graph.features),
        "largest_class_name": max((int(name) for name in graph.class_names if name.isdecimal()), default=None),
        "train": int(split.train.size),
        "validation": int(split.validation.size),
        "test": int(split.test.size),
        "without_label": int(np.count_nonzero(graph.labels < 0)),
        "listed_edges": _listed_edges(dataset),
        "isolated": int(np.count_nonzero(np.diff(graph.adjacency.indptr) == 0)),
        "self_loops": int(np.count_nonzero(graph.adjacency.diagonal())),
    }


def _own_features(features: Any) -> int:
    """Columns whose only node has no other: what nodes without features were given, one each."""
    if isinstance(features, np.ndarray):
        return 0
    columns = features.tocsc()
    alone = np.flatnonzero(np.diff(columns.indptr) == 1)
    rows = columns.indices[columns.indptr[alone]]
    per_row = np.diff(features.tocsr().indptr)
    return int(np.count_nonzero(per_row[rows] == 1))


def _listed_edges(dataset: str) -> float | None:
    """Half the entries of the neighbour lists, an edge as often as it is named; None where the files do not tell."""
    try:
        counted = load_dataset(dataset, multiplicity=True).graph.adjacency
    except InputError:
        return None
    return float(counted.sum()) / 2
