"""Embedded datasets: Cora (`scripts/build_cora.py`); streets, power grids and counties (`scripts/build_places.py`)."""

from importlib.resources import files
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hiergcn.graph import Graph, Split

DEGREE = 1e7  # coordinates are stored as whole multiples of 1e-7 degrees


def read_cora() -> tuple[Graph, Split]:
    """Return Cora (Sen et al., 2008) as Planetoid numbers it, and its public split; ids are those of LINQS."""
    parts = _parts("cora")
    words, starts = parts["feature_indices"].astype(np.int32), parts["feature_indptr"].astype(np.int32)
    n, width = starts.size - 1, int(parts["n_features"])
    graph = Graph.from_edges(
        parts["edge_source"],
        parts["edge_target"],
        n=n,
        features=sp.csr_array((np.ones(words.size, np.float32), words, starts), shape=(n, width)),
        labels=parts["labels"].astype(np.int64),
        ids=parts["paper_ids"].astype(np.int64),
        class_names=parts["class_names"].tolist(),
        name="cora",
    )
    return graph, Split(parts["train"], parts["validation"], parts["test"])


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


def read_numbers(name: str, file: str, target: str) -> tuple[Graph, Split]:
    """Return the graph in `file`.npz with a number to predict, and a split: 10 % train, 10 % validation, 80 % test.

    Buses have their generation, in MW, and the number of their generators as further features.
    """
    parts = _parts(file)
    more = [parts[column] for column in ("generation", "generators") if column in parts]
    graph = Graph.from_edges(
        parts["edge_source"],
        parts["edge_target"],
        n=len(parts["features"]),
        features=np.column_stack([parts["features"], *more]).astype(np.float32),
        ids=parts["names"].astype(object) if "names" in parts else parts["ids"].astype(np.int64),
        name=name,
    ).with_targets(parts[target], target)
    assert graph.strata is not None
    return graph, Split.holdout(graph.strata, validation=0.1, test=0.8)


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
