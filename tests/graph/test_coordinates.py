"""Coordinates of nodes: found in tables, kept with the graph, on the map of a report."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hiergcn.errors import InputError
from hiergcn.graph import Graph
from hiergcn.graph.coordinates import DEGREE, Coordinates

EDGES = pd.DataFrame({"from": ["a", "b", "c"], "to": ["b", "c", "d"]})


def graph_of(**columns: Any) -> Any:
    nodes = pd.DataFrame({"id": ["a", "b", "c", "d"], "size": [1.0, 2.0, 3.0, 4.0], **columns})
    return Graph.from_pandas(EDGES, nodes)


@pytest.mark.parametrize("names", [("lon", "lat"), ("Longitude", "Latitude"), ("lng", "lat")])
def test_longitude_and_latitude_are_found_by_name(names: tuple[str, str]) -> None:
    found = graph_of(**{names[1]: [60.1, 60.2, 60.3, 60.4], names[0]: [24.1, 24.2, 24.3, 24.4]}).coordinates
    assert found.degrees
    np.testing.assert_allclose(found.values, [[24.1, 60.1], [24.2, 60.2], [24.3, 60.3], [24.4, 60.4]])


def test_a_missing_coordinate_is_unknown_not_the_mean() -> None:
    found = graph_of(x=[0.0, 10.0, None, 30.0], y=[1.0, 1.0, 2.0, 3.0]).coordinates
    assert not found.degrees
    assert np.isnan(found.values[2, 0])
    assert found.values[3, 0] == 30


@pytest.mark.parametrize(
    "columns",
    [
        {"lon": [1.0, 2.0, 3.0, 4.0]},  # one of two
        {"lon": [200.0, 2.0, 3.0, 4.0], "lat": [1.0, 2.0, 3.0, 4.0]},  # not on the globe
        {"x": [1.0, None, None, None], "y": [1.0, 2.0, 3.0, 4.0]},  # mostly unknown
        {"x": [1.0, 1.0, 1.0, 1.0], "y": [2.0, 2.0, 2.0, 2.0]},  # all in one place
    ],
)
def test_other_columns_are_no_coordinates(columns: dict[str, list[float | None]]) -> None:
    assert graph_of(**columns).coordinates is None


def test_degrees_become_metres() -> None:
    places = Coordinates(np.array([[24.0, 60.0], [25.0, 60.0], [24.0, 61.0]]), degrees=True).projected()
    east, north = places[1] - places[0], places[2] - places[0]
    assert north[1] == pytest.approx(DEGREE)
    assert east[0] / north[1] == pytest.approx(np.cos(np.radians(60 + 1 / 3)))


def test_coordinates_follow_the_nodes(tmp_path: Path) -> None:
    graph = graph_of(x=[0.0, 10.0, 20.0, 30.0], y=[1.0, 1.0, 2.0, 3.0])
    assert graph.reordered(np.array([3, 2, 1, 0])).coordinates.values[0].tolist() == [30, 3]
    graph.to_npz(tmp_path / "g.npz")
    again: Any = Graph.from_npz(tmp_path / "g.npz").coordinates
    assert np.array_equal(again.values, np.array([[0, 1], [10, 1], [20, 2], [30, 3]]))


def test_coordinates_of_other_nodes_are_refused() -> None:
    with pytest.raises(InputError, match="coordinates of 2 nodes"):
        Graph(graph_of().adjacency, coordinates=Coordinates(np.zeros((2, 2))))
    with pytest.raises(InputError, match="two numbers per node"):
        Coordinates(np.zeros((2, 3)))
