"""Hierarchies: maps between nodes and hyper-nodes, checks, and files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from coarsen_graphs import graph_of, real_graph
from test_coarsen_properties import assert_same

from hiergcn.coarsening import CoarsenConfig, Hierarchy, Level, coarsen
from hiergcn.errors import InputError


@pytest.fixture
def path_hierarchy() -> Hierarchy:
    """0-1-2-3-4-5-6-7, whose levels are {01}{23}{45}{67}, {0123}{4567} and {01234567}."""
    heavy = [(i, i + 1, 4.0 if i % 2 == 0 else 2.0 if i % 4 == 1 else 1.0) for i in range(7)]
    return coarsen(graph_of(8, heavy), 3, CoarsenConfig(equivalence_limit=1))


def test_sizes(path_hierarchy: Hierarchy) -> None:
    assert path_hierarchy.sizes() == ((8, 4, 2, 1), (7, 3, 1, 0))
    assert path_hierarchy.sizes()._asdict() == {"nodes": (8, 4, 2, 1), "edges": (7, 3, 1, 0)}
    assert repr(path_hierarchy) == "Hierarchy(nodes=[8, 4, 2, 1], edges=[7, 3, 1, 0])"


def test_hyper_nodes_and_members(path_hierarchy: Hierarchy) -> None:
    assert path_hierarchy.hyper_nodes(0).tolist() == list(range(8))
    assert path_hierarchy.hyper_nodes(1).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert path_hierarchy.hyper_nodes(2).tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert path_hierarchy.members(1, 2).tolist() == [4, 5]
    assert path_hierarchy.members(2, 1).tolist() == [4, 5, 6, 7]
    assert path_hierarchy.members(0, 3).tolist() == [3]


@pytest.mark.parametrize("level", [-1, 4])
def test_unknown_levels(path_hierarchy: Hierarchy, level: int) -> None:
    for ask in (path_hierarchy.hyper_nodes, path_hierarchy.grouping_matrix, lambda at: path_hierarchy.members(at, 0)):
        with pytest.raises(InputError, match=f"no level {level}"):
            ask(level)
    with pytest.raises(InputError, match="no level 3"):
        path_hierarchy.grouping_matrix(3)  # the coarsest has none
    with pytest.raises(InputError, match="hyper-nodes 0 to 1, not 2"):
        path_hierarchy.members(2, 2)


def test_to_frame(path_hierarchy: Hierarchy) -> None:
    frame = path_hierarchy.to_frame(list("abcdefgh"))
    assert list(frame.columns) == ["node", "level", "hyper_node"]
    assert len(frame) == 24
    assert frame[frame.node == "e"][["level", "hyper_node"]].to_numpy().tolist() == [[1, 2], [2, 1], [3, 0]]
    assert path_hierarchy.to_frame().node.tolist() == list(range(8)) * 3
    with pytest.raises(InputError, match="there are 8 nodes; give one id per node"):
        path_hierarchy.to_frame(["a"])
    bare = coarsen(real_graph(5, 0.5, 0), 0).to_frame()
    assert bare.empty
    assert list(bare.columns) == ["node", "level", "hyper_node"]


def test_arrays_are_read_only(path_hierarchy: Hierarchy) -> None:
    for level in path_hierarchy.levels:
        for array in (level.adjacency.data, level.adjacency.indices, level.node_weight, level.group):
            assert array is None or not array.flags.writeable


ONES = np.ones(2, dtype=np.int64)
PAIR = graph_of(2, [(0, 1, 1)])
ALONE, GROUPED = Level(PAIR, ONES), Level(PAIR, ONES, np.array([0, 1], dtype=np.int32))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((PAIR, np.ones(3, dtype=np.int64)), "node weights of a level of 2 nodes"),
        ((PAIR, ONES - 1), "node weights"),
        ((PAIR, ONES, np.array([0, -1], dtype=np.int32)), "grouping of a level of 2 nodes"),
    ],
)
def test_bad_levels(parts: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Level(*parts)


@pytest.mark.parametrize(
    ("levels", "requested", "message"),
    [
        ((), 1, "at least"),
        ((ALONE, ALONE), 1, "Level 0 must have a grouping"),
        ((GROUPED,), 1, "Level 0 must have no grouping"),
        ((GROUPED, ALONE), 0, "cannot come from 0"),
        ((GROUPED, Level(PAIR, ONES * 2)), 1, "not the sums"),
    ],
)
def test_bad_hierarchies(levels: tuple[Level, ...], requested: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Hierarchy(levels, CoarsenConfig(), requested)


class TestFile:
    @pytest.mark.parametrize("levels", [0, 4])
    def test_round_trip(self, tmp_path: Path, levels: int) -> None:
        config = CoarsenConfig(similarity="degree", max_node_weight=20, seed=3)
        hierarchy = coarsen(real_graph(200, 0.03, 0), levels, config)
        hierarchy.save(tmp_path / "h.npz")
        loaded = Hierarchy.load(tmp_path / "h.npz")
        assert_same(hierarchy, loaded)
        assert loaded.config == config
        assert loaded.requested == levels
        assert [file.name for file in tmp_path.iterdir()] == ["h.npz"]

    def test_a_strategy_of_the_users_own(self, tmp_path: Path) -> None:
        def mine(adjacency: Any, *_: object) -> np.ndarray:
            return np.arange(adjacency.shape[0]) // 2

        coarsen(real_graph(20, 0.3, 0), 1, CoarsenConfig(strategy=mine)).save(tmp_path / "h.npz")
        loaded = Hierarchy.load(tmp_path / "h.npz")
        assert loaded.sizes().nodes == (20, 10)
        with pytest.raises(InputError, match="'mine' is unknown"):
            coarsen(real_graph(20, 0.3, 0), 1, loaded.config)
        loaded.save(tmp_path / "again.npz")
        assert Hierarchy.load(tmp_path / "again.npz").config == loaded.config

    def test_other_and_damaged_files(self, tmp_path: Path) -> None:
        file, other = tmp_path / "h.npz", tmp_path / "h.npy"
        with pytest.raises(InputError, match=r"There is no file .*h\.npz"):
            Hierarchy.load(file)
        np.save(other, np.zeros(3))
        with pytest.raises(InputError, match="not an archive"):
            Hierarchy.load(other)
        np.savez(file, header=np.array([{"a": 1}], dtype=object))
        pickled = file.read_bytes()
        coarsen(real_graph(50, 0.2, 0), 2).save(file)
        whole, flipped = file.read_bytes(), bytearray(file.read_bytes())
        flipped[len(flipped) // 2] ^= 0xFF
        for content in (pickled, flipped, b"", whole[:10], whole[:900], whole[:-200]):
            file.write_bytes(content)
            with pytest.raises(InputError, match=r"h\.npz cannot be read as a hierarchy"):
                Hierarchy.load(file)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"header": None}, "no 'header'"),
            ({"group_1": None}, "no 'group_1'"),
            ({"header": b"{"}, "not a usable hierarchy"),
            ({"header": {"format": "else"}}, "its format is 'else'"),
            ({"header": {"requested": 1}}, "cannot come from 1"),
            ({"header": {"config": {"strategy": "hgcn", "depth": 2}}}, "depth"),
            ({"data": np.ones(3)}, "not a usable hierarchy"),
            ({"indices": np.full(6, 9, dtype=np.int32)}, "not a usable hierarchy"),
            ({"data": -np.ones(6)}, "negative"),
            ({"data": np.arange(1.0, 7.0)}, "symmetric"),
            ({"group_0": np.zeros(3, dtype=np.int32)}, "grouping of a level of 4 nodes must be"),
            ({"group_0": np.array([0, 0, 1, 9], dtype=np.int32)}, "without gaps"),
            ({"group_0": np.array([0, 0, 2, 2], dtype=np.int32)}, "without gaps"),
            ({"group_0": np.array([0, 0, 1, -1], dtype=np.int32)}, "hyper-node numbers from 0"),
        ],
    )
    def test_contents_are_checked(self, tmp_path: Path, change: dict[str, Any], message: str) -> None:
        file = tmp_path / "h.npz"
        coarsen(graph_of(4, [(0, 1, 1), (1, 2, 1), (2, 3, 1)]), 2).save(file)
        arrays: dict[str, Any] = dict(np.load(file))
        header = json.loads(arrays["header"].tobytes())
        for name, value in change.items():
            if isinstance(value, dict):
                value = json.dumps(header | value).encode()
            arrays[name] = np.frombuffer(value, np.uint8) if isinstance(value, bytes) else value
        np.savez(file, **{name: array for name, array in arrays.items() if array is not None})
        with pytest.raises(InputError, match=message) as caught:
            Hierarchy.load(file)
        assert "h.npz" in str(caught.value)
