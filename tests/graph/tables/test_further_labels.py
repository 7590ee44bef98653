"""Further labels from a file: joined by id, with notes on what changes and errors that name the row."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hiergcn import Graph, InputError, Split
from hiergcn.graph.tables.label_columns import with_further_labels


@pytest.fixture
def graph() -> Graph:
    return Graph.from_edges(
        [0, 1, 2], [1, 2, 3], labels=[0, 1, -1, -1], ids=["a", "b", "c", "7"], class_names=["red", "blue"]
    )


def joined(graph: Graph, folder: Path, text: str) -> Graph:
    (folder / "more.csv").write_text(text, encoding="utf-8")
    return with_further_labels(graph, folder / "more.csv")


def classes(graph: Graph) -> list[str | None]:
    return [None if k < 0 else graph.class_names[k] for k in graph.truth]


def test_labels_are_joined_by_id(graph: Graph, tmp_path: Path) -> None:
    found = joined(graph, tmp_path, "id,reason,label\n 7 ,alone,blue\na,,\nc,,\n")
    assert classes(found) == ["red", "blue", None, "blue"]
    assert found.notes == ("labels that more.csv adds: 1",)
    assert classes(graph) == ["red", "blue", None, None]


def test_changes_and_new_classes_are_said(graph: Graph, tmp_path: Path) -> None:
    found = joined(graph, tmp_path, "label,node\ngreen,a\nblue,b\ngreen,c\n")
    assert classes(found) == ["green", "blue", "green", None]
    assert found.class_names == ("red", "blue", "green")
    assert found.notes[1:] == (
        "labels that more.csv changes: 1, such as a from 'red' to 'green'",
        "classes that only more.csv has: 'green'",
    )


def test_a_graph_without_labels_gets_its_first(graph: Graph, tmp_path: Path) -> None:
    found = joined(graph.with_labels(None, []), tmp_path, "id,label\nc,yes\na,no\n")
    assert (classes(found), found.class_names) == (["no", None, "yes", None], ("no", "yes"))


def test_a_graph_takes_labels_and_new_ones_join_training(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "more.csv").write_text("id,label\nb,red\nc,blue\n", encoding="utf-8")
    found = graph.with_labels_from(tmp_path / "more.csv")
    assert (classes(found), found.split) == (["red", "red", "blue", None], None)
    divided = replace(graph, split=Split(*map(np.array, ([0], [1], np.empty(0, np.int64)))))
    split = divided.with_labels_from(tmp_path / "more.csv").split
    assert split is not None
    assert (split.train.tolist(), split.validation.tolist(), split.test.tolist()) == ([0, 2], [1], [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,label\na,red\n\nz,red\n", "row 4, column 'id': id 'z' is not a node of the graph; give the id of a node"),
        ("id,label\n,red\n", "row 2, column 'id': the id is blank"),
        ("id,label\nc,red\nc,blue\n", "row 3, column 'id': an earlier row gives this node another label"),
        ("id,label\nc,\n", "column 'label': every label is blank; fill in the class"),
        ("id,topic\nc,red\n", "no column named label or class"),
    ],
)
def test_errors_say_where_and_what_to_do(graph: Graph, tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        joined(graph, tmp_path, text)
