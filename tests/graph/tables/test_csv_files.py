"""A user's own files of text: how they are read, what is noted, and an error with file, row and column for each defect.

Broken files by the hundred are in `test_broken_files.py`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hiergcn.errors import InputError
from hiergcn.graph import Graph
from hiergcn.graph.tables import text_files
from hiergcn.graph.tables.column_roles import CsvOptions
from hiergcn.graph.tables.csv_files import CsvGraph, graph_name, read_csv
from hiergcn.graph.tables.findings import understood

EDGES = "from,to\nanna,bo\nbo,cy\n"
NODES = "paper,topic,x,open\nanna,art,1,true\nbo,,2.5,false\ncy,biology,-3,true\ndi,art,0,false\n"
ABC, RING = "source,target\na,b\nb,c\n", "source,target\na,b\nb,c\nc,d\nd,e\n"
HEAD = "# Directed graph: web.txt \n# A web graph\n# Nodes: 4 Edges: 4\n# FromNodeId\tToNodeId\n"
ROWS = "0\t11\n0\t5\n11\t7\n7\t0\n"
SNAP_NODES = "# departments\n# NodeId\tlabel\tsize\n0\tart\t1.5\n5\t\t2\n7\tlaw\t2.5\n11\tart\t\n"

Read = Callable[..., CsvGraph]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write files of edges and nodes, and read them."""

    def reader(edges: str, nodes: str | None = None, **options: Any) -> CsvGraph:
        paths = [tmp_path / f"{name}.csv" for name in "en"]
        for path, text in zip(paths, (edges, nodes), strict=True):
            path.write_bytes((text or "").encode())
        return read_csv(paths[0], None if nodes is None else paths[1], CsvOptions(**options))  # type: ignore[typeddict-item]

    return reader


def seen(read: CsvGraph) -> dict[str, Any]:
    graph = read.graph
    names = np.array([*graph.class_names, None], dtype=object)
    split = graph.split
    return {
        "ids": graph.ids.tolist(),
        "adjacency": graph.adjacency.toarray().tolist(),
        "weights": graph.adjacency.data.tolist(),
        "n_edges": graph.n_edges,
        "labels": None if graph.labels is None else names[graph.labels].tolist(),
        "classes": graph.class_names,
        "features": None if graph.features is None else np.asarray(graph.features).tolist(),
        "columns": [(column.name, column.kind, column.missing, column.values) for column in graph.columns],
        "split": split and [split.train.tolist(), split.validation.tolist(), split.test.tolist()],
        "ends": read.edges.columns.ends,
        "notes": graph.notes,
    }


