"""A split that a column of the nodes names."""

from pathlib import Path

import numpy as np
import pytest

from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.tables.column_roles import CsvOptions
from hiergcn.graph.tables.csv_files import read_csv

EDGES = "source,target\na,b\nb,c\nc,d\nd,e\n"


def read(folder: Path, nodes: str, **options: str) -> tuple[Graph, Split | None]:
    (folder / "e.csv").write_text(EDGES)
    (folder / "n.csv").write_text(nodes)
    found = read_csv(folder / "e.csv", folder / "n.csv", CsvOptions(**options))  # type: ignore[typeddict-item]
    return found.graph, found.graph.split


def test_a_column_named_split_is_found_and_is_no_feature(tmp_path: Path) -> None:
    nodes = "id,label,Split,x\na,1,train,0\nb,2,Val,1\nc,1,test,2\nd,2,TRAIN,3\ne,1,,4\n"
    graph, split = read(tmp_path, nodes)
    assert split is not None
    assert [split.train.tolist(), split.validation.tolist(), split.test.tolist()] == [[0, 3], [1], [2]]
    assert graph.n_features == 1
    assert graph.notes == (
        "the split is that of column 'Split'",
        "labels that are not used, because column 'Split' is blank there: 1",
    )


def test_a_column_of_another_name(tmp_path: Path) -> None:
    graph, split = read(tmp_path, "id,label,fold\na,1,train\nb,2,train\nc,1,valid\nd,2,dev\ne,1,test\n", split="fold")
    assert split is not None
    assert split.validation.tolist() == [2, 3]
    assert graph.features is None
    with pytest.raises(InputError, match=r"n\.csv has no column 'part'"):
        read(tmp_path, "id,label\na,1\n", split="part")
    with pytest.raises(InputError, match="cannot be split and id or label"):
        read(tmp_path, "id,label\na,train\n", split="label")


def test_test_nodes_may_have_no_label(tmp_path: Path) -> None:
    graph, split = read(tmp_path, "id,label,split\na,1,train\nb,2,train\nc,1,val\nd,,test\ne,2,test\n")
    assert split is not None
    assert split.test.tolist() == [4]
    assert "test nodes without a label, which are predicted and not counted: 1" in graph.notes


def test_validation_nodes_are_drawn_if_none_are_named(tmp_path: Path) -> None:
    graph, split = read(tmp_path, "id,label,split\na,1,train\nb,1,train\nc,2,train\nd,2,train\ne,2,test\n")
    assert split is not None
    assert split.test.tolist() == [4]
    assert split.validation.size == 2
    assert graph.labels is not None
    assert sorted(graph.labels[split.train].tolist()) == [0, 1]
    assert np.union1d(split.train, split.validation).tolist() == [0, 1, 2, 3]
    assert any("names no validation nodes" in note for note in graph.notes)


def test_no_column_no_split(tmp_path: Path) -> None:
    graph, split = read(tmp_path, "id,label,x\na,1,1\nb,2,2\nc,1,3\nd,2,4\ne,1,5\n")
    assert split is None
    assert graph.n_features == 1


def test_a_dropped_split_column_is_no_split(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(EDGES)
    (tmp_path / "n.csv").write_text("id,label,split,x\na,1,q,1\nb,2,q,2\nc,1,r,3\nd,2,r,4\ne,1,s,5\n")
    found = read_csv(tmp_path / "e.csv", tmp_path / "n.csv", CsvOptions(drop=("split",)))
    assert found.graph.split is None
    assert found.graph.notes == ("columns dropped on request: split",)
    assert Graph.from_csv(tmp_path / "e.csv", tmp_path / "n.csv", drop=["split", "x"]).features is None
