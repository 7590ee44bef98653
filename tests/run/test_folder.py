"""The run folder: complete, atomic, never overwriting; loaded, it predicts and explains as the run did."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.torch import load_file, save_file

from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError, UnwritableError
from hiergcn.files import DIGITS
from hiergcn.graph import Graph, Split
from hiergcn.run.fit import fit
from hiergcn.run.out_folder import check_free, write_manifest
from hiergcn.run.predict import explain, predictions_again
from hiergcn.run.run import Run
from hiergcn.run.source import Source
from hiergcn.settings.settings import settings_for

FILES = {
    "config.json", "metrics.json", "history.csv", "predictions.csv", "probabilities.npy", "hierarchy.npz",
    "model.safetensors", "environment.json", "votes.npz", "manifest.json",
}  # fmt: skip


@pytest.fixture(scope="module")
def graph() -> Graph:
    planted = planted_graph(120, seed=3)
    ids = np.array([f"node {i}" for i in range(120)], dtype=object)
    return Graph(planted.adjacency, planted.features, planted.labels, ids, ("a", "b", "c", "d"), "mine")


@pytest.fixture(scope="module")
def result(graph: Graph) -> Run:
    settings = settings_for("hgcn", "paper").override({"levels": 2, "hidden": 8, "epochs": 5})
    return fit(graph, Split.random(graph.truth, per_class=5, validation=30, seed=0), settings, [0, 1], device="cpu")


@pytest.fixture
def folder(result: Run, tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()  # empty, so it may be used
    result.from_source({"command": "hiergcn fit"}).write(tmp_path / "run")
    return tmp_path / "run"


def test_files_of_the_folder(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == FILES
    assert [path.name for path in folder.parent.iterdir()] == ["run"]


def test_load(folder: Path, result: Run) -> None:
    run = Run.load(folder)
    assert run.settings == result.settings
    assert run.scores == json.loads(json.dumps(result.metrics()))
    assert run.config["source"] == {"command": "hiergcn fit"}
    assert np.array_equal(run.probabilities, result.probabilities)
    assert all(
        np.array_equal(run.members[0].weights[name].numpy(), value.numpy())
        for name, value in result.members[0].weights.items()
    )
    pd.testing.assert_frame_equal(run.history, result.history, rtol=1e-12)
    assert run.hierarchy is not None
    assert result.hierarchy is not None
    assert run.hierarchy.sizes() == result.hierarchy.sizes()
    assert run.votes is not None
    assert result.votes is not None
    assert np.array_equal(run.votes.shares.toarray(), result.votes.shares.toarray())


@pytest.fixture(scope="module")
def other(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of another run on the same graph."""
    folder = tmp_path_factory.mktemp("other") / "run"
    fit(graph, model="hgcn", changes={"epochs": 2, "levels": 3}, device="cpu", seeds=[7]).write(folder)
    return folder


@pytest.mark.parametrize("name", sorted(FILES - {"manifest.json", "environment.json"}))
def test_a_file_of_another_run_is_named(folder: Path, other: Path, name: str) -> None:
    """Swapped files once ended in a KeyError, or in a page with the figures of two runs."""
    (folder / name).write_bytes((other / name).read_bytes())
    with pytest.raises(InputError, match=rf"{name} is not the file that was written with the others"):
        Run.load(folder)


def test_the_tables_for_people_may_be_filled_in(folder: Path, result: Run, tmp_path: Path) -> None:
    table = pd.DataFrame({"id": ["node 1"], "reason": ["why not"], "label": [""]})
    replace(result, advice={"suggestions.csv": table}).write(tmp_path / "advised")
    (tmp_path / "advised" / "suggestions.csv").write_text("id,reason,label\nnode 1,why not,a\n")
    assert Run.load(tmp_path / "advised").scores["seeds"] == [0, 1]


def test_a_folder_of_a_newer_version_is_refused(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"format": "hiergcn run 99"}))
    with pytest.raises(InputError, match=r"written by a newer hiergcn \(hiergcn run 99\); update hiergcn"):
        Run.load(folder)


def test_files_that_do_not_belong_together_are_refused(folder: Path, result: Run) -> None:
    np.save(folder / "probabilities.npy", result.probabilities[:50])
    write_manifest(folder)
    with pytest.raises(InputError, match=r"predictions\.csv is of another run: it has 120 nodes"):
        Run.load(folder)
    np.save(folder / "probabilities.npy", result.probabilities[:, :3])
    write_manifest(folder)
    with pytest.raises(InputError, match=r"probabilities\.npy is damaged or of another run: it has 3 columns"):
        Run.load(folder)


def test_predictions_are_by_the_users_ids(folder: Path, graph: Graph, result: Run) -> None:
    table = pd.read_csv(folder / "predictions.csv", keep_default_na=False)
    assert list(table.columns) == ["id", "predicted", "probability", "confidence", "given", "label", "split"]
    assert list(table["id"]) == list(graph.ids)
    assert list(table["predicted"]) == [graph.class_names[k] for k in result.predicted]
    assert (table["given"] == table["split"].isin(["train", "validation"])).all()
    assert (table["split"] == "train").sum() == 20
    assert (table["split"] == "validation").sum() == 30


HANDLES = np.array([f"{'@=+-'[i % 4]}{i}x" for i in range(120)], dtype=object)


