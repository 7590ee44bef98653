"""The Planetoid and NELL readers on files small enough to work out by hand."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from hiergcn.datasets import planetoid_files as planetoid
from hiergcn.errors import InputError


def one_hot(*labels: int) -> np.ndarray:
    return np.eye(4, dtype=np.int32)[list(labels)]


def write_files(folder: Path, name: str, **changes: Any) -> None:
    """Seven nodes: 0 to 3 in allx, 4 and 6 in the test list (6 first), 5 in neither."""
    words = np.arange(1, 13, dtype=np.float32).reshape(6, 2)
    parts = {
        "x": sp.csr_matrix(words[:2]),
        "allx": sp.csr_matrix(words[:4]),
        "tx": sp.csr_matrix(words[4:]),
        "y": one_hot(0, 2),
        "ally": one_hot(0, 2, 2, 0),
        "ty": one_hot(2, 0),
        "graph": {0: [1, 1, 4], 1: [0, 0, 1], 2: [6], 4: [0], 5: [6, 6], 6: [2, 5, 5]},
        **changes,
    }
    for part, value in parts.items():
        if value is not None:
            (folder / f"ind.{name}.{part}").write_bytes(pickle.dumps(value, protocol=3))
    (folder / f"ind.{name}.test.index").write_text("6\n4\n")


@pytest.fixture(autouse=True)
def two_validation_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planetoid, "VALIDATION", 2)


def test_planetoid_by_hand(tmp_path: Path) -> None:
    write_files(tmp_path, "toy")
    graph, split = planetoid.read_planetoid(tmp_path, "toy")
    assert [part.tolist() for part in (split.train, split.validation, split.test)] == [[0, 1], [2, 3], [4, 6]]
    assert graph.truth.tolist() == [0, 2, 2, 0, 0, -1, 2]
    assert sp.issparse(graph.features)
    rows = [[1, 2], [3, 4], [5, 6], [7, 8], [11, 12], [0, 0], [9, 10]]
    assert graph.features.toarray().tolist() == rows
    edges = np.argwhere(np.triu(graph.adjacency.toarray()))
    assert edges.tolist() == [[0, 1], [0, 4], [2, 6], [5, 6]]  # the self-loop of 1 is gone
    assert set(graph.adjacency.data.tolist()) == {1.0}


def test_multiplicity_by_hand(tmp_path: Path) -> None:
    write_files(tmp_path, "toy")
    graph, _ = planetoid.read_planetoid(tmp_path, "toy", multiplicity=True)
    assert graph.adjacency[[0, 0, 2, 5], [1, 4, 6, 6]].tolist() == [2, 1, 1, 2]


@pytest.mark.parametrize("part", ["ty", "y", "ally"])
def test_files_of_different_sets(tmp_path: Path, part: str) -> None:
    write_files(tmp_path, "toy", **{part: one_hot(0, 1, 2, 3, 0)})
    with pytest.raises(InputError, match="do not belong together"):
        planetoid.read_planetoid(tmp_path, "toy")


def test_a_test_index_that_is_not_numbers(tmp_path: Path) -> None:
    write_files(tmp_path, "toy")
    (tmp_path / "ind.toy.test.index").write_text("six\n")
    with pytest.raises(InputError, match=r"test\.index is not a list of node numbers"):
        planetoid.read_planetoid(tmp_path, "toy")


def check_nell(folder: Path) -> None:
    graph, split = planetoid.read_nell(folder)
    assert [part.tolist() for part in (split.train, split.validation, split.test)] == [[0, 1], [2, 3], [4, 6]]
    assert graph.truth.tolist() == [0, 1, 1, 0, 0, -1, 1]
    assert graph.class_names == ("0", "2")
    assert sp.issparse(graph.features)
    assert graph.features.toarray()[[4, 5, 6]].tolist() == [[11, 12, 0], [0, 0, 1], [9, 10, 0]]


def test_nell_by_hand_with_all_labels(tmp_path: Path) -> None:
    write_files(tmp_path, "nell.0.001")
    check_nell(tmp_path)


def test_nell_by_hand_with_recovered_labels(tmp_path: Path) -> None:
    write_files(tmp_path, "nell.0.001", ally=None)
    with pytest.raises(InputError, match=r"put ind\.nell\.0\.001\.ally"):
        planetoid.read_nell(tmp_path)
    np.savez(tmp_path / "recovered_labels.npz", node=np.array([2, 3], np.int32), label=np.array([2, 0], np.int16))
    check_nell(tmp_path)
