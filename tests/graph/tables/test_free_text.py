"""Columns of free text: which columns are text, their TF-IDF weights, and the same weights again from JSON."""

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer

from hiergcn.graph import Graph
from hiergcn.graph.profile import scaling_for
from hiergcn.graph.tables import feature_columns
from hiergcn.graph.tables.csv_files import read_csv
from hiergcn.graph.tables.feature_columns import FeatureColumn
from hiergcn.graph.tables.feature_table import read_features
from hiergcn.graph.tables.findings import column_roles, findings
from hiergcn.graph.tables.text_columns import Origin

HERE = Origin("nodes.csv")
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
    price = matrix.toarray()[:, columns[0].width]
    assert price.mean() == pytest.approx(0.0, abs=1e-12)
    assert price.std() == pytest.approx(1.0)
    assert price[3] == 0.0
    again = read_features(table.iloc[::-1], HERE, columns).matrix
    assert isinstance(again, sp.csr_array)
    np.testing.assert_allclose(again.toarray()[::-1], matrix.toarray(), rtol=1e-12)
    assert set(matrix.toarray()[:, -1]) == {0.0, 1.0}


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
    becomes = {role.column: role.becomes for role in column_roles(read)}
    assert becomes["abstract"] == f"{words} features (free text: TF-IDF weights of its words)"
    assert becomes["doi"] == "nothing: its entries look like ids"
    assert any("look like ids" in finding.what and "'doi'" in finding.what for finding in findings(read))
    assert scaling_for(graph)[0] == "none"
    graph.to_npz(tmp_path / "graph.npz")
    assert Graph.from_npz(tmp_path / "graph.npz").columns == graph.columns
