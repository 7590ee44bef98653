"""A user's own files: how they are read, what is noted, and an error with file, row and column for each defect."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hiergcn.errors import InputError
from hiergcn.graph import Graph
from hiergcn.graph.tables import text_files

Write = Callable[[str, str | bytes], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def writer(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return writer


EDGES = "from,to\nanna,bo\nbo,cy\n"
NODES = "paper,topic,x,open\nanna,art,1,true\nbo,,2.5,false\ncy,biology,-3,true\ndi,art,0,false\n"


def test_edges_and_nodes(write: Write) -> None:
    graph = Graph.from_csv(write("e.csv", EDGES), write("n.csv", NODES), id="paper", label="topic")
    assert graph.ids.tolist() == ["anna", "bo", "cy", "di"]
    assert graph.labels is not None
    assert graph.labels.tolist() == [0, -1, 1, 0]
    assert graph.class_names == ("art", "biology")
    assert isinstance(graph.features, np.ndarray)
    assert graph.features.tolist() == [[1, 1], [2.5, 0], [-3, 1], [0, 0]]
    assert graph.adjacency.toarray().tolist() == [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert graph.name == "e"
    assert graph.notes == ()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", " ", "|"])
def test_delimiters_are_guessed(write: Write, delimiter: str) -> None:
    edges, nodes = EDGES.replace(",", delimiter), NODES.replace(",,", ",music,").replace(",", delimiter)
    graph = Graph.from_csv(write("e.csv", edges), write("n.csv", nodes), id="paper", label="topic")
    assert (graph.n_nodes, graph.n_edges, graph.n_classes) == (4, 2, 3)


def test_a_delimiter_inside_quotes_and_one_that_is_named(write: Write) -> None:
    edges = write("e.csv", 'source,target\n"a;1, b",c\nc,"d;1"\n')
    assert Graph.from_csv(edges).ids.tolist() == ["a;1, b", "c", "d;1"]
    assert Graph.from_csv(write("f.csv", "u:v\n1:2\n"), delimiter=":").ids.tolist() == [1, 2]


def test_bom_crlf_blank_lines_and_blanks_around_ids(write: Write) -> None:
    edges = write("e.csv", "\ufeffsource,target\r\na , b\r\n\r\nb,c\r\n\r\n")
    nodes = write("n.csv", "\ufeffid,label\r\na,x\r\n b,y\r\nc ,x\r\n")
    graph = Graph.from_csv(edges, nodes)
    assert graph.ids.tolist() == ["a", "b", "c"]
    assert graph.n_edges == 2


def test_whole_numbers_come_back_as_such_and_in_their_order(write: Write) -> None:
    graph = Graph.from_csv(write("e.csv", "source,target\n10,9\n9,700\n"))
    assert graph.ids.dtype == np.int64
    assert graph.ids.tolist() == [9, 10, 700]


def test_leading_zeros_and_words_for_missing_are_ids_like_others(write: Write) -> None:
    graph = Graph.from_csv(write("e.csv", "source,target\n007,7\nNA,7\nnull,NA\n"))
    assert graph.ids.tolist() == ["007", "7", "NA", "null"]


def test_labels_are_kept_as_written_and_numbers_are_ordered_by_value(write: Write) -> None:
    edges = write("e.csv", "source,target\n1,2\n")
    graph = Graph.from_csv(edges, write("n.csv", "id,label\n1,10\n2,9\n3,\n4, \n"))
    assert graph.class_names == ("9", "10")
    assert graph.labels is not None
    assert graph.labels.tolist() == [1, 0, -1, -1]
    assert Graph.from_csv(edges, write("m.csv", "id,label\n1,x\n2,01\n")).class_names == ("01", "x")


def test_edges_without_column_names(write: Write) -> None:
    assert Graph.from_csv(write("e.txt", "0 1\n1 2\n")).n_edges == 2
    weighted = Graph.from_csv(write("w.txt", "0 1 2.5\n1   2 1\n"), weight="3")
    assert weighted.adjacency.toarray().max() == 2.5
    known = Graph.from_csv(write("f.csv", "a,b\nb,c\n"), write("n.csv", "id,label\na,x\nb,y\nc,x\n"))
    assert known.n_edges == 2
    guessed = Graph.from_csv(write("g.csv", "a,b\nb,c\n"))
    assert guessed.n_edges == 1
    assert guessed.notes == ("the first row of g.csv was taken for the names of its columns: a, b",)


def test_columns_named_or_found_wherever_they_are(write: Write) -> None:
    edges = write("e.csv", "year,Target,Source,Weight\n1999,b,a,2\n2001,c,b,3\n")
    graph = Graph.from_csv(edges)
    assert graph.adjacency.toarray().tolist() == [[0, 2, 0], [2, 0, 3], [0, 3, 0]]
    assert graph.notes == ("column 'year' of the edges was not used",)
    other = Graph.from_csv(edges, ends=("year", "Target"), weight="Weight")
    assert other.ids.tolist() == ["1999", "2001", "b", "c"]


def test_a_column_of_row_numbers_without_a_name_is_no_end(write: Write) -> None:
    graph = Graph.from_csv(write("e.csv", ",one,two\n0,a,b\n1,b,c\n"))
    assert graph.ids.tolist() == ["a", "b", "c"]


def test_what_was_done_is_noted(write: Write) -> None:
    edges = write("e.csv", "source,target\na,a\na,b\nb,a\na,b\n")
    nodes = write("n.csv", ",id,kind,size,none,yes\n0,a,red,1,,true\n1,b,blue,,,\n2,c,,3,,false\n")
    graph = Graph.from_csv(edges, nodes)
    assert graph.notes == (
        "column 'kind' became 2 columns, one for each of its values",
        "missing values of column 'size' set to its mean: 1",
        "column 'none' is empty and was left out",
        "missing values of column 'yes' set to its mean: 1",
        "a column without a name was left out",
        "self-loops dropped: 1",
        "rows that repeat an edge, in the same or the other direction, or have weight 0: 2",
    )
    assert isinstance(graph.features, np.ndarray)
    assert graph.features.tolist() == [[0, 1, 1, 1], [1, 0, 2, 0.5], [0, 0, 3, 0]]


def test_ids_that_only_edges_name(write: Write) -> None:
    edges = write("e.csv", "source,target\na,b\nb,zoe\nyan,a\n")
    graph = Graph.from_csv(edges, write("n.csv", "id,label\nb,x\na,y\n"))
    assert graph.ids.tolist() == ["b", "a", "yan", "zoe"]
    assert graph.labels is not None
    assert graph.labels.tolist() == [0, 1, -1, -1]
    assert graph.notes == ("ids that only the edges name, now nodes without a label: 2",)
    with pytest.raises(InputError, match=r"e\.csv, row 3: id 'zoe' is not in .*m\.csv.*2 such ids"):
        Graph.from_csv(edges, write("m.csv", "id,label,f\nb,x,1\na,y,2\n"))


@pytest.mark.parametrize(
    ("edges", "nodes", "options", "sentence"),
    [
        ("", None, {}, r"e\.csv is empty"),
        ("\n\n", None, {}, r"e\.csv is empty"),
        ("source,target\n", None, {}, r"e\.csv has no rows"),
        ("source\na\n", None, {}, r"e\.csv, row 1: one column"),
        ("source,target\na,b\nb,\n", None, {}, r"e\.csv, row 3, column 'target': the id is blank"),
        ("source,target\na,b\n ,b\n", None, {}, r"e\.csv, row 3, column 'source': the id is blank"),
        ("1,2\n3,\n", None, {}, r"e\.csv, row 2, column '2': the id is blank"),
        ("source,target\na,b\nb,c,d\n", None, {}, r"e\.csv.* row 3 has 3 fields instead of 2"),
        ("source,target\na,b,c\nb,c,d\n", None, {}, r"e\.csv"),
        ("source,source\na,b\n", None, {}, r"row 1: two columns are named 'source'"),
        ("source,target,weight\na,b,1\nb,c,much\n", None, {}, r"row 3, column 'weight': 'much' instead of a number"),
        ("source,target,weight\na,b,1\nb,c,\n", None, {}, r"row 3, column 'weight': nothing instead of a number"),
        ("source,target,weight\na,b,-1\n", None, {}, r"row 2, column 'weight': weight -1\.0"),
        ("source,target,weight\na,b,inf\n", None, {}, r"row 2, column 'weight': weight inf"),
        (b"source,target\n\xff\xfe,b\n", None, {}, r"e\.csv, line 2: byte 0xff is not UTF-8"),
        ("a,a\n1,2\n", None, {"ends": ("a", "b")}, r"row 1: two columns are named 'a'"),
        (EDGES, None, {"ends": ("to", "to")}, r"e\.csv: column 'to' cannot be both ends"),
        (EDGES, None, {"delimiter": ", "}, r"delimiter ', ' must be a single character"),
        (EDGES, "id:label\nanna:x\n", {"label": "label"}, r"no column 'label'; if it has several .*--delimiter"),
        (EDGES, None, {"ends": ("form", "to")}, r"no column 'form'; did you mean 'from'\?"),
        (EDGES, None, {"label": "topic"}, r"Column 'topic' belongs to a file of nodes"),
        (EDGES, NODES, {"label": "genre", "id": "paper"}, r"n\.csv has no column 'genre'\. Its columns are 'paper'"),
        (EDGES, NODES, {"label": "paper", "id": "paper"}, r"is the id and cannot be the label"),
        (EDGES, "1,2\n3,4\n", {}, r"n\.csv, row 1: numbers instead of the names"),
        (EDGES, "id,x\n", {}, r"n\.csv has no rows"),
        (EDGES, "id,x\nanna,1\n,2\n", {}, r"n\.csv, row 3, column 'id': the id is blank"),
        (EDGES, "id,x\nanna,1\nbo,2\nanna ,3\n", {}, r"n\.csv, row 4, column 'id': id 'anna' is in an earlier row"),
        (EDGES, "id,x\nanna,1\nbo,inf\ncy,2\n", {}, r"n\.csv, row 3, column 'x': the value is infinite"),
    ],
)
def test_defects(write: Write, edges: str | bytes, nodes: str | None, options: dict[str, Any], sentence: str) -> None:
    table = None if nodes is None else write("n.csv", nodes)
    with pytest.raises(InputError, match=sentence):
        Graph.from_csv(write("e.csv", edges), table, **options)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        Graph.from_csv(tmp_path / "none.csv")
    with pytest.raises(InputError, match="directory"):
        Graph.from_csv(tmp_path)


printable = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=60)
content = st.lists(printable, max_size=6).map("\n".join) | st.binary(max_size=80)


@given(content, content)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_content_gives_a_graph_or_an_error(write: Write, edges: str | bytes, nodes: str | bytes) -> None:
    sentences = []
    for table in (None, write("n.csv", nodes)):
        try:
            assert Graph.from_csv(write("e.csv", edges), table).n_nodes > 0
        except InputError as error:
            sentences.append(str(error))
    assert all(".csv" in sentence for sentence in sentences)


def test_an_id_that_only_edges_name_has_missing_features(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\nc,d\nd,e\ne,ghost\n")
    (tmp_path / "nodes.csv").write_text("id,label,size,kind\na,x,1,u\nb,y,2,v\nc,x,3,u\nd,,4,v\ne,y,5,u\n")
    graph = Graph.from_csv(tmp_path / "edges.csv", tmp_path / "nodes.csv")
    assert graph.ids.tolist() == ["a", "b", "c", "d", "e", "ghost"]
    assert isinstance(graph.features, np.ndarray)
    assert graph.labels is not None
    assert graph.features[5].tolist() == [3.0, 0.0, 0.0]  # the mean, and no category
    assert graph.labels[5] == -1
    assert any("only the edges name" in note and "every feature missing" in note for note in graph.notes)


def test_decimal_commas_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source;target;weight\na;b;0,5\nb;c;2\n")
    (tmp_path / "nodes.csv").write_text("id;size\na;1,25\nb;-2,5\nc;\n")
    graph = Graph.from_csv(tmp_path / "edges.csv", tmp_path / "nodes.csv")
    assert isinstance(graph.features, np.ndarray)
    assert graph.features[:, 0].tolist() == [1.25, -2.5, -0.625]
    assert graph.adjacency.toarray()[0, 1] == 0.5
    assert any("commas in column 'size'" in note for note in graph.notes)


def test_a_graph_is_named_by_its_folder_if_its_file_has_a_usual_name(tmp_path: Path) -> None:
    for name in ("edges", "trade"):
        (tmp_path / f"{name}.csv").write_text("source,target\na,b\n")
    assert Graph.from_csv(tmp_path / "edges.csv").name == tmp_path.name
    assert Graph.from_csv(tmp_path / "trade.csv").name == "trade"


@pytest.mark.parametrize("word", ["-1", "-1.0", "unknown", "Unknown", "UNLABELLED", "n/a", "NaN", "?", "None", "  "])
def test_words_for_an_unknown_label(write: Write, word: str) -> None:
    """A class of -1 or unknown once was learned, and predicted for every node."""
    edges, nodes = write("e.csv", "source,target\na,b\nb,c\n"), write("n.csv", f"id,label\na,{word}\nb,y\nc,x\n")
    graph = Graph.from_csv(edges, nodes)
    assert graph.class_names == ("x", "y")
    assert word.isspace() or any(f"read as unknown, because they are '{word}': 1" in note for note in graph.notes)
    assert len(Graph.from_csv(edges, nodes, unknown=["x"]).class_names) == (1 if word.isspace() else 2)


def test_files_that_share_no_id_are_refused(write: Write) -> None:
    edges = write("e.csv", "source,target\np0,p1\np1,p2\n")
    with pytest.raises(
        InputError, match=r"row 2: id 'p0' is not in .*no other id.*write ids alike.*perhaps it is 'P0'"
    ):
        Graph.from_csv(edges, write("n.csv", "id,label\nP0,x\nP1,y\n"))
    whole = write("f.csv", "source,target\n1.0,2.0\n")
    with pytest.raises(InputError, match="perhaps it is '1' there"):
        Graph.from_csv(whole, write("m.csv", "id,label,x\n1,x,1\n2,y,2\n"))
    composed = write("g.csv", "source,target\né,b\n")
    with pytest.raises(InputError, match=r"id 'é' is not in .*perhaps it is 'e\\u0301' there"):
        Graph.from_csv(composed, write("k.csv", "id,label\ne\u0301,x\nc,y\n"))


@pytest.mark.parametrize("cell", ["", "  ", "NA", " NA", "NA "])
def test_blanks_around_cells_do_not_count(write: Write, cell: str) -> None:
    """A missing number with a blank beside it once made its column a category of words."""
    nodes = write("n.csv", f"id, label, size, city\na, x, 1.5, Rome\nb, y,{cell},Rome\nc, x, 2.5, Oslo \n")
    graph = Graph.from_csv(write("e.csv", "source,target\na,b\nb,c\n"), nodes)
    found = [(one.name, one.kind, one.missing, one.values) for one in graph.columns]
    assert found == [("size", "number", 1, ()), ("city", "category", 0, ("Oslo", "Rome"))]


def test_a_cell_may_be_a_book(write: Write) -> None:
    """Python's reader of tables, which guesses the layout, stops at 131,072 letters by default."""
    book = "the whale " * 20_000
    nodes = write("n.csv", f"id,label,text\na,x,{book}\nb,y,short\n")
    (column,) = Graph.from_csv(write("e.csv", "source,target\na,b\n"), nodes).columns
    assert column.values == ("short", book.strip())


@pytest.mark.parametrize("column", ["3.5", "blue", "NA", ""])
def test_a_long_file_of_nodes_means_the_same(column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pyarrow reads it, or leaves it to pandas; the second column of features begins with any entry."""
    others = "red,blue,blue,red" if column == "blue" else "1,2,,4"
    rows = [f"u{k},{'ab'[k % 2] if k else ''},{k / 3},{entry}" for k, entry in enumerate([column, *others.split(",")])]
    (tmp_path / "nodes.csv").write_text("\n".join(["id,label,x,y", *rows]))
    (tmp_path / "edges.csv").write_text("source,target\nu0,u1\nu1,u2\nu2,u3\nu3,u4\n")
    short, long = (read_with(length, tmp_path, monkeypatch) for length in (1 << 62, 1))
    assert [(one.name, one.kind) for one in short.columns] == [(one.name, one.kind) for one in long.columns]
    for one, other in ((short.features, long.features), (short.labels, long.labels)):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    assert list(short.ids) == list(long.ids)
    assert (short.class_names, short.notes) == (long.class_names, long.notes)


def read_with(long: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.setattr(text_files, "LONG", long)
    return Graph.from_csv(folder / "edges.csv", folder / "nodes.csv")
