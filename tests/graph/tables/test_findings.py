"""Findings of `check`: each oddity in a file is found and counted, and a clean file has none."""

from pathlib import Path

from hiergcn.graph.tables.csv_files import CsvGraph, read_csv
from hiergcn.graph.tables.findings import column_roles, findings, label_counts, understood

EDGES = "source,target\na,b\nb,a\nb,c\nb,c\nc,c\nc,d\nd,zoe\n"
NODES = """id,label,split,size,same,none,kind
a,Art,,1,5,,red
A,art,,2,5,,
b,law,,,5,,blue
c,law,,3,5,,red
d,,,4,5,,blue
"""


def read(folder: Path, edges: str, nodes: str | None) -> CsvGraph:
    (folder / "e.csv").write_text(edges)
    if nodes is None:
        return read_csv(folder / "e.csv")
    (folder / "n.csv").write_text(nodes)
    return read_csv(folder / "e.csv", folder / "n.csv")


def test_every_oddity_is_reported(tmp_path: Path) -> None:
    found = read(tmp_path, EDGES.replace("d,zoe\n", ""), NODES)
    told = {(finding.what, finding.number, finding.done) for finding in findings(found)}
    assert told == {
        ("self-loops", 1, "dropped"),
        ("edges listed again in the same direction", 1, "counted once"),
        ("nodes without an edge", 1, "kept; predicted from their own features alone"),
        ("ids that only the nodes name", 1, "nodes without an edge"),
        ("ids that differ by case or blanks only, such as 'a', 'A'", 2, "different nodes"),
        ("empty columns: 'none'", 1, "left out"),
        ("columns with one value only: 'same'", 1, "kept, though they carry no information"),
        ("missing values in column 'size'", 1, "the column's mean"),
        ("missing values in column 'kind'", 1, "none of its categories"),
        ("nodes without a label", 1, "predicted"),
        ("classes with one label: 'Art', 'art'", 2, "used for training; none is left to validate the class"),
        ("classes that differ by case or blanks only: 'Art', 'art'", 2, "different classes"),
    }
    assert {column: becomes for _, column, becomes in column_roles(found)} == {
        "source": "one end of an edge",
        "target": "the other end",
        "id": "id",
        "label": "label; blank is unknown",
        "split": "split",
        "size": "a feature (number)",
        "same": "a feature (number)",
        "none": "nothing: it is empty",
        "kind": "2 features (category)",
    }
    assert label_counts(found.graph) == [("law", 2), ("Art", 1), ("art", 1)]


def test_ids_of_the_edges_alone_and_no_features(tmp_path: Path) -> None:
    found = findings(read(tmp_path, EDGES, "id,label\na,x\nb,y\nc,x\nd,y\n"))
    told = {finding.what: finding.number for finding in found}
    assert told["ids that only the edges name"] == 1
    assert told["nodes without features"] == 4


def test_a_clean_file_has_none(tmp_path: Path) -> None:
    nodes = "id,label,x\n1,u,1\n2,v,2\n3,u,3\n4,v,4\n"
    assert findings(read(tmp_path, "source,target\n1,2\n2,3\n3,4\n", nodes)) == []
    assert findings(read(tmp_path, "source,target\n1,2\n2,3\n3,4\n", None)) == []


def test_words_for_an_unknown_label_are_pointed_out(tmp_path: Path) -> None:
    nodes = "id,label,x\n1,u,1\n2,-1,2\n3,none,3\n4,unknown,4\n5,-1,5\n6,u,6\n"
    told = {(one.what, one.number): one.done for one in findings(read(tmp_path, "source,target\n1,2\n", nodes))}
    assert told[("labels '-1'", 2)] == told[("labels 'unknown'", 1)] == "unknown; --unknown names other words for that"
    assert told[("classes named like a missing label: 'none'", 1)] == "classes; --unknown makes them unknown"


def test_weights_and_their_zeros(tmp_path: Path) -> None:
    found = read(tmp_path, "source;target;weight\na;b;1\na;b;2\nb;c;0\n", None)
    told = {(finding.what, finding.number, finding.done) for finding in findings(found)}
    assert ("edges listed again in the same direction", 1, "weights added up") in told
    assert ("edges of weight 0", 1, "no edge") in told
    lines = understood(found)
    assert "e.csv: semicolon between columns, UTF-8" in lines
    assert "edges are weighted by column 'weight'" in lines
    assert "ids are text, from a to c" in lines


def test_direction(tmp_path: Path) -> None:
    both = understood(read(tmp_path, "1 2\n2 1\n2 3\n3 2\n", None))
    assert "every edge is listed both ways: the graph is undirected" in both
    assert "e.csv has no line of column names: its columns are called 1, 2, .." in both
    one = understood(read(tmp_path, "source,target\n1,2\n2,1\n2,3\n4,3\n", None))
    assert "edges are taken in both directions, whichever end is named first (50 % are listed both ways)" in one
