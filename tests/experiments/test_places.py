"""The embedded street network, power grids and counties: their facts, and labels computed anew."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from hiergcn.datasets import list_datasets, load_dataset

EMBEDDED = ("helsinki", "pegase", "activsg2000", "activsg10k", "us-counties")
ZONES = [
    *(1203, 89, 985, 682, 1354, 560, 149, 517, 1078, 198, 54, 199),
    *(166, 67, 76, 33, 13, 809, 404, 52, 305, 167, 59, 22),
]
TEXAS = [*(34, 32, 136, 135, 52, 43, 73, 87, 91, 45, 88, 53, 58, 41), *(25, 130, 132, 44, 71, 49, 76, 81, 122, 25)]
TEXAS += [50, 80, 108, 39]
WEST = [1082, 700, 546, 761, 516, 1239, 1085, 462, 1018, 461, 308, 897, 191, 337, 296, 101]


@pytest.mark.parametrize(
    ("name", "sizes", "per_class"),
    [
        ("helsinki", (5878, 7009, 20), [588] * 4 + [587] + [588] * 4 + [587]),
        ("pegase", (9241, 14207, 4), ZONES),
        ("pegase-eccentricity", (9241, 14207, 4), [925] + [924] * 9),
        ("activsg2000", (2000, 2667, 4), TEXAS),
        ("activsg10k", (10000, 12217, 4), WEST),
    ],
)
def test_facts(bare: Path, name: str, sizes: tuple[int, ...], per_class: list[int]) -> None:
    dataset = load_dataset(name)
    graph, split, info = dataset.graph, dataset.split, dataset.info
    assert (graph.n_nodes, graph.n_edges, graph.n_features) == sizes == (info.nodes, info.edges, info.features)
    assert np.bincount(graph.truth).tolist() == per_class
    assert (graph.name, graph.n_classes) == (name, info.classes)
    assert nx.is_connected(graph.to_networkx())
    assert set(graph.adjacency.data.tolist()) == {1.0}
    assert np.array_equal(np.asarray(graph.features)[:, 0], np.diff(graph.adjacency.indptr))  # the degree
    split.check(graph)
    assert split.train.size == pytest.approx(0.1 * graph.n_nodes, rel=0.07)
    assert split.test.size == pytest.approx(0.8 * graph.n_nodes, rel=0.01)
    assert split.train.size + split.validation.size + split.test.size == graph.n_nodes


def streets() -> tuple[nx.Graph, Any]:
    with np.load(str(files("hiergcn_experiments.graphs").joinpath("helsinki.npz")), allow_pickle=False) as parts:
        found = {name: parts[name] for name in parts.files}
    graph = nx.Graph()
    graph.add_weighted_edges_from(
        zip(found["edge_source"].tolist(), found["edge_target"].tolist(), found["edge_length"].tolist(), strict=True)
    )
    return graph, found


def test_helsinkis_labels_are_deciles_of_the_eccentricity_within_16_hops() -> None:
    graph, parts = streets()
    nodes = np.random.default_rng(5).choice(5878, 60, replace=False).tolist()
    value = []
    for node in nodes:
        near = nx.single_source_shortest_path_length(graph, node, cutoff=16)
        metres = nx.single_source_dijkstra_path_length(graph, node)
        value.append(max(metres[other] for other in near))
    labels = parts["eccentricity"][nodes]
    assert len(set(labels.tolist())) > 6
    order = np.argsort(value)
    assert (np.diff(labels[order]) >= 0).all()


@pytest.mark.parametrize(
    ("name", "sizes", "target", "quantiles"),
    [
        ("us-counties", (3215, 9460, 3), "unemployment", [1.2, 8.5, 30.1]),
        ("activsg2000-angle", (2000, 2667, 6), "angle", [-73.777618, -49.65, 0.0]),
        ("activsg2000-magnitude", (2000, 2667, 6), "magnitude", [0.9768367, 1.0117, 1.047]),
    ],
)
def test_numbers(bare: Path, name: str, sizes: tuple[int, ...], target: str, quantiles: list[float]) -> None:
    dataset = load_dataset(name)
    graph, info = dataset.graph, dataset.info
    assert (graph.n_nodes, graph.n_edges, graph.n_features) == sizes == (info.nodes, info.edges, info.features)
    assert (graph.target_name, info.target, graph.labels) == (target, target, None)
    assert np.quantile(graph.truth, [0.0, 0.5, 1.0]) == pytest.approx(quantiles, rel=0.01)
    dataset.split.check(graph)


def test_counties_join_their_neighbours() -> None:
    found = load_dataset("us-counties")
    place = {name: k for k, name in enumerate(found.graph.ids.tolist())}
    los_angeles = found.graph.adjacency[[place["Los Angeles County, CA"]]].indices
    names = sorted(found.graph.ids[los_angeles].tolist())
    assert names == [f"{name} County, CA" for name in ("Kern", "Orange", "San Bernardino", "Ventura")]
    assert found.coordinates is not None
    assert found.coordinates[place["Los Angeles County, CA"]] == pytest.approx([-118.3, 34.1], abs=0.5)


def test_coordinates_are_those_of_helsinki() -> None:
    found = load_dataset("helsinki").coordinates
    assert found is not None
    assert found.shape == (5878, 2)
    assert ((found > (24.9, 60.1)) & (found < (25.0, 60.2))).all()
    _, parts = streets()
    ends = np.radians([found[parts[end]] for end in ("edge_source", "edge_target")])
    east = (ends[0, :, 0] - ends[1, :, 0]) * np.cos(ends[0, :, 1])
    metres = 6_371_000 * np.hypot(east, ends[0, :, 1] - ends[1, :, 1])
    assert metres == pytest.approx(parts["edge_length"], rel=0.01, abs=0.5)
    assert load_dataset("pegase").coordinates is None
    assert load_dataset("cora").coordinates is None


def test_files_are_small_and_credited() -> None:
    folder = files("hiergcn_experiments.graphs")
    assert sum(len(folder.joinpath(f"{name}.npz").read_bytes()) for name in EMBEDDED) < 550_000
    notice = folder.joinpath("NOTICE.txt").read_text(encoding="utf-8")
    credit = {row.name: row.credit for row in list_datasets() if row.where == "embedded" and row.name != "cora"}
    for name in EMBEDDED:
        assert f"{name}.npz" in notice
        licence = {"helsinki": "ODbL 1.0", "us-counties": "public domain"}.get(name, "CC BY 4.0")
        assert credit[name].endswith(licence)
    assert "OpenStreetMap contributors" in notice
