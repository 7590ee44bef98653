"""Embedded graphs of large diameter: a street network and three power grids, made by `scripts/build_places.py`."""

from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiergcn.graph import Graph, Split

DEGREE = 1e7  # coordinates are stored as whole multiples of 1e-7 degrees


def read_place(name: str, file: str, label: str) -> tuple[Graph, Split]:
    """Return the graph in `file`.npz with one of its labels, and a split: 10 % train, 10 % validation, 80 % test.

    Edges weigh 1. Ids are those of the source: OpenStreetMap's nodes or a grid's bus numbers.
    """
    parts = _parts(file)
    names = parts.get(f"{label}_names")
    graph = Graph.from_edges(
        parts["edge_source"],
        parts["edge_target"],
        n=len(parts["features"]),
        features=parts["features"],
        labels=parts[label].astype(np.int64),
        ids=parts["ids"].astype(np.int64),
        class_names=() if names is None else names.tolist(),
        name=name,
    )
    assert graph.labels is not None
    return graph, Split.holdout(graph.labels, validation=0.1, test=0.8)


def read_coordinates(file: str) -> NDArray[np.float64] | None:
    """Return (n, 2) longitude and latitude in degrees; None if the file has none."""
    found = _parts(file).get("coordinates")
    return None if found is None else found / DEGREE


def _parts(file: str) -> dict[str, NDArray[Any]]:
    with (
        files("hiergcn.datasets").joinpath(f"{file}.npz").open("rb") as stream,
        np.load(stream, allow_pickle=False) as parts,
    ):
        return {name: parts[name] for name in parts.files}
