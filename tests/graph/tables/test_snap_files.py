"""Edge lists in the form of SNAP: comments that begin with #, names of columns in a comment, gzip."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from hiergcn.errors import InputError
from hiergcn.graph import Graph
from hiergcn.graph.tables import text_files
from hiergcn.graph.tables.column_roles import CsvOptions
from hiergcn.graph.tables.csv_files import graph_name, read_csv
from hiergcn.graph.tables.findings import understood

HEAD = "# Directed graph: web.txt \n# A web graph\n# Nodes: 4 Edges: 4\n# FromNodeId\tToNodeId\n"
ROWS = "0\t11\n0\t5\n11\t7\n7\t0\n"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    content = text.encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


@pytest.fixture(params=["web.txt", "web.txt.gz"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def same(one: Graph, other: Graph) -> bool:
    return one.ids.tolist() == other.ids.tolist() and np.array_equal(one.adjacency.toarray(), other.adjacency.toarray())


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", ["\t", " ", ","])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_graph_is_that_of_the_rows_alone(tmp_path: Path, name: str, delimiter: str, end: str, mark: str) -> None:
    plain = Graph.from_csv(write(tmp_path, "plain.txt", ROWS))
    text = mark + (HEAD + ROWS).replace("\t", delimiter).replace("\n", end)
    read = read_csv(write(tmp_path, name, text))
    assert plain.ids.tolist() == [0, 5, 7, 11]
    assert same(read.graph, plain)
    assert read.graph.name == "web"
    assert read.graph.notes == ()
    assert read.edges.columns.ends == ("FromNodeId", "ToNodeId")


def test_check_says_what_was_read(tmp_path: Path) -> None:
    lines = understood(read_csv(write(tmp_path, "web.txt.gz", HEAD + ROWS)))
    assert "web.txt.gz: tab between columns, UTF-8, gzip, 4 comment lines" in lines
    assert "web.txt.gz has the names of its columns in a comment: FromNodeId, ToNodeId" in lines


@pytest.mark.parametrize(
    ("text", "ids", "columns"),
    [
        ("# graph number 7\n0 1\n1 2\n", [0, 1, 2], ("1", "2")),
        ("# Nodes: 3 Edges: 2\n0 1 1 1\n1 2 1 1\n", [0, 1, 2], ("1", "2")),
        ("# my graph\nsource target\na b\n", ["a", "b"], ("source", "target")),
        ("# source target\nsource target\na b\n", ["a", "b"], ("source", "target")),
        ("# FromNodeId ToNodeId\nanna bo\n", ["anna", "bo"], ("FromNodeId", "ToNodeId")),
        ("# made by hand\nfrom,to\nx,y\n", ["x", "y"], ("from", "to")),
        ("#\n#\n\n0 1\n", [0, 1], ("1", "2")),
        ("# " + "x" * 200_000 + ",y\n0,1\n", [0, 1], ("1", "2")),
        ('# "a,b\n0,1\n', [0, 1], ("1", "2")),
        ("#a\n0,1\n# b\n1,2\n#c", [0, 1, 2], ("1", "2")),
    ],
)
def test_column_names_are_distinguished_from_comments_and_rows(
    tmp_path: Path, text: str, ids: list[object], columns: tuple[str, str]
) -> None:
    read = read_csv(write(tmp_path, "e.txt", text))
    assert read.graph.ids.tolist() == ids
    assert read.edges.columns.ends == columns


def test_a_weight_is_named_in_the_comment(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, name, "# signed\n# FromNodeId\tToNodeId\tTrust\n1\t2\t3\n2\t3\t0.5\n")
    assert Graph.from_csv(path, weight="Trust").adjacency.data.tolist() == [3, 3, 0.5, 0.5]
    assert Graph.from_csv(path).adjacency.data.tolist() == [1, 1, 1, 1]


def test_comments_between_rows_are_noted(tmp_path: Path) -> None:
    graph = Graph.from_csv(write(tmp_path, "e.csv", "# first\na,b\n#c,d\nb,c\n# end\n"))
    assert graph.ids.tolist() == ["b", "c"]
    assert "lines of e.csv that begin with # were taken for comments: 2" in graph.notes


def test_ids_that_begin_with_a_hash_stay_ids_below_a_header(tmp_path: Path) -> None:
    edges = write(tmp_path, "e.csv", "source,target\n#cats,#dogs\n#dogs,birds\n")
    nodes = write(tmp_path, "n.csv", "id,label\n#cats,a\n#dogs,b\nbirds,a\n")
    graph = Graph.from_csv(edges, nodes)
    assert graph.ids.tolist() == ["#cats", "#dogs", "birds"]
    assert graph.n_edges == 2
    assert graph.notes == ()


NODES = "# departments\n# NodeId\tlabel\tsize\n0\tart\t1.5\n5\t\t2\n7\tlaw\t2.5\n11\tart\t\n"


def test_nodes_with_comments(tmp_path: Path, name: str) -> None:
    graph = Graph.from_csv(write(tmp_path, name, HEAD + ROWS), write(tmp_path, f"nodes-{name}", NODES))
    assert graph.ids.tolist() == [0, 5, 7, 11]
    assert graph.class_names == ("art", "law")
    assert graph.labels is not None
    assert graph.labels.tolist() == [0, -1, 1, 0]
    assert np.asarray(graph.features).ravel().tolist() == [1.5, 2.0, 2.5, 2.0]


@pytest.mark.parametrize("rows", ["0 1\n5 1\n7 2\n11 2\n", "1 2\n5 1\n7 2\n11 2\n"])
def test_nodes_without_names_are_named_by_place(tmp_path: Path, rows: str) -> None:
    """As in email-Eu-core-department-labels.txt: an id and a class. The first row is data, even if it holds a 2."""
    edges = write(tmp_path, "e.txt", rows.split()[0] + " 11\n5 7\n")
    nodes = write(tmp_path, "n.txt", rows)
    graph = Graph.from_csv(edges, nodes, label="2")
    assert (graph.n_nodes, graph.class_names) == (4, ("1", "2"))
    assert graph.notes == ()
    with pytest.raises(InputError, match=r"n\.txt, row 1: numbers instead of the names .*--label 2"):
        Graph.from_csv(edges, nodes)


def test_later_files_without_names_are_encoded_alike(tmp_path: Path) -> None:
    edges = write(tmp_path, "e.txt", "1 2\n2 3\n")
    first = Graph.from_csv(edges, write(tmp_path, "n.txt", "1 7 0.5\n2 8 1.5\n3 7 4\n"), label="2")
    later = write(tmp_path, "later.txt", "3 7 9\n1 8 1\n2 8 2\n")
    options = CsvOptions(known=first.columns)
    assert np.asarray(read_csv(edges, later, options).graph.features).ravel().tolist() == [9, 1, 2]


def test_numbered_headers_of_unnamed_tables_stay_headers(tmp_path: Path) -> None:
    graph = Graph.from_csv(write(tmp_path, "e.csv", "0,1,2\n10,20,0.5\n"), weight="2")
    assert graph.ids.tolist() == [10, 20]
    assert graph.adjacency.data.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (HEAD + "0\t1\n\n1\t\n", r"row 7, column 'ToNodeId': the id is blank"),
        (HEAD + "0\t1\n# remark\n1\t\n", r"row 7, column 'ToNodeId': the id is blank"),
        (HEAD + "\t\n0\t1\n1\t\n", r"row 7, column 'ToNodeId': the id is blank"),
        (HEAD + "0\t1\n1\t2\t3\n", r"row 6 has 3 fields instead of 2"),
        ("# a\n\n# b\nu,v,weight\n0,1,1\n\n1,2,-3\n", r"row 7, column 'weight': weight -3\.0"),
        ('# a\nu,v\n"a\nb",c\n\nd,\n', r"row 6, column 'v': the id is blank"),
        ('# a\nu,v\n"a\nb",c\nd,e,f\n', r"row 5 has 3 fields instead of 2"),
        ('# a\nu,v\nb,c\n\n"d,e\n', r"the quote that opens in row 5 is never closed"),
        ("# a\n\n0\n1\n", r"row 3: one column"),
        ("# a\nu,u\n1,2\n", r"row 2: two columns are named 'u'"),
        ("# only\n# remarks\n", r"has only lines that begin with #"),
        ("# b\n0\t1\n1\t\x00\n", r"line 3: a NUL byte"),
    ],
)
def test_rows_in_messages_are_lines_of_the_file(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        Graph.from_csv(write(tmp_path, name, text))
    assert name in str(caught.value)


def test_an_id_without_features_is_found_in_its_line(tmp_path: Path, name: str) -> None:
    nodes = "# NodeId\tx\n0\t1\n5\t2\n7\t2\n"
    with pytest.raises(InputError, match=rf"{name}, row 5: id '11' is not in .*n\.txt"):
        Graph.from_csv(write(tmp_path, name, HEAD + ROWS), write(tmp_path, "n.txt", nodes))


def test_rows_of_nodes_are_lines_of_the_file(tmp_path: Path) -> None:
    edges = write(tmp_path, "e.txt", ROWS)
    for text, sentence in (
        (NODES.replace("2.5", "inf"), "row 5, column 'size': the value is infinite"),
        (NODES.replace("7\tlaw", "0\tlaw"), "row 5, column 'NodeId': id '0' is in an earlier row"),
        (NODES + "# end\n\n\tlaw\t1\n", "row 9, column 'NodeId': the id is blank"),
    ):
        with pytest.raises(InputError, match=sentence):
            Graph.from_csv(edges, write(tmp_path, "n.txt", text))


@pytest.mark.parametrize("text", [HEAD + ROWS, "# a\n\nsource,target\n0,11\n# b\n0,5\n11,7\n7,0\n", HEAD + "\n" + ROWS])
def test_long_files_are_read_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    path = write(tmp_path, name, text)
    short = Graph.from_csv(path)
    found = []
    reader = text_files.Layout.read_by_arrow

    def spied(*given: object, **named: object) -> object:
        found.append(reader(*given, **named))  # type: ignore[arg-type]
        return found[-1]

    monkeypatch.setattr(text_files, "LONG", 0)
    monkeypatch.setattr(text_files.Layout, "read_by_arrow", spied)
    long = Graph.from_csv(path)
    assert found[0] is not None
    assert same(long, short)
    assert long.notes == short.notes


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64])
def test_comments_are_found_across_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    """However the file is cut into chunks: comments are counted and emptied, and the other bytes stay."""
    text = "# one\n#\n0 1\n## two # three\n\n1 2\n2 # 3\n#end"
    path = write(tmp_path, "e.txt", text)
    monkeypatch.setattr(text_files, "CHUNK", chunk)
    with text_files.CheckedText(text_files.TextFile.from_path(path)) as stream:
        assert stream.read() == b"\n\n0 1\n\n\n1 2\n2 # 3\n"
        assert stream.comments == 4


def test_a_graph_is_named_without_its_endings(tmp_path: Path) -> None:
    assert graph_name("data/web-Google.txt.gz") == "web-Google"
    assert graph_name(tmp_path / "edges.csv.gz") == tmp_path.name


def test_gzip_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "web.csv"
    path.write_bytes(gzip.compress(ROWS.encode()))
    assert Graph.from_csv(path).n_edges == 4
