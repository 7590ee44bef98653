"""Data of the explorer: it can be unpacked, and is reduced for large graphs."""

import base64
import json
import zlib
from pathlib import Path

import numpy as np
import pytest

from hiergcn.coarsen.receptive_field import receptive_field_sizes
from hiergcn.datasets import planted_graph
from hiergcn.graph import Split
from hiergcn.report import explorer
from hiergcn.report.explorer import ExplorerData
from hiergcn.report.figures import principal_components
from hiergcn.report.graph_layout import layout
from hiergcn.report.tree import Tree
from hiergcn.run.fit import fit
from hiergcn.run.folder import LoadedRun, load_run, write_run
from hiergcn.run.settings import settings_for

COLOURS = ["#111111", "#222222", "#333333"]
TYPES = {"u1": np.uint8, "u2": np.uint16, "u4": np.uint32, "f4": np.float32}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> LoadedRun:
    graph = planted_graph(300, classes=3, depth=3, seed=1)
    assert graph.labels is not None
    settings = settings_for("hgcn", "paper").override({"epochs": 3, "hidden": 8, "levels": 2})
    path = tmp_path_factory.mktemp("explorer") / "run"
    write_run(fit(graph, Split.holdout(graph.labels), settings, [0], device="cpu"), path)
    return load_run(path)


def data_of(run: LoadedRun) -> ExplorerData:
    assert run.hierarchy is not None
    tree = Tree.of(run.hierarchy)
    return explorer.explorer_data(run, tree, layout(tree), COLOURS)


def unpacked(data: ExplorerData) -> dict[str, np.ndarray]:
    content = zlib.decompress(base64.b64decode(data.arrays))
    arrays, offset = {}, 0
    for name, kind, length in data.manifest["arrays"]:
        arrays[name] = np.frombuffer(content, TYPES[kind], length, offset)
        offset += arrays[name].nbytes
    assert offset == len(content)
    return arrays


def test_predictions_and_ids_are_those_of_the_run(run: LoadedRun) -> None:
    data = data_of(run)
    arrays = unpacked(data)
    ids = json.loads(zlib.decompress(base64.b64decode(data.ids)))
    table = run.predictions.set_index("id").loc[ids]
    names = np.array(run.config["class_names"])
    assert (names[arrays["class0"]] == table["predicted"]).all()
    np.testing.assert_allclose(arrays["probability0"] / 65535, table["confidence"], atol=1e-4)
    assert (names[arrays["label"].astype(int) - 1] == table["label"]).all()
    assert (np.array(explorer.PARTS)[arrays["part"]] == table["split"]).all()


def test_edges_are_those_of_the_graph(run: LoadedRun) -> None:
    data = data_of(run)
    assert run.hierarchy is not None
    arrays = unpacked(data)
    ids = [int(name) for name in json.loads(zlib.decompress(base64.b64decode(data.ids)))]
    source = np.cumsum(arrays["source0"], dtype=np.int64)
    target = source + arrays["target0"]
    found = {frozenset((ids[a], ids[b])) for a, b in zip(source, target, strict=True)}
    rows, columns = run.hierarchy.levels[0].adjacency.nonzero()
    assert found == {frozenset((int(a), int(b))) for a, b in zip(rows, columns, strict=True)}


def test_votes_are_those_of_the_run(run: LoadedRun) -> None:
    data = data_of(run)
    arrays = unpacked(data)
    assert data.manifest["votes"]
    assert run.votes is not None
    ids = np.array([int(name) for name in json.loads(zlib.decompress(base64.b64decode(data.ids)))])
    shares = run.votes.shares.toarray()
    source = np.cumsum(arrays["source0"], dtype=np.int64)
    target = source + arrays["target0"]
    np.testing.assert_allclose(arrays["toSource"], shares[ids[source], ids[target]])
    np.testing.assert_allclose(arrays["toTarget"], shares[ids[target], ids[source]])
    np.testing.assert_allclose(arrays["own"], shares.diagonal()[ids])
    np.testing.assert_allclose(arrays["byHyperNodes"], run.votes.by_hyper_nodes[ids])


def test_large_graphs_keep_fewer_edges_and_classes(run: LoadedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorer, "WHOLE_EDGES", 100)
    monkeypatch.setattr(explorer, "LARGE", 200)
    data = data_of(run)
    assert not data.manifest["votes"]  # the votes along dropped edges would be missing
    level = data.manifest["levels"][0]
    assert 150 <= level["kept"] <= 300 < level["edges"]  # the strongest edge of each of 300 nodes
    assert data.manifest["keptClasses"] == 2
    assert unpacked(data)["probability0"].dtype == np.uint8


def test_more_levels_give_a_larger_receptive_field(run: LoadedRun) -> None:
    assert run.hierarchy is not None
    reached = receptive_field_sizes(run.hierarchy)
    assert reached.shape[0] == 3
    adjacency = run.hierarchy.levels[0].adjacency
    some = np.linspace(0, 299, reached.shape[1]).astype(int)
    np.testing.assert_array_equal(
        reached[0], np.diff(adjacency.indptr)[some] + 1
    )  # one convolution: the node and its neighbours
    assert (np.diff(reached, axis=0) >= 0).all()
    assert reached.max() <= 300


def test_the_scripts_need_no_library_and_are_small() -> None:
    for name in ("explorer", "page"):
        text = (Path(explorer.__file__).with_name("static") / f"{name}.js").read_text(encoding="utf-8")
        assert len(text) < 60_000
        assert "</script" not in text
        assert "http" not in text
    lock = Path(__file__).parents[2] / "explorer" / "package-lock.json"
    if lock.exists():  # a source distribution may leave it out
        packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
        assert not [name for name, package in packages.items() if "resolved" in package]
        assert all(package.get("dev") for name, package in packages.items() if name)


def test_nodes_have_places_by_their_probabilities(run: LoadedRun) -> None:
    data = data_of(run)
    arrays = unpacked(data)
    assert data.manifest["places"] == [("prediction", "prediction", 0.0)]
    ids = [int(name) for name in json.loads(zlib.decompress(base64.b64decode(data.ids)))]
    expected = principal_components(run.probabilities)[ids]
    wide = np.ptp(expected, axis=0).max()
    for axis, values in zip("XY", expected.T, strict=True):
        np.testing.assert_allclose(arrays[f"prediction{axis}"] / 65535, (values - values.min()) / wide, atol=1e-4)