GOOD: dict[str, tuple[str, str | None, dict[str, Any], dict[str, Any]]] = {
    "edges and nodes": (
        EDGES,
        NODES,
        {"id": "paper", "label": "topic"},
        {
            "ids": ["anna", "bo", "cy", "di"],
            "labels": ["art", None, "biology", "art"],
            "features": [[1, 1], [0, 2.5], [1, -3], [0, 0]],  # by the names of the columns
            "adjacency": [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]],
            "notes": (),
        },
    ),
    "a delimiter inside quotes": ('source,target\n"a;1, b",c\nc,"d;1"\n', None, {}, {"ids": ["a;1, b", "c", "d;1"]}),
    "a delimiter that is named": ("u:v\n1:2\n", None, {"delimiter": ":"}, {"ids": [1, 2]}),
    "mark, line ends, blank lines and blanks around ids": (
        "\ufeffsource,target\r\na , b\r\n\r\nb,c\r\n\r\n",
        "\ufeffid,label\r\na,x\r\n b,y\r\nc ,x\r\n",
        {},
        {"ids": ["a", "b", "c"], "n_edges": 2},
    ),
    "ids like numbers and like missing values": (
        "source,target\n007,7\nNA,7\nnull,NA\n", None, {}, {"ids": ["007", "7", "NA", "null"]},
    ),
    "labels ordered by value": (
        "source,target\n1,2\n",
        "id,label\n1,10\n2,9\n3,\n4, \n",
        {},
        {"classes": ("9", "10"), "labels": ["10", "9", None, None]},
    ),
    "a weight by its place": ("0 1 2.5\n1   2 1\n", None, {"weight": "3"}, {"weights": [2.5, 2.5, 1, 1]}),
    "a first row that the nodes list": ("a,b\nb,c\n", "id,label\na,x\nb,y\nc,x\n", {}, {"n_edges": 2, "notes": ()}),
    "a first row that may be names": (
        "a,b\nb,c\n",
        None,
        {},
        {"n_edges": 1, "notes": ("the first row of e.csv was taken for the names of its columns: a, b",)},
    ),
    "columns with usual names": (
        "year,Target,Source,Weight\n1999,b,a,2\n2001,c,b,3\n",
        None,
        {},
        {
            "adjacency": [[0, 2, 0], [2, 0, 3], [0, 3, 0]],
            "notes": ("column 'year' of the edges was not used",),
        },
    ),
    "row numbers without a name": (",one,two\n0,a,b\n1,b,c\n", None, {}, {"ids": ["a", "b", "c"]}),
    "what was done is noted": (
        "source,target\na,a\na,b\nb,a\na,b\n",
        ",id,kind,size,none,yes\n0,a,red,1,,true\n1,b,blue,,,\n2,c,,3,,false\n",
        {},
        {
            "notes": (
                "column 'kind' became 2 columns, one for each of its values",
                "column 'none' is empty and was left out",
                "missing values of column 'size' set to its mean: 1",
                "missing values of column 'yes' set to its mean: 1",
                "a column without a name was left out",
                "self-loops dropped: 1",
                "rows that repeat an edge, in the same or the other direction, or have weight 0: 2",
            ),
            "features": [[0, 1, 1, 1], [1, 0, 2, 0.5], [0, 0, 3, 0]],
        },
    ),
    "ids of the edges alone, without features": (
        "source,target\na,b\nb,zoe\nyan,a\n",
        "id,label\nb,x\na,y\n",
        {},
        {
            "ids": ["b", "a", "yan", "zoe"],
            "labels": ["x", "y", None, None],
            "notes": ("ids that only the edges name, now nodes without a label: 2",),
        },
    ),
    "an id of the edges alone has missing features": (
        "source,target\na,b\nb,c\nc,d\nd,e\ne,ghost\n",
        "id,label,size,kind\na,x,1,u\nb,y,2,v\nc,x,3,u\nd,,4,v\ne,y,5,u\n",
        {},
        {
            "ids": ["a", "b", "c", "d", "e", "ghost"],
            "labels": ["x", "y", "x", None, "y", None],
            "features": [[1, 0, 1], [0, 1, 2], [1, 0, 3], [0, 1, 4], [1, 0, 5], [0, 0, 3]],  # no category, and the mean
        },
    ),
    "decimal commas": (
        "source;target;weight\na;b;0,5\nb;c;2\n",
        "id;size\na;1,25\nb;-2,5\nc;\n",
        {},
        {"features": [[1.25], [-2.5], [-0.625]], "weights": [0.5, 0.5, 2, 2]},
    ),
    "a split": (
        RING,
        "id,label,Split,x\na,1,train,0\nb,2,Val,1\nc,1,test,2\nd,2,TRAIN,3\ne,1,,4\n",
        {},
        {
            "split": [[0, 3], [1], [2]],
            "features": [[0], [1], [2], [3], [4]],
            "notes": (
                "the split is that of column 'Split'",
                "labels that are not used, because column 'Split' is blank there: 1",
            ),
        },
    ),
    "test nodes without a label": (
        RING,
        "id,label,split\na,1,train\nb,2,train\nc,1,val\nd,,test\ne,2,test\n",
        {},
        {
            "split": [[0, 1], [2], [4]],
            "notes": (
                "the split is that of column 'split'",
                "test nodes without a label, which are predicted and not counted: 1",
            ),
        },
    ),
    "a dropped split is no split": (
        RING,
        "id,label,split,x\na,1,q,1\nb,2,q,2\nc,1,r,3\nd,2,r,4\ne,1,s,5\n",
        {"drop": ("split",)},
        {"split": None, "columns": [("x", "number", 0, ())], "notes": ("columns dropped on request: split",)},
    ),
    "SNAP with a weight in the comment": (
        "# signed\n# FromNodeId\tToNodeId\tTrust\n1\t2\t3\n2\t3\t0.5\n", None, {"weight": "Trust"},
        {"weights": [3, 3, 0.5, 0.5]},
    ),
    "comments between rows": (
        "# first\na,b\n#c,d\nb,c\n# end\n",
        None,
        {},
        {
            "ids": ["b", "c"],
            "notes": (
                "the first row of e.csv was taken for the names of its columns: a, b",
                "lines of e.csv that begin with # were taken for comments: 2",
            ),
        },
    ),
    "ids that begin with a hash, below a header": (
        "source,target\n#cats,#dogs\n#dogs,birds\n",
        "id,label\n#cats,a\n#dogs,b\nbirds,a\n",
        {},
        {"ids": ["#cats", "#dogs", "birds"], "n_edges": 2, "notes": ()},
    ),
    "nodes with comments": (
        HEAD + ROWS,
        SNAP_NODES,
        {},
        {
            "ids": [0, 5, 7, 11],
            "labels": ["art", None, "law", "art"],
            "features": [[1.5], [2.0], [2.5], [2.0]],
            "ends": ("FromNodeId", "ToNodeId"),
        },
    ),
    "nodes without names, as of email-Eu-core": (
        "0 11\n5 7\n", "0 1\n5 1\n7 2\n11 2\n", {"label": "2"}, {"classes": ("1", "2"), "notes": ()},
    ),
    "nodes without names, the first row of which holds a 2": (
        "1 11\n5 7\n", "1 2\n5 1\n7 2\n11 2\n", {"label": "2"}, {"classes": ("1", "2"), "notes": ()},
    ),
    "numbered headers of unnamed tables": (
        "0,1,2\n10,20,0.5\n", None, {"weight": "2"}, {"ids": [10, 20], "weights": [0.5, 0.5]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_how_files_are_read(read: Read, name: str) -> None:
    edges, nodes, options, expected = GOOD[name]
    found = seen(read(edges, nodes, **options))
    assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize("delimiter", [",", ";", "\t", " ", "|"])
def test_delimiters_are_guessed(read: Read, delimiter: str) -> None:
    edges, nodes = EDGES.replace(",", delimiter), NODES.replace(",,", ",music,").replace(",", delimiter)
    graph = read(edges, nodes, id="paper", label="topic").graph
    assert (graph.n_nodes, graph.n_edges, graph.n_classes) == (4, 2, 3)


@pytest.mark.parametrize(
    ("edges", "nodes", "options", "sentence"),
    [
        ("1,2\n3,\n", None, {}, r"e\.csv, row 2, column '2': the id is blank"),
        (EDGES, None, {"ends": ("to", "to")}, r"e\.csv: column 'to' cannot be both ends"),
        (EDGES, None, {"delimiter": ", "}, r"delimiter ', ' must be a single character"),
        (EDGES, "id:label\nanna:x\n", {"label": "label"}, r"no column 'label'; if it has several .*--delimiter"),
        (EDGES, None, {"ends": ("form", "to")}, r"no column 'form'; did you mean 'from'\?"),
        (EDGES, None, {"label": "topic"}, r"Column 'topic' belongs to a file of nodes"),
        (EDGES, NODES, {"label": "genre", "id": "paper"}, r"n\.csv has no column 'genre'\. Its columns are 'paper'"),
        (ABC, "id,label\na,1\n", {"split": "part"}, r"n\.csv has no column 'part'"),
        (ABC, "id,label\na,train\n", {"split": "label"}, "cannot be split and id or label"),
        (ABC + "zoe,a\n", "id,label,f\nb,x,1\na,y,2\n", {}, r"e\.csv, row 3: id 'c' is not in .*n\.csv.*2 such ids"),
        ("1 11\n5 7\n", "1 1\n5 2\n", {}, r"n\.csv, row 1: numbers instead of the names .*--label 2"),
        ("source,target\np0,p1\n", "id,label\nP0,x\nP1,y\n", {}, "no other id.*write ids alike.*perhaps it is 'P0'"),
        ("source,target\n1.0,2.0\n", "id,label,x\n1,x,1\n2,y,2\n", {}, "perhaps it is '1' there"),
        ("source,target\né,b\n", "id,label\ne\u0301,x\nc,y\n", {}, r"'é' is not in .*perhaps it is 'e\\u0301' there"),
    ],
)  # fmt: skip
def test_defects(read: Read, edges: str, nodes: str | None, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read(edges, nodes, **options)


def test_wrong_options_are_answered_with_the_nearest() -> None:
    with pytest.raises(TypeError, match="There is no option 'lable'; did you mean 'label'"):
        Graph.from_csv("e.csv", lable="topic")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="There is no option 'delimiter'; there are label, target"):
        Graph.from_pandas(None, delimiter=",")  # type: ignore[arg-type, call-arg]


def test_validation_nodes_are_drawn_if_none_are_named(read: Read) -> None:
    graph = read(RING, "id,label,split\na,1,train\nb,1,train\nc,2,train\nd,2,train\ne,2,test\n").graph
    split = graph.split
    assert split is not None
    assert (split.test.tolist(), split.validation.size) == ([4], 2)
    assert sorted(graph.truth[split.train].tolist()) == [0, 1]
    assert np.union1d(split.train, split.validation).tolist() == [0, 1, 2, 3]
    assert any("names no validation nodes" in note for note in graph.notes)


@pytest.mark.parametrize("word", ["-1", "-1.0", "unknown", "Unknown", "UNLABELLED", "n/a", "NaN", "?", "None", "  "])
def test_words_for_an_unknown_label(read: Read, word: str) -> None:
    """A class of -1 or unknown once was learned, and predicted for every node."""
    nodes = f"id,label\na,{word}\nb,y\nc,x\n"
    graph = read(ABC, nodes).graph
    assert graph.class_names == ("x", "y")
    assert word.isspace() or any(f"read as unknown, because they are '{word}': 1" in note for note in graph.notes)
    assert len(read(ABC, nodes, unknown=["x"]).graph.class_names) == (1 if word.isspace() else 2)


@pytest.mark.parametrize("cell", ["", "  ", "NA", " NA", "NA "])
def test_blanks_around_cells_do_not_count(read: Read, cell: str) -> None:
    """A missing number with a blank beside it once made its column a category of words."""
    nodes = f"id, label, size, city\na, x, 1.5, Rome\nb, y,{cell},Rome\nc, x, 2.5, Oslo \n"
    assert seen(read(ABC, nodes))["columns"] == [("city", "category", 0, ("Oslo", "Rome")), ("size", "number", 1, ())]


def test_a_cell_may_be_a_book(read: Read) -> None:
    """Python's reader of tables, which guesses the layout, stops at 131,072 letters by default."""
    book = "the whale " * 20_000
    (column,) = read("source,target\na,b\n", f"id,label,text\na,x,{book}\nb,y,short\n").graph.columns
    assert column.values == ("short", book.strip())


def test_names_of_graphs(tmp_path: Path) -> None:
    assert graph_name("data/web-Google.txt.gz") == "web-Google"
    assert graph_name("web.txt.zst") == graph_name("web.mtx") == graph_name("web.parquet") == "web"
    assert graph_name(tmp_path / "edges.csv.gz") == graph_name(tmp_path / "edges.csv") == tmp_path.name
    assert graph_name(tmp_path / "trade.csv") == "trade"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", ["\t", " ", ","])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_snap_files_are_read_as_their_rows_alone(read: Read, delimiter: str, end: str, mark: str) -> None:
    plain = seen(read(ROWS))
    found = read(mark + (HEAD + ROWS).replace("\t", delimiter).replace("\n", end))
    assert seen(found) == plain | {"ends": ("FromNodeId", "ToNodeId")}
    lines = understood(found)
    assert lines[0].endswith(", UTF-8, 4 comment lines")
    assert lines[1].endswith(" has the names of its columns in a comment: FromNodeId, ToNodeId")


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
def test_names_are_distinguished_from_comments_and_rows(
    read: Read, text: str, ids: list[object], columns: tuple[str, str]
) -> None:
    found = read(text)
    assert (found.graph.ids.tolist(), found.edges.columns.ends) == (ids, columns)


@pytest.mark.parametrize(
    ("text", "nodes", "sentence"),
    [
        (HEAD + "0\t1\n\n1\t\n", None, r"row 7, column 'ToNodeId': the id is blank"),
        (HEAD + "0\t1\n# remark\n1\t\n", None, r"row 7, column 'ToNodeId': the id is blank"),
        (HEAD + "\t\n0\t1\n1\t\n", None, r"row 7, column 'ToNodeId': the id is blank"),
        (HEAD + "0\t1\n1\t2\t3\n", None, r"row 6 has 3 fields instead of 2"),
        ("# a\n\n# b\nu,v,weight\n0,1,1\n\n1,2,-3\n", None, r"row 7, column 'weight': weight -3\.0"),
        ('# a\nu,v\n"a\nb",c\n\nd,\n', None, r"row 6, column 'v': the id is blank"),
        ('# a\nu,v\n"a\nb",c\nd,e,f\n', None, r"row 5 has 3 fields instead of 2"),
        ('# a\nu,v\nb,c\n\n"d,e\n', None, r"the quote that opens in row 5 is never closed"),
        ("# a\n\n0\n1\n", None, r"row 3: one column"),
        ("# a\nu,u\n1,2\n", None, r"row 2: two columns are named 'u'"),
        ("# only\n# remarks\n", None, r"has only lines that begin with #"),
        ("# b\n0\t1\n1\t\x00\n", None, r"line 3: a NUL byte"),
        (HEAD + ROWS, "# NodeId\tx\n0\t1\n5\t2\n7\t2\n", r"row 5: id '11' is not in .*n\.csv"),
        (ROWS, SNAP_NODES.replace("2.5", "inf"), "row 5, column 'size': the value is infinite"),
        (ROWS, SNAP_NODES.replace("7\tlaw", "0\tlaw"), "row 5, column 'NodeId': id '0' is in an earlier row"),
        (ROWS, SNAP_NODES + "# end\n\n\tlaw\t1\n", "row 9, column 'NodeId': the id is blank"),
    ],
)
def test_rows_in_messages_are_lines_of_the_file(read: Read, text: str, nodes: str | None, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read(text, nodes)


LONG_EDGES = [
    (HEAD + ROWS, True),
    ("# a\n\nsource,target\n0,11\n# b\n0,5\n11,7\n7,0\n", True),
    ("source,target\na,b\nb , c\n007,7\n", True),
    ("year,target,source,weight\n1,b,a,2\n2,c,b,3\n", True),
    ('source,target\n"a,1","b ""x"""\n"b ""x""",c\n', True),
    ("\ufeffsource;target\r\na;b\r\n\r\nb;c\r\n", True),
    ("1\t2\n2\t3\n3\t1\n", True),
    ('source,target\n"a\nb",c\nc,d\n', True),
    ("source,target,weight\na,b,1\nb,c,x\n", False),
    ("source,target,weight\na,b,1\nb,c,\n", False),
    ("source,target\na,b\nb,\n", False),
]


@pytest.mark.parametrize(("edges", "is_sound"), LONG_EDGES)
def test_long_files_of_edges_are_read_the_same(
    read: Read, monkeypatch: pytest.MonkeyPatch, edges: str, is_sound: bool
) -> None:
    """By pyarrow; or they are refused with the same words."""
    results = []
    for long in (1 << 62, 0):
        monkeypatch.setattr(text_files, "LONG", long)
        try:
            results.append(seen(read(edges)))
        except InputError as error:
            results.append({"error": str(error)})
    assert results[0] == results[1]
    assert ("error" not in results[0]) == is_sound


@pytest.mark.parametrize("column", ["3.5", "blue", "NA", "", '"a, b"'])
def test_long_files_of_nodes_are_read_the_same(read: Read, monkeypatch: pytest.MonkeyPatch, column: str) -> None:
    """Pyarrow reads them, or leaves them to pandas; the second column of features begins with any entry."""
    others = "red,blue,blue,red" if column == "blue" else "1,2,,4"
    rows = [f"u{k},{'ab'[k % 2] if k else ''},{k / 3},{entry}" for k, entry in enumerate([column, *others.split(",")])]
    nodes, results = "\n".join(["id,label,x,y", *rows]), []
    for long in (1 << 62, 0):
        monkeypatch.setattr(text_files, "LONG", long)
        results.append(seen(read("source,target\nu0,u1\nu1,u2\nu2,u3\nu3,u4\n", nodes)))
    assert results[0] == results[1]
