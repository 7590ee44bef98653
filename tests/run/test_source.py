"""Where a graph comes from: datasets and files, and what a run folder records of them."""

from pathlib import Path

import pytest

from hiergcn.errors import InputError
from hiergcn.run.source import Source


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


def test_a_column_names_the_split(files: Path) -> None:
    read = Source("edges.csv", "nodes.csv", split_column="part").read()
    assert read.split is not None
    assert (read.split.test.tolist(), read.split_from) == ([3], "column 'part'")
    read.check_labels()


def test_recorded_paths_hold_from_any_folder(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Source("edges.csv", "nodes.csv", split_column="part").to_dict()
    assert recorded["data"] == str(files / "edges.csv")
    monkeypatch.chdir("/")
    assert Source(**recorded).read().graph.n_nodes == 4


def test_files_without_labels_are_read_and_then_refused(files: Path) -> None:
    read = Source("edges.csv").read()
    assert read.graph.n_nodes == 4
    with pytest.raises(InputError, match="no labels"):
        read.check_labels()
