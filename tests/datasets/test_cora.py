"""The embedded Cora is the published one, to the last entry."""

from importlib.resources import files
from pathlib import Path

import numpy as np

from hiergcn import Graph
from hiergcn.datasets import load_dataset
from hiergcn.datasets.planetoid_files import read_planetoid


def test_cora_needs_no_files(bare: Path) -> None:
    cora = load_dataset("cora")
    cora.split.check(cora.graph)
    assert repr(cora.graph) == "Graph('cora', nodes=2708, edges=5278, features=1433, classes=7, labelled=2708)"
    assert repr(cora.split) == "Split(train=140, validation=500, test=1000)"
    assert np.bincount(cora.graph.truth[cora.split.train]).tolist() == [20] * 7
    assert cora.graph.ids[0] == 1110563  # a LINQS paper id
    assert not bare.exists()


def test_cora_is_planetoids_cora(published: Path) -> None:
    ours = load_dataset("cora")
    theirs, split = read_planetoid(published / "planetoid", "cora")
    for part in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(ours.graph.adjacency, part), getattr(theirs.adjacency, part))
        assert np.array_equal(getattr(ours.graph.features, part), getattr(theirs.features, part))
    assert np.array_equal(ours.graph.labels, theirs.labels)  # type: ignore[arg-type]
    for part in ("train", "validation", "test"):
        assert np.array_equal(getattr(ours.split, part), getattr(split, part))


def test_the_embedded_file_is_small_and_written_anew_byte_for_byte(tmp_path: Path) -> None:
    embedded = Path(str(files("hiergcn.datasets").joinpath("cora.npz")))
    assert embedded.stat().st_size < 250_000
    for name in ("again.npz", "third.npz"):
        Graph.from_npz(embedded).to_npz(tmp_path / name)
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "third.npz").read_bytes()
    with np.load(embedded) as parts, np.load(tmp_path / "again.npz") as again:
        assert all(np.array_equal(again[name], parts[name]) for name in parts.files)
