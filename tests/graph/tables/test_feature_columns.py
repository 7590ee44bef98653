"""Kinds of feature columns: which is which, and another table, from JSON too, encoded as the first one was."""

import datetime
import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer

from hiergcn.errors import InputError
from hiergcn.graph import Graph
from hiergcn.graph.profile import scaling_for
from hiergcn.graph.tables import feature_columns
from hiergcn.graph.tables.column_roles import CsvOptions
from hiergcn.graph.tables.csv_files import read_csv
from hiergcn.graph.tables.feature_columns import FeatureColumn
from hiergcn.graph.tables.feature_table import read_features
from hiergcn.graph.tables.findings import column_roles, findings
from hiergcn.graph.tables.text_columns import Origin

HERE = Origin("nodes.csv")
FIRST = pd.DataFrame(
    {"age": [1.0, 3.0, np.nan], "member": [True, False, True], "colour": ["red", "blue", None], "empty": [np.nan] * 3}
)


def columns_of(table: pd.DataFrame) -> tuple[FeatureColumn, ...]:
    return read_features(table, HERE).columns


def test_what_is_missing_or_new_follows_the_first_table() -> None:
    """The mean is that of the first table, a new colour is in no column, order and further columns do not matter."""
    columns = columns_of(FIRST)
    other = pd.DataFrame({"new": [9, 9], "colour": ["green", "red"], "member": ["FALSE", None], "age": [None, 100.0]})
    found = read_features(other, HERE, columns)
    matrix, notes = found.matrix, found.notes
    np.testing.assert_allclose(np.asarray(matrix), [[2.0, 0.0, 0.0, 0.0], [100.0, 0.0, 1.0, 2 / 3]])
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
    assert [column.kind for column in first.columns] == ["category", "number"]
    grown = read_csv(tmp_path / "more.csv", tmp_path / "grown.csv", CsvOptions(known=first.columns)).graph
    assert list(grown.ids) == ["d", "a"]
    np.testing.assert_allclose(np.asarray(grown.features), [[0.0, 0.0, 1.5], [1.0, 0.0, 4.0]])
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


SUBJECTS = ("graphs", "neural networks", "power grids", "streets", "Sparse matrices")


def abstracts(n: int = 80) -> list[str]:
    rng = np.random.default_rng(0)
    return [f"Paper {k} is about {' and '.join(rng.choice(SUBJECTS, 2))}" for k in range(n)]


def fitted(texts: list[str]) -> tuple[sp.csr_array, FeatureColumn]:
    found = read_features(pd.DataFrame({"abstract": texts}), HERE)
    assert isinstance(found.matrix, sp.csr_array)
    return found.matrix, found.columns[0]


def test_weights_by_hand() -> None:
    """A word's weight is its count times 1 + ln((1 + n) / (1 + rows with it)), and rows have length 1."""
    texts = abstracts()
    matrix, column = fitted(texts)
    words = [text.lower().split() for text in texts]
    rows = Counter(word for row in words for word in set(row))
    assert set(column.values) == {word for word, count in rows.items() if 2 <= count < len(texts)}
    expected = np.array(
        [[row.count(w) * (1 + np.log((1 + len(texts)) / (1 + rows[w]))) for w in column.values] for row in words]
    )
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(matrix.toarray(), expected, atol=1e-12)
    assert column.features[0] == f"abstract: {column.values[0]}"


def test_another_table_is_encoded_as_scikit_learn_does_after_json() -> None:
    texts = abstracts()
    _, column = fitted(texts)
    kept = FeatureColumn.from_dict(json.loads(json.dumps(asdict(column))))
    assert kept == column
    other = ["new words, power GRIDS and streets", "graphs graphs power", "nothing known", ""]
    encoded = read_features(pd.DataFrame({"abstract": [*other, None]}), HERE, [kept])
    found = encoded.matrix
    assert isinstance(found, sp.csr_array)
    expected = TfidfVectorizer(vocabulary=list(column.values)).fit(texts).transform([*other, ""])
    np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=0, atol=1e-15)
    assert encoded.notes == ()


