"""The npz file of a graph: exact, without pickle, and refused where it is damaged."""

import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from hiergcn.errors import InputError
from hiergcn.graph import Graph
from hiergcn.graph.formats.npz_graph import read_masks

IDS = np.array(["a\x00", "b", "ç"], dtype=object)  # numpy's own text would drop the zero


@pytest.fixture
def graph() -> Graph:
    features = sp.csr_array(np.eye(3))
    return Graph.from_edges([0, 1, 1], [1, 2, 1], features=features, labels=[0, -1, 1], ids=IDS)


def test_exact(graph: Graph, tmp_path: Path) -> None:
    graph.to_npz(tmp_path / "g.npz")
    again = Graph.from_npz(str(tmp_path / "g.npz"))
    assert again.ids.tolist() == ["a\x00", "b", "ç"]
    assert again.notes == ("self-loops dropped: 1",)
    assert again.adjacency.indices.dtype == np.int32
    table = Graph.from_table(pd.DataFrame({"size": [1.0, 2.0], "colour": ["red", "blue"]}))
    table.to_npz(tmp_path / "table.npz")
    assert Graph.from_npz(tmp_path / "table.npz").columns == table.columns
    loops = Graph.from_scipy(sp.csr_array(np.array([[1.5, 1.0], [1.0, 0.0]])))
    loops.to_npz(tmp_path / "loops.npz")
    assert Graph.from_npz(tmp_path / "loops.npz").adjacency.toarray().tolist() == [[1.5, 1], [1, 0]]


def rewritten(path: Path, **changes: Any) -> Path:
    with np.load(path, allow_pickle=False) as parts:
        content = {name: parts[name] for name in parts} | changes
    np.savez(path, **{name: value for name, value in content.items() if value is not None})
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"adjacency_indices": np.array([7, 0, 2, 1])}, "is not a graph in npz form"),
        ({"adjacency_indices": np.array([1j, 0, 2, 1])}, "the places of entries of adjacency are no whole numbers"),
        ({"adjacency_data": None}, "is not a graph in npz form"),
        ({"adjacency_data": np.array([1.0, 1, 2, 1])}, "adjacency is not symmetric"),
        ({"labels": np.array([0, -7, 1])}, "Node 1 has label -7"),
        ({"about": np.frombuffer(b"{}", np.uint8)}, "is not a graph in npz form"),
        ({"about": np.frombuffer(b"no json", np.uint8)}, "is not a graph in npz form"),
        ({"about": np.frombuffer(json.dumps({"format": "hiergcn graph 9"}).encode(), np.uint8)}, "'hiergcn graph 9'"),
        ({"about": None}, "not a graph in npz form: it holds adjacency_data"),
        ({"labels": np.array([{}, {}, {}])}, "is not a graph in npz form"),
    ],
)
def test_damage_is_explained(graph: Graph, tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    graph.to_npz(tmp_path / "g.npz")
    with pytest.raises(InputError, match=message) as error:
        Graph.from_npz(rewritten(tmp_path / "g.npz", **changes))
    assert "g.npz" in str(error.value)


def test_files_of_other_kinds(tmp_path: Path) -> None:
    path = tmp_path / "f.npz"
    for content in (b"", b"text", b"PK\x03\x04 cut"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"f\.npz"):
            Graph.from_npz(path)
    with path.open("wb") as stream:
        np.save(stream, np.ones(3))
    with pytest.raises(InputError, match="holds a single array"):
        Graph.from_npz(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hello.txt", "hi")
    with pytest.raises(InputError, match="it holds hello"):
        Graph.from_npz(path)
    with pytest.raises(InputError, match="cannot be read"):
        Graph.from_npz(tmp_path / "none.npz")


def test_a_pickled_file_is_refused_without_advice_to_load_it(tmp_path: Path) -> None:
    """numpy's own message advises to load the file unsafely."""
    (tmp_path / "p.npz").write_bytes(pickle.dumps({"a": 1}))
    np.savez(tmp_path / "o.npz", about=np.array([{"a": 1}], dtype=object))
    for name in ("p.npz", "o.npz"):
        with pytest.raises(InputError, match=r"holds Python objects, which could run code\); get the original"):
            Graph.from_npz(tmp_path / name)


def test_arrays_larger_than_memory_are_refused(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**14,)})
    with zipfile.ZipFile(tmp_path / "large.npz", "w") as archive:
        archive.writestr("about.npy", header.getvalue())
    with pytest.raises(InputError, match=r"large\.npz claims arrays larger than the memory"):
        Graph.from_npz(tmp_path / "large.npz")


def test_each_row_of_masks_is_a_split(tmp_path: Path) -> None:
    train = np.array([[1, 0, 0, 0], [0, 0, 0, 1]], dtype=bool)
    validation = np.array([[0, 1, 0, 0], [1, 0, 0, 0]], dtype=bool)
    np.savez(tmp_path / "graph.npz", train_masks=train, validation_masks=validation, test_masks=~(train | validation))
    first, second = read_masks(tmp_path / "graph.npz")
    assert [part.tolist() for part in (first.train, first.validation, first.test)] == [[0], [1], [2, 3]]
    assert [part.tolist() for part in (second.train, second.validation, second.test)] == [[3], [0], [1, 2]]
    np.savez(tmp_path / "graph.npz", train_masks=train)
    with pytest.raises(InputError, match=r"graph\.npz has no masks of splits"):
        read_masks(tmp_path / "graph.npz")
