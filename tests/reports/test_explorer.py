"""Data of the explorer: it can be unpacked, and is reduced for large graphs."""

import base64
import json
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hiergcn.datasets import planted_graph
from hiergcn.graph import Split
from hiergcn.graph.coordinates import Coordinates
from hiergcn.reports import explorer
from hiergcn.reports.explorer import ExplorerData, Tree, layout, principal_components
from hiergcn.run.fit import fit
from hiergcn.run.run import DOUBTFUL, Run
from hiergcn.settings.settings import settings_for

COLOURS = ["#111111", "#222222", "#333333"]
TYPES = {"u1": np.uint8, "u2": np.uint16, "u4": np.uint32, "f4": np.float32}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    graph = planted_graph(300, classes=3, depth=3, seed=1)
    settings = settings_for("hgcn", "paper").override({"epochs": 3, "hidden": 8, "levels": 2})
    path = tmp_path_factory.mktemp("explorer") / "run"
    fit(graph, Split.holdout(graph.truth), settings, [0], device="cpu").write(path)
    return Run.load(path)


def data_of(run: Run) -> ExplorerData:
    assert run.hierarchy is not None
    tree = Tree.from_hierarchy(run.hierarchy, len(run.hierarchy.levels))
    return explorer.explorer_data(run, tree, layout(tree), COLOURS)


def unpacked(data: ExplorerData) -> dict[str, np.ndarray]:
    content = zlib.decompress(base64.b64decode(data.arrays))
    arrays, offset = {}, 0
    for name, kind, length in data.manifest["arrays"]:
        arrays[name] = np.frombuffer(content, TYPES[kind], length, offset)
        offset += arrays[name].nbytes
    assert offset == len(content)
    return arrays


def placed(arrays: dict[str, np.ndarray], name: str) -> np.ndarray:
    """Return an array of places, which are packed as differences, as shares of the unit square."""
    return np.cumsum(arrays[name], dtype=np.uint16) / 65535


def test_predictions_edges_and_votes_are_those_of_the_run(run: Run) -> None:
    data = data_of(run)
    arrays = unpacked(data)
    ids = json.loads(zlib.decompress(base64.b64decode(data.ids)))
    table = run.table.set_index("id").loc[ids]
    names = np.array(run.config["class_names"])
    assert (names[arrays["class0"]] == table["predicted"]).all()
    np.testing.assert_allclose(arrays["probability0"] / 65535, table["confidence"], atol=1e-4)
    assert (names[arrays["label"].astype(int) - 1] == table["label"]).all()
    assert (np.array(explorer.PARTS)[arrays["part"]] == table["split"]).all()

    nodes = np.array(ids, dtype=int)
    source = np.cumsum(arrays["source0"], dtype=np.int64)
    target = source + arrays["target0"]
    assert run.hierarchy is not None
    rows, columns = run.hierarchy.levels[0].adjacency.nonzero()
    edges = {frozenset(pair) for pair in zip(nodes[source].tolist(), nodes[target].tolist(), strict=True)}
    assert edges == {frozenset(pair) for pair in zip(rows.tolist(), columns.tolist(), strict=True)}

    assert data.manifest["votes"]
    assert run.votes is not None
    shares = run.votes.shares.toarray()
    np.testing.assert_allclose(arrays["toSource"], shares[nodes[source], nodes[target]])
    np.testing.assert_allclose(arrays["toTarget"], shares[nodes[target], nodes[source]])
    np.testing.assert_allclose(arrays["own"], shares.diagonal()[nodes])
    np.testing.assert_allclose(arrays["byHyperNodes"], run.votes.by_hyper_nodes[nodes])


def test_large_graphs_keep_fewer_edges_and_classes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorer, "WHOLE_EDGES", 100)
    monkeypatch.setattr(explorer, "LARGE", 200)
    data = data_of(run)
    assert not data.manifest["votes"]  # the votes along dropped edges would be missing
    level = data.manifest["levels"][0]
    assert 150 <= level["kept"] <= 300 < level["edges"]  # the strongest edge of each of 300 nodes
    assert data.manifest["keptClasses"] == 2
    assert "x0" not in unpacked(data)  # the script places the nodes of a large graph
    assert "predictionX" not in unpacked(data)
    assert unpacked(data)["probability0"].dtype == np.uint8


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


def test_nodes_have_places_by_their_probabilities(run: Run) -> None:
    data = data_of(run)
    arrays = unpacked(data)
    assert data.manifest["places"] == [("prediction", "prediction", 0.0)]
    ids = [int(name) for name in json.loads(zlib.decompress(base64.b64decode(data.ids)))]
    expected = principal_components(run.probabilities)[ids]
    wide = np.ptp(expected, axis=0).max()
    for axis, values in zip("XY", expected.T, strict=True):
        np.testing.assert_allclose(placed(arrays, f"prediction{axis}"), (values - values.min()) / wide, atol=1e-4)


def test_nodes_with_coordinates_stand_on_a_map(run: Run) -> None:
    places = np.column_stack([np.arange(300.0), 2 * np.arange(300.0)])
    places[7] = np.nan  # an unknown place is among the neighbours
    data = data_of(replace(run, coordinates=Coordinates(places)))
    assert data.manifest["places"][0] == ("map", "map", 0.0)
    arrays = unpacked(data)
    ids = np.array([int(name) for name in json.loads(zlib.decompress(base64.b64decode(data.ids)))])
    known = ids != 7
    np.testing.assert_allclose(placed(arrays, "mapX")[known], ids[known] / 598, atol=1e-4)
    np.testing.assert_allclose(placed(arrays, "mapY")[known], 2 * ids[known] / 598, atol=1e-4)
    assert run.hierarchy is not None
    near = run.hierarchy.levels[0].adjacency[[7]].indices
    assert placed(arrays, "mapX")[~known][0] == pytest.approx(near.mean() / 598, abs=1e-4)


def test_doubtful_labels_and_suggestions_are_marked_by_rank(run: Run) -> None:
    data = data_of(replace(run, advice={DOUBTFUL: pd.DataFrame({"id": ["41", "7"]})}))
    ids = json.loads(zlib.decompress(base64.b64decode(data.ids)))
    doubt = unpacked(data)["doubt"]
    assert doubt[ids.index("41")] == 1
    assert doubt[ids.index("7")] == 2
    assert doubt.sum() == 3
    assert "suggested" not in unpacked(data)
