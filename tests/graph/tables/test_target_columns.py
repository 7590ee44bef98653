"""Numeric targets: read alike through every door, and told from labels that are classes."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hiergcn.errors import InputError
from hiergcn.graph import Graph
from hiergcn.graph.tables.column_roles import CsvOptions
from hiergcn.graph.tables.csv_files import read_csv
from hiergcn.graph.tables.findings import column_roles, findings
from hiergcn.graph.tables.label_columns import look_like_numbers, read_labels, read_targets
from hiergcn.graph.tables.text_columns import Origin
from hiergcn.run.source import Source

N = 60
PRICES = [*(1000.0 + 7.5 * k for k in range(N - 10)), *[np.nan] * 10]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"source": range(N), "target": np.roll(range(N), 1)}).to_csv("edges.csv", index=False)
    split = ["train"] * 30 + ["validation"] * 10 + ["test"] * 20
    table = pd.DataFrame({"id": range(N), "price": PRICES, "size": range(N), "label": "house", "part": split})
    table.to_csv("nodes.csv", index=False)
    return tmp_path


def test_every_door_reads_the_same_target(files: Path) -> None:
    """Other columns, also one named label, are features; a split works as for labels."""
    read = read_csv("edges.csv", "nodes.csv", CsvOptions(target="price", split="part"))
    graph = read.graph
    np.testing.assert_array_equal(graph.truth, PRICES)
    assert (graph.target_name, graph.labels, graph.n_outputs) == ("price", None, 1)
    assert [column.name for column in graph.columns] == ["label", "size"]
    assert graph.split is not None
    assert [len(graph.split.train), len(graph.split.validation), len(graph.split.test)] == [30, 10, 10]
    assert {column: becomes for _, column, becomes in column_roles(read)}["price"].startswith("target: a number")
    assert ("nodes without a value", 10) in [(one.what, one.number) for one in findings(read)]
    framed = Graph.from_pandas(pd.read_csv("edges.csv"), pd.read_csv("nodes.csv"), target="price", split="part")
    networked = Graph.from_networkx(graph.to_networkx())
    graph.to_graphml("graph.graphml")
    graph.to_npz("graph.npz")
    graph.to_csv("e.csv", "n.csv")
    pyg = Graph.from_pyg(graph.to_pyg(exact=True))
    doors = [framed, networked, Graph.from_graphml("graph.graphml"), Graph.from_npz("graph.npz"), pyg]
    for other in (*doors, Graph.from_csv("e.csv", "n.csv", target="price")):
        np.testing.assert_array_equal(other.truth, PRICES)
        assert other.target_name == "price"
        assert other.split is not None
        assert len(other.split.test) == 10


def test_entries() -> None:
    column = pd.Series(["1.5", " 2 ", "", "NA", None, "unknown", "-1", "1e3"], name="price")
    found = read_targets(column, Origin("nodes.csv"))
    np.testing.assert_array_equal(found, [1.5, 2, np.nan, np.nan, np.nan, np.nan, -1, 1000])
    np.testing.assert_array_equal(read_targets(pd.Series(["2,5", "0,25"]), Origin("nodes.csv")), [2.5, 0.25])
    with pytest.raises(InputError, match=r"nodes.csv, row 2, column 'price': 'cheap' in the column of the target"):
        read_targets(pd.Series(["1", "cheap"], name="price"), Origin("nodes.csv"))
    with pytest.raises(InputError, match="'inf' in the column of the target"):
        read_targets(pd.Series([1.0, np.inf], name="price"), Origin("nodes.csv"))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([0.5 * k for k in range(40)], True),  # fractions
        ([350_000 + 1_000 * k for k in range(40)], True),
        ([k % 30 for k in range(40)], False),  # codes of classes
        (list(range(1, 41)), False),
        ([0.5 * (k % 8) for k in range(40)], False),  # ratings: few distinct numbers
        ([1010 * (k % 12) for k in range(200)], False),  # many labels each
        ([f"class {k}" for k in range(40)], False),
    ],
)
def test_labels_that_may_be_numbers(labels: list[object], expected: bool) -> None:
    assert look_like_numbers(read_labels(pd.Series(labels))) == expected


def test_the_user_is_asked_which_is_meant(files: Path) -> None:
    pd.read_csv("nodes.csv").drop(columns="label").rename(columns={"price": "label"}).to_csv("nodes.csv", index=False)
    asked = Source("edges.csv", "nodes.csv").read().obstacle
    assert asked is not None
    assert "the labels are 50 different numbers; give --target label if the number" in asked
    assert "or --label label if each is a class" in asked
    assert Source("edges.csv", "nodes.csv", target="label").read().obstacle is None
    named = Source("edges.csv", "nodes.csv", label="label").read()
    assert any(
        "50 different numbers, and each was taken for a class; to predict the number, name" in note
        for note in named.graph.notes
    )
    assert named.obstacle is not None
    assert "every class has one label" in named.obstacle


def test_defects(files: Path) -> None:
    with pytest.raises(InputError, match=r"Both a label .* and a target"):
        Graph.from_csv("edges.csv", "nodes.csv", label="label", target="price")
    with pytest.raises(InputError, match="column 'id' is the id and cannot be the target"):
        Graph.from_csv("edges.csv", "nodes.csv", target="id")
    with pytest.raises(InputError, match="'label': 'house' in the column of the target"):
        Graph.from_csv("edges.csv", "nodes.csv", target="label")
    nodes = pd.read_csv("nodes.csv").assign(part=np.nan)
    for price, message in ((np.nan, "every value is blank"), (3.0, "every value is 3")):
        nodes.assign(price=price).to_csv("nodes.csv", index=False)
        obstacle = Source("edges.csv", "nodes.csv", target="price").read().obstacle
        assert obstacle is not None
        assert message in obstacle
