"""How the graphs are read: from the files beside this module (`scripts/build_places.py`), generated or downloaded."""

from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiergcn import Graph, Split
from hiergcn.datasets import DatasetEntry, DatasetInfo, FileSet
from hiergcn.graph import Coordinates
from hiergcn_experiments.graphs import CITY_NETWORKS, CITY_OPTIONS, CLUSTERED, PLACES, SOURCES
from hiergcn_experiments.graphs.city import city_graph, city_points
from hiergcn_experiments.graphs.city_networks import ADDRESS, FILES, read_city_network

DEGREE = 1e7  # coordinates are stored as whole multiples of 1e-7 degrees


def entry(info: DatasetInfo) -> DatasetEntry:
    """Return the entry of a graph in the catalogue of datasets."""
    if info in PLACES:
        return DatasetEntry(info, lambda *_: _read_place(info))
    if info in CITY_NETWORKS:
        address = f"{ADDRESS}/{info.name}.tar.gz"
        downloaded = FileSet(info.name, f"city-networks/{info.name}", FILES, url=address)
        return DatasetEntry(info, lambda folder, _: read_city_network(folder, info.name, info.nodes), downloaded)
    return DatasetEntry(info, lambda *_: _read_city(info), where="generated")


def place_arrays(file: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file that is part of this package."""
    with files("hiergcn_experiments.graphs").joinpath(f"{file}.npz").open("rb") as stream, np.load(stream) as parts:
        return {name: parts[name] for name in parts.files}


def _read_place(info: DatasetInfo) -> tuple[Graph, Split]:
    """Return the graph with a split: 10 % train, 10 % validation, 80 % test.

    Edges weigh 1. Ids are those of the source: OpenStreetMap's nodes, a grid's bus numbers, names of counties. If a
    number is to be predicted, buses have their generation, in MW, and the number of their generators as features, too.
    """
    file, label = SOURCES[info.name]
    parts = place_arrays(file)
    features = parts["features"]
    ids = parts["names"].astype(object) if info.target and "names" in parts else parts["ids"].astype(np.int64)
    target: dict[str, Any] = {}
    if info.target:
        more = [parts[column] for column in ("generation", "generators") if column in parts]
        features = np.column_stack([features, *more]).astype(np.float32)
    else:
        names = parts.get(f"{label}_names")
        target = {"labels": parts[label].astype(np.int64), "class_names": () if names is None else names.tolist()}
    ends, n = (parts["edge_source"], parts["edge_target"]), len(features)
    graph = Graph.from_edges(*ends, n=n, features=features, ids=ids, name=info.name, **target)
    if info.target:
        graph = graph.with_targets(parts[info.target], info.target)
    if "coordinates" in parts:
        graph = replace(graph, coordinates=Coordinates(parts["coordinates"] / DEGREE, degrees=True))
    return graph, _split(graph)


def _read_city(info: DatasetInfo) -> tuple[Graph, Split]:
    degree, clustered = CITY_OPTIONS[CLUSTERED if info.name.endswith(CLUSTERED) else ""]
    graph = city_graph(info.nodes, degree=degree, clustered=clustered)
    points = Coordinates(city_points(info.nodes, clustered=clustered))
    graph = replace(graph, name=info.name, coordinates=points)
    return graph, _split(graph)


def _split(graph: Graph) -> Split:
    return Split.holdout(graph.strata, validation=0.1, test=0.8)
