"""Another table, encoded as the first one was."""

import datetime
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hiergcn.errors import InputError
from hiergcn.graph import Graph
from hiergcn.graph.tables.column_roles import CsvOptions
from hiergcn.graph.tables.csv_files import read_csv
from hiergcn.graph.tables.feature_columns import FeatureColumn
from hiergcn.graph.tables.feature_table import read_features
from hiergcn.graph.tables.text_columns import Origin

HERE = Origin("nodes.csv")
FIRST = pd.DataFrame(
    {"age": [1.0, 3.0, np.nan], "member": [True, False, True], "colour": ["red", "blue", None], "empty": [np.nan] * 3}
)


def columns_of(table: pd.DataFrame) -> tuple[FeatureColumn, ...]:
    return read_features(table, HERE).columns


def test_the_same_table_gives_the_same_features() -> None:
    first = read_features(FIRST, HERE)
    again = read_features(FIRST, HERE, first.columns)
    np.testing.assert_array_equal(np.asarray(again.matrix), np.asarray(first.matrix))
    assert again.notes == ()
    assert [name for column in first.columns for name in column.features] == [
        "age",
        "member",
        "colour=blue",
        "colour=red",
    ]


def test_what_is_missing_or_new_follows_the_first_table() -> None:
    """The mean is that of the first table, a new colour is in no column, order and further columns do not matter."""
    columns = columns_of(FIRST)
    other = pd.DataFrame({"new": [9, 9], "colour": ["green", "red"], "member": ["FALSE", None], "age": [None, 100.0]})
    found = read_features(other, HERE, columns)
    matrix, notes = found.matrix, found.notes
    np.testing.assert_allclose(np.asarray(matrix), [[2.0, 0.0, 0.0, 0.0], [100.0, 2 / 3, 0.0, 1.0]])
    assert len(notes) == 1
    assert "'green'" in notes[0]


def test_commas_mean_the_same_as_in_the_first_table() -> None:
    """By itself 1,250 might be a thousand and more."""
    columns = columns_of(pd.DataFrame({"size": ["2,5", "0,25"]}))
    matrix = read_features(pd.DataFrame({"size": ["1,250", None, "3"]}), HERE, columns).matrix
    np.testing.assert_allclose(np.asarray(matrix)[:, 0], [1.25, 1.375, 3.0])
    with pytest.raises(InputError, match="'1,250', but the model was trained on a number"):
        read_features(pd.DataFrame({"age": ["1,250"]}), HERE, columns_of(FIRST[["age"]]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": None}, "has no column 'age', which the model was trained on"),
        ({"age": ["1", "old", "3"]}, "nodes.csv, row 2, column 'age': 'old', but the model was trained on a number"),
        ({"member": ["true", "yes", "false"]}, "row 2, column 'member': 'yes', but .* a boolean"),
        ({"age": [1.0, 2.0, np.inf]}, "row 3, column 'age': 'inf'"),
    ],
)
def test_what_cannot_be_encoded_is_named(change: dict[str, list[object] | None], message: str) -> None:
    columns = columns_of(FIRST)
    other = FIRST.drop(columns=[name for name, value in change.items() if value is None])
    for name, value in change.items():
        if value is not None:
            other[name] = pd.Series(value)
    with pytest.raises(InputError, match=message):
        read_features(other, HERE, columns)


def test_files_of_a_grown_graph(tmp_path: Path) -> None:
    """Labels and splits of the new file are passed over: they may be anything, or missing."""
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n")
    (tmp_path / "nodes.csv").write_text("id,label,size,kind\na,x,1,p\nb,y,2,q\nc,,,p\n")
    (tmp_path / "more.csv").write_text("source,target\na,d\n")
    (tmp_path / "grown.csv").write_text("split,id,kind,size\nnonsense,d,r,\n,a,p,4\n")
    first = read_csv(tmp_path / "edges.csv", tmp_path / "nodes.csv").graph
    assert [column.kind for column in first.columns] == ["number", "category"]
    grown = read_csv(tmp_path / "more.csv", tmp_path / "grown.csv", CsvOptions(known=first.columns)).graph
    assert list(grown.ids) == ["d", "a"]
    np.testing.assert_allclose(np.asarray(grown.features), [[1.5, 0.0, 0.0], [4.0, 1.0, 0.0]])
    assert grown.labels is None


def test_dates_become_days_and_come_back_as_they_were_written(tmp_path: Path) -> None:
    written = ["1970-01-02", None, "2024-02-29T12:00", "9999-12-31"]  # the year stands for no end
    nodes = pd.DataFrame({"id": list("abcd"), "seen": written, "label": ["x", "y", "x", "y"]})
    edges = pd.DataFrame({"source": list("abc"), "target": list("bcd")})
    graph = Graph.from_pandas(edges, nodes)
    (column,) = graph.columns
    mean = (1 + 19782.5 + 2932896) / 3
    assert (column.kind, column.missing) == ("date", 1)
    assert column.mean == pytest.approx(mean)
    assert graph.features is not None
    np.testing.assert_allclose(np.asarray(graph.features)[:, 0], [1, mean, 19782.5, 2932896])
    graph.to_npz(tmp_path / "graph.npz")
    back = Graph.from_npz(tmp_path / "graph.npz").to_pandas()[1]["seen"]
    assert [None if pd.isna(one) else one for one in back] == written
    kept = FeatureColumn.from_dict(json.loads(json.dumps(asdict(column))))
    newer = pd.DataFrame({"seen": [datetime.date(1970, 1, 11), None]})
    found = read_features(newer, Origin("newer.csv"), [kept]).matrix
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found.ravel(), [10.0, mean])
    with pytest.raises(InputError, match=r"row 1, column 'seen': 'soon', but the model was trained on a date"):
        read_features(pd.DataFrame({"seen": ["soon"]}), Origin("newer.csv"), [kept])
