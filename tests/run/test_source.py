"""Where a graph comes from: datasets and files, and what a run folder records of them."""

from pathlib import Path

import pytest

from hiergcn.run.fit import fit
from hiergcn.run.predict import predictions_on
from hiergcn.run.run import Run
from hiergcn.run.source import Source, newer_graph
from hiergcn.settings.settings import settings_for


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("edges.csv").write_text("source,target\na,b\nb,c\nc,d\n")
    Path("nodes.csv").write_text("id,label,part\na,x,train\nb,y,train\nc,x,val\nd,y,test\n")
    return tmp_path


def test_a_dataset_has_its_own_split() -> None:
    source = Source("cora")
    assert (source.is_dataset, source.dataset, source.name) == (True, "cora", "cora")
    read = source.read()
    assert read.split is not None
    assert (len(read.split.train), read.split_from, read.files) == (140, "the dataset's own", None)
    assert source.to_dict() == {"data": "cora"}


def test_recorded_paths_hold_from_any_folder(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Source("edges.csv", "nodes.csv", split_column="part").to_dict()
    assert recorded["data"] == str(files / "edges.csv")
    monkeypatch.chdir("/")
    assert Source(**recorded).read().graph.n_nodes == 4


def test_free_text_is_encoded_in_the_same_way_for_a_saved_model(files: Path) -> None:
    """The same files give the same predictions, and a new node of known words the class of these words."""
    words = ("red apple juice", "blue ocean waves")
    rows = [f"{k},{'ab'[k % 2]},{words[k % 2]} number n{k}" for k in range(60)]
    Path("nodes.csv").write_text("\n".join(["id,label,remark", *rows, ""]))
    Path("edges.csv").write_text("source,target\n" + "".join(f"{k},{(k + 2) % 60}\n" for k in range(60)))
    source = Source("edges.csv", "nodes.csv")
    settings = settings_for("gcn").override({"epochs": 20, "scaling": "none"})
    fit(source.read().graph, settings=settings, device="cpu").from_source(source.to_dict()).write(files / "run")
    run = Run.load(files / "run")
    again = predictions_on(run, newer_graph(run, "edges.csv", "nodes.csv"), "cpu")
    assert again["predicted"].tolist() == run.table["predicted"].tolist()
    assert again["probability"].to_numpy() == pytest.approx(run.table["probability"].to_numpy(), abs=1e-4)
    Path("new.csv").write_text("\n".join(["id,remark", "n,an apple never seen", "m,OCEAN waves", ""]))
    Path("new_edges.csv").write_text("source,target\nn,n\nm,m\n")
    new = predictions_on(run, newer_graph(run, "new_edges.csv", "new.csv"), "cpu")
    assert new["predicted"].tolist() == ["a", "b"]