def test_the_limit_keeps_the_words_in_most_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [" ".join(f"word{j}" for j in range(9) if k % (j + 2) == 0) + f" own{k}" for k in range(120)]
    monkeypatch.setattr(feature_columns, "MOST_WORDS", 3)
    _, column = fitted(texts)
    assert column.values == ("word0", "word1", "word2")  # in every second, third and fourth row


@pytest.mark.parametrize(
    ("entries", "kind"),
    [
        ([f"value {k % 50}" for k in range(200)], "category"),
        ([f"town{k % 70}" for k in range(200)], "text"),  # many categories, single words that repeat
        ([f"https://example.org/{k}" for k in range(200)], "id"),
        ([f"user-{k:05}" for k in range(200)], "id"),
        ([f"title {k}" for k in range(200)], "id"),  # the only shared word is in every row
        ([f"{chr(97 + k % 26)} {k}" for k in range(60)], "id"),  # words of one letter do not count
        ([f"<a href='{k}'>{k}</a>" for k in range(200)], "id"),
        ([f"{k}" + "x" * 5000 for k in range(60)], "id"),
        ([f"2024-01-{k % 28 + 1:02d} 10:{k:02d}" for k in range(60)], "date"),
        ([f"the {k} of {('red', 'blue')[k % 2]} ones" for k in range(200)], "text"),
    ],
)
def test_categories_text_and_ids_are_told_apart(entries: list[str], kind: str) -> None:
    (column,) = read_features(pd.DataFrame({"entry": entries}), HERE).columns
    assert column.kind == kind
    assert column.note is not None
    assert bool(column.width) == (kind != "id")


def test_numbers_beside_text_are_standardised_in_every_table() -> None:
    table = pd.DataFrame({"abstract": abstracts(), "price": np.arange(80) * 1e5, "new": [True, False] * 40})
    table.loc[3, "price"] = np.nan
    fitted_table = read_features(table, HERE)
    matrix, columns = fitted_table.matrix, fitted_table.columns
    assert isinstance(matrix, sp.csr_array)
    price = matrix.toarray()[:, -1]
    assert price.mean() == pytest.approx(0.0, abs=1e-12)
    assert price.std() == pytest.approx(1.0)
    assert price[3] == 0.0
    again = read_features(table.iloc[::-1], HERE, columns).matrix
    assert isinstance(again, sp.csr_array)
    np.testing.assert_allclose(again.toarray()[::-1], matrix.toarray(), rtol=1e-12)
    assert set(matrix.toarray()[:, -2]) == {0.0, 1.0}


def test_files(tmp_path: Path) -> None:
    """Text makes the features sparse; nodes that the edges alone name have no words; `check` says what became of it."""
    edges, nodes = tmp_path / "edges.csv", tmp_path / "nodes.csv"
    pd.DataFrame({"source": range(80), "target": range(1, 81)}).to_csv(edges, index=False)
    table = pd.DataFrame({"id": range(80), "abstract": abstracts(), "doi": [f"10.1/{k}x" for k in range(80)]})
    table.assign(price=range(80)).to_csv(nodes, index=False)
    read = read_csv(edges, nodes)
    graph = read.graph
    assert sp.issparse(graph.features)
    words = graph.n_features - 1
    assert graph.features[[80]].nnz == 0
    assert any("free text and became TF-IDF weights of" in note for note in graph.notes)
    becomes = {column: becomes for _, column, becomes in column_roles(read)}
    assert becomes["abstract"] == f"{words} features (free text: TF-IDF weights of its words)"
    assert becomes["doi"] == "nothing: its entries look like ids"
    assert any("look like ids" in finding.what and "'doi'" in finding.what for finding in findings(read))
    assert scaling_for(graph)[0] == "none"
    graph.to_npz(tmp_path / "graph.npz")
    assert Graph.from_npz(tmp_path / "graph.npz").columns == graph.columns