@pytest.mark.parametrize("spreadsheet", [False, True])
def test_ids_are_written_exactly_unless_a_spreadsheet_is_to_open_them(
    result: Run, tmp_path: Path, spreadsheet: bool
) -> None:
    mine = replace(result, table=result.table.assign(id=HANDLES))
    mine.from_source({}, spreadsheet=spreadsheet).write(tmp_path / "run")
    written = pd.read_csv(tmp_path / "run" / "predictions.csv", dtype=str)["id"].tolist()
    assert written == [f"'{name}" if spreadsheet else name for name in HANDLES]
    assert Run.load(tmp_path / "run").table["id"].tolist() == HANDLES.tolist()


def test_a_diverged_seed_loads(result: Run, tmp_path: Path) -> None:
    last = pd.DataFrame({"seed": [2], "epoch": [1]} | {key: [np.nan] for key in result.history.columns[2:]})
    replace(result, history=pd.concat([result.history, last])).write(tmp_path / "run")
    assert Run.load(tmp_path / "run").history.iloc[-1, 2:].isna().all()


def test_nothing_is_overwritten(folder: Path, result: Run) -> None:
    before = (folder / "metrics.json").read_bytes()
    with pytest.raises(InputError, match="already holds files"):
        result.write(folder)
    assert (folder / "metrics.json").read_bytes() == before
    with pytest.raises(InputError, match="is a file"):
        check_free(folder / "metrics.json")
    with pytest.raises(InputError, match="There is no run folder"):
        Run.load(folder / "nowhere")


def test_a_failure_leaves_nothing_behind(result: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("hiergcn.run.run.save_file", full)
    with pytest.raises(UnwritableError, match=r"/run cannot be written \(no space left\); make room"):
        result.write(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_missing_or_damaged_file_is_an_input_error(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"\x00garbage")
    if name != "manifest.json":
        write_manifest(folder)
    if name not in ("history.csv", "predictions.csv", "environment.json"):
        with pytest.raises(InputError):
            Run.load(folder)
    (folder / name).unlink()
    with pytest.raises(InputError, match=rf"{name} is missing"):
        Run.load(folder)


def test_weights_that_are_no_numbers(folder: Path) -> None:
    """A page and predictions were once made with them."""
    weights = load_file(folder / "model.safetensors")
    first = min(weights)
    weights[first] = weights[first] * np.nan
    save_file(weights, folder / "model.safetensors")
    write_manifest(folder)
    with pytest.raises(InputError, match=r"model\.safetensors holds weights that are not numbers"):
        Run.load(folder)


@pytest.mark.parametrize(("name", "key"), [("config.json", "columns"), ("metrics.json", "calibration")])
def test_a_missing_key_is_named(folder: Path, name: str, key: str) -> None:
    content = json.loads((folder / name).read_text(encoding="utf-8"))
    del content[key]
    (folder / name).write_text(json.dumps(content), encoding="utf-8")
    write_manifest(folder)
    with pytest.raises(InputError, match=f"damaged .*{key}"):
        Run.load(folder)


def test_keep_graph(result: Run, graph: Graph, tmp_path: Path) -> None:
    result.from_source({"python": "NodeClassifier()"}).write(tmp_path / "run")
    run = Run.load(tmp_path / "run")
    assert run.graph_file == tmp_path / "run" / "graph.npz"
    again = Source.of_run(run).read().graph
    assert len(predictions_again(run, again, "cpu")) == graph.n_nodes


def test_predictions_again(folder: Path, result: Run, graph: Graph) -> None:
    run = Run.load(folder)
    for model in (run.model, result.model):
        np.testing.assert_allclose(model.predict_proba(graph, "cpu"), run.probabilities, rtol=1e-5)
    written = 10.0**-DIGITS  # what the table was rounded to when it was written
    pd.testing.assert_frame_equal(predictions_again(run, graph, "cpu"), run.table, rtol=0, atol=written)


def test_predictions_of_batches_again(graph: Graph, tmp_path: Path) -> None:
    """The whole graph has edges that the batches lack, so it gives others."""
    changes = {"levels": 2, "hidden": 8, "epochs": 5, "batches": 4, "batch_validation": True}
    fit(graph, settings=settings_for("hgcn", "paper").override(changes), device="cpu").write(tmp_path / "run")
    run = Run.load(tmp_path / "run")
    pd.testing.assert_frame_equal(predictions_again(run, graph, "cpu"), run.table)
    assert not np.allclose(run.model.predict_proba(graph, "cpu"), run.probabilities, rtol=0, atol=1e-5)


def test_explanation_adds_up_to_the_score(folder: Path, graph: Graph) -> None:
    run = Run.load(folder)
    told = explain(run, graph, "node 7", top=200, device="cpu")
    assert told.predicted == told.explained == run.table["predicted"][7]
    change = told.score - told.without - told.missed
    assert sum(part.share for part in told.nodes) == pytest.approx(change, abs=1e-4)
    assert sum(part.share for part in told.features) == pytest.approx(change, abs=1e-4)
    assert sum(told.hops.values()) == pytest.approx(change, abs=1e-4)
    assert [group.level for group in told.hyper_nodes] == [1, 2]
    assert all("node 7" in group.members or group.size > len(group.members) for group in told.hyper_nodes)
    other = next(name for name in graph.class_names if name != told.predicted)
    assert explain(run, graph, "node 7", class_=other, device="cpu").explained == other


def test_a_folder_without_graph_and_source(folder: Path) -> None:
    with pytest.raises(InputError, match="does not say where its graph came from"):
        Source.of_run(Run.load(folder))
