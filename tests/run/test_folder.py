"""The run folder: complete, atomic, loadable, never overwriting."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.torch import load_file, save_file

from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError, UnwritableError
from hiergcn.graph import Graph, Split
from hiergcn.report import write_report
from hiergcn.run.fit import fit
from hiergcn.run.folder import ADDED, load_run, write_run
from hiergcn.run.out_folder import check_free
from hiergcn.run.predict import predictions_again
from hiergcn.run.result import RunResult
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
def result(graph: Graph) -> RunResult:
    assert graph.labels is not None
    settings = settings_for("hgcn", "paper").override({"levels": 2, "hidden": 8, "epochs": 5})
    return fit(graph, Split.random(graph.labels, per_class=5, validation=30, seed=0), settings, [0, 1], device="cpu")


@pytest.fixture
def folder(result: RunResult, tmp_path: Path) -> Path:
    write_run(result, tmp_path / "run", {"command": "hiergcn fit"})
    return tmp_path / "run"


@pytest.fixture
def older(folder: Path) -> Path:
    """A folder as earlier versions wrote it, without digests."""
    (folder / "manifest.json").unlink()
    return folder


def test_files_of_the_folder(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == FILES
    assert [path.name for path in folder.parent.iterdir()] == ["run"]


def test_load(folder: Path, result: RunResult) -> None:
    run = load_run(folder)
    assert run.settings == result.settings
    assert run.metrics == json.loads(json.dumps(result.metrics()))
    assert run.config["source"] == {"command": "hiergcn fit"}
    assert np.array_equal(run.probabilities, result.probabilities)
    assert all(np.array_equal(run.weights[name].numpy(), value.numpy()) for name, value in result.weights.items())
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
    write_run(fit(graph, model="hgcn", changes={"epochs": 2, "levels": 3}, device="cpu", seeds=[7]), folder)
    return folder


@pytest.mark.parametrize("name", sorted(FILES - {"manifest.json", "environment.json"}))
def test_a_file_of_another_run_is_named(folder: Path, other: Path, name: str) -> None:
    """Swapped files once ended in a KeyError, or in a page with the figures of two runs."""
    (folder / name).write_bytes((other / name).read_bytes())
    with pytest.raises(InputError, match=rf"{name} is not the file that was written with the others"):
        load_run(folder)


def test_the_tables_for_people_may_be_filled_in(folder: Path, result: RunResult, tmp_path: Path) -> None:
    table = pd.DataFrame({"id": ["node 1"], "reason": ["why not"], "label": [""]})
    write_run(replace(result, suggestions=table), tmp_path / "advised")
    (tmp_path / "advised" / "suggestions.csv").write_text("id,reason,label\nnode 1,why not,a\n")
    assert load_run(tmp_path / "advised").metrics["seeds"] == [0, 1]


def test_a_folder_of_a_newer_version_is_refused(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"format": "hiergcn run 99"}))
    with pytest.raises(InputError, match=r"written by a newer hiergcn \(hiergcn run 99\); update hiergcn"):
        load_run(folder)


def test_an_older_folder_loads_if_its_files_belong_together(older: Path, result: RunResult, tmp_path: Path) -> None:
    assert load_run(older).metrics["seeds"] == [0, 1]
    metrics = json.loads((older / "metrics.json").read_text())
    (older / "metrics.json").write_text(json.dumps({name: metrics[name] for name in metrics.keys() - ADDED.keys()}))
    write_report(older)  # without what versions since have added
    np.save(older / "probabilities.npy", result.probabilities[:50])
    with pytest.raises(InputError, match=r"predictions\.csv is of another run: it has 120 nodes"):
        load_run(older)
    np.save(older / "probabilities.npy", result.probabilities[:, :3])
    with pytest.raises(InputError, match=r"probabilities\.npy is damaged or of another run: it has 3 columns"):
        load_run(older)


def test_an_older_network_that_knows_rows_is_refused(graph: Graph, tmp_path: Path) -> None:
    pytest.importorskip("gensim", reason="gensim is not installed")
    write_run(fit(graph, model="deepwalk", device="cpu"), tmp_path / "run")
    (tmp_path / "run" / "manifest.json").unlink()
    with pytest.raises(InputError, match="earlier hiergcn, in which deepwalk knew nodes by the order of their rows"):
        load_run(tmp_path / "run")


def test_damaged_votes(older: Path) -> None:
    folder = older
    (folder / "votes.npz").write_bytes((folder / "votes.npz").read_bytes()[:300])
    with pytest.raises(InputError, match="damaged"):
        load_run(folder)


def test_history_without_its_last_rows(older: Path) -> None:
    folder = older
    rows = (folder / "history.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "history.csv").write_text("".join(rows[:-2]), encoding="utf-8")
    with pytest.raises(InputError, match=r"history\.csv has lost rows"):
        load_run(folder)


def test_predictions_are_by_the_users_ids(folder: Path, graph: Graph, result: RunResult) -> None:
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
    result: RunResult, tmp_path: Path, spreadsheet: bool
) -> None:
    mine = replace(result, graph=replace(result.graph, ids=HANDLES))
    write_run(mine, tmp_path / "run", spreadsheet=spreadsheet)
    written = pd.read_csv(tmp_path / "run" / "predictions.csv", dtype=str)["id"].tolist()
    assert written == [f"'{name}" if spreadsheet else name for name in HANDLES]
    assert load_run(tmp_path / "run").predictions["id"].tolist() == HANDLES.tolist()


def test_runs_of_older_versions_have_escaped_ids(result: RunResult, tmp_path: Path) -> None:
    """They always escaped, and their config.json does not say so."""
    write_run(replace(result, graph=replace(result.graph, ids=HANDLES)), tmp_path / "run", spreadsheet=True)
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    del config["spreadsheet_safe"]
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    (tmp_path / "run" / "manifest.json").unlink()
    assert load_run(tmp_path / "run").predictions["id"].tolist() == HANDLES.tolist()


def test_a_diverged_seed_loads(result: RunResult, tmp_path: Path) -> None:
    last = pd.DataFrame({"seed": [2], "epoch": [1]} | {key: [np.nan] for key in result.history.columns[2:]})
    write_run(replace(result, history=pd.concat([result.history, last])), tmp_path / "run")
    assert load_run(tmp_path / "run").history.iloc[-1, 2:].isna().all()


def test_nothing_is_overwritten(folder: Path, result: RunResult) -> None:
    before = (folder / "metrics.json").read_bytes()
    with pytest.raises(InputError, match="already holds files"):
        write_run(result, folder)
    assert (folder / "metrics.json").read_bytes() == before
    with pytest.raises(InputError, match="is a file"):
        check_free(folder / "metrics.json")


def test_an_empty_folder_may_be_used(result: RunResult, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write_run(result, tmp_path / "empty")
    assert {path.name for path in (tmp_path / "empty").iterdir()} == FILES


def test_a_failure_leaves_nothing_behind(result: RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("hiergcn.run.folder.save_file", full)
    with pytest.raises(UnwritableError, match=r"/run cannot be written \(no space left\); make room"):
        write_run(result, tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", sorted(FILES - {"manifest.json"}))
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(InputError, match=rf"{name} is missing"):
        load_run(folder)


@pytest.mark.parametrize("name", sorted(FILES - {"history.csv", "predictions.csv"}))
def test_a_damaged_file_is_an_input_error(folder: Path, name: str) -> None:
    if name != "manifest.json":
        (folder / "manifest.json").unlink()
    (folder / name).write_bytes(b"\x00garbage")
    with pytest.raises(InputError):
        load_run(folder)


def test_weights_that_are_no_numbers(older: Path) -> None:
    """A page and predictions were once made with them."""
    weights = load_file(older / "model.safetensors")
    first = min(weights)
    weights[first] = weights[first] * np.nan
    save_file(weights, older / "model.safetensors")
    with pytest.raises(InputError, match=r"model\.safetensors holds weights that are not numbers"):
        load_run(older)


@pytest.mark.parametrize("name", ["history.csv", "predictions.csv"])
def test_a_truncated_table(older: Path, name: str) -> None:
    folder = older
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[:-4])
    with pytest.raises(InputError, match=f"{name} ends in the middle of a row"):
        load_run(folder)


@pytest.mark.parametrize(("name", "key"), [("config.json", "columns"), ("metrics.json", "calibration")])
def test_a_missing_key_is_named(older: Path, name: str, key: str) -> None:
    folder = older
    content = json.loads((folder / name).read_text(encoding="utf-8"))
    del content[key]
    (folder / name).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match=f"damaged .*{key}"):
        load_run(folder)


def test_keep_graph(result: RunResult, graph: Graph, tmp_path: Path) -> None:
    write_run(result, tmp_path / "run", keep_graph=True)
    run = load_run(tmp_path / "run")
    assert run.graph_file == tmp_path / "run" / "graph.npz"
    again = Source.of_run(run).read().graph
    assert len(predictions_again(run, again, "cpu")) == graph.n_nodes


def test_a_folder_without_graph_and_source(folder: Path) -> None:
    with pytest.raises(InputError, match="does not say where its graph came from"):
        Source.of_run(load_run(folder))


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no run folder"):
        load_run(tmp_path / "nowhere")
