"""Formats that people have: the same tables in each of them give the same graph."""

import bz2
import gzip
import lzma
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
import scipy.sparse as sp
from pyarrow import feather
from scipy.io import mmwrite

from hiergcn.errors import InputError, MissingPackageError
from hiergcn.graph import Graph
from hiergcn.graph.tables.csv_files import read_csv
from hiergcn.graph.tables.findings import understood

EDGES = pd.DataFrame({"source": ["a", "b", "c", "NA"], "target": ["b", "c", "NA", "a"], "weight": [1.0, 2.5, 1.0, 3.0]})
NODES = pd.DataFrame(
    {
        "id": ["a", "b", "c", "NA"],
        "label": ["art", None, "law", "unknown"],
        "size": [1.5, np.nan, 3.0, 4.0],
        "city": ["Rome", "Oslo", "?", "Rome"],
        "open": pd.Series([True, False, None, True], dtype=object),
    }
)


def zstd(content: bytes) -> bytes:
    compressed: bytes = pa.compress(content, codec="zstd", asbytes=True)
    return compressed


def as_text(encode: Callable[[str], bytes]) -> Callable[[pd.DataFrame, Path], Any]:
    return lambda table, path: path.write_bytes(encode(table.to_csv(index=False)))


def jsonl(table: pd.DataFrame, path: Path) -> None:
    table.to_json(path, orient="records", lines=True)


def parquet_folder(table: pd.DataFrame, path: Path) -> None:
    path.mkdir()
    for part in range(2):
        table.iloc[2 * part : 2 * part + 2].to_parquet(path / f"part-{part}.parquet", index=False)


def duckdb_table(table: pd.DataFrame, path: Path) -> None:
    database = pytest.importorskip("duckdb", reason="duckdb is not installed").connect(str(path))
    database.register("given", table)
    database.execute("CREATE TABLE single AS FROM given")
    database.close()


WRITERS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "gzip": as_text(lambda text: gzip.compress(text.encode())),
    "zstd": as_text(lambda text: zstd(text.encode())),
    "bzip2": as_text(lambda text: bz2.compress(text.encode())),
    "xz": as_text(lambda text: lzma.compress(text.encode())),
    "UTF-16": as_text(lambda text: text.encode("utf-16")),
    "UTF-16 big": as_text(lambda text: b"\xfe\xff" + text.encode("utf-16-be")),
    "UTF-16 in gzip": as_text(lambda text: gzip.compress(text.encode("utf-16"))),
    "# comments": as_text(lambda text: b"# made by hand\n" + text.encode() + b"# the end\n"),
    "% comments": as_text(lambda text: b"% made by hand\n" + text.encode()),
    "tabs": lambda table, path: table.to_csv(path, index=False, sep="\t"),
    "Parquet": lambda table, path: table.to_parquet(path, index=False),
    "Parquet in files": parquet_folder,
    "DuckDB": duckdb_table,
    "Arrow": lambda table, path: feather.write_feather(table, path),
    "JSON lines": jsonl,
    "JSON lines in zstd": lambda table, path: path.write_bytes(
        zstd(table.to_json(orient="records", lines=True).encode())
    ),
    "Excel": lambda table, path: table.to_excel(path, index=False, engine="openpyxl"),
}


def content(graph: Graph) -> dict[str, Any]:
    return {
        "ids": graph.ids.tolist(),
        "adjacency": graph.adjacency.toarray().tolist(),
        "features": np.asarray(graph.features).tolist(),
        "columns": [(one.name, one.kind, one.values) for one in graph.columns],
        "labels": [None if k < 0 else graph.class_names[k] for k in graph.truth],
    }


@pytest.mark.parametrize("form", WRITERS)
def test_every_format_holds_the_same_graph(tmp_path: Path, form: str) -> None:
    if form == "Excel":
        pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    expected = content(Graph.from_pandas(EDGES, NODES))
    suffix = ".xlsx" if form == "Excel" else ".any"
    for table, name in ((EDGES, "e"), (NODES, "n")):
        WRITERS[form](table, tmp_path / f"{name}{suffix}")
    found = read_csv(tmp_path / f"e{suffix}", tmp_path / f"n{suffix}")
    assert content(found.graph) == expected
    assert understood(found)[0].startswith(f"e{suffix}: ")


def test_whole_numbers_in_parquet_and_json_are_ids_as_in_text(tmp_path: Path) -> None:
    edges = pd.DataFrame({"source": [10, 9], "target": [9, 700]})
    nodes = pd.DataFrame({"id": [700, 10, 9], "label": pd.array([1, None, 2], dtype="Int64")})
    for write in (WRITERS["Parquet"], jsonl):
        write(edges, tmp_path / "e")
        write(nodes, tmp_path / "n")
        graph = Graph.from_csv(tmp_path / "e", tmp_path / "n")
        assert graph.ids.tolist() == [700, 10, 9]
        assert graph.class_names == ("1", "2")
        assert Graph.from_csv(tmp_path / "e").ids.tolist() == [9, 10, 700]
    mixed = pd.DataFrame({"source": ["a", "007"], "target": ["7", "a"]})
    mixed.to_parquet(tmp_path / "m.parquet")
    assert Graph.from_csv(tmp_path / "m.parquet").ids.tolist() == ["007", "7", "a"]


@pytest.mark.parametrize("index", [None, "id"])
@pytest.mark.parametrize("whole", [False, True])
def test_an_index_in_parquet_is_read_as_from_pandas_reads_it(tmp_path: Path, index: str | None, whole: bool) -> None:
    """One without a name once became a feature; one that counts the rows is not in the file."""
    edges = EDGES.replace({"a": 0, "b": 1, "c": 2, "NA": 3}).infer_objects() if whole else EDGES
    indexed = NODES.drop(columns="id").set_axis(pd.Index(range(4) if whole else NODES["id"], name=index))
    beside = NODES.set_axis([3, 1, 2, 0])
    edges.to_parquet(tmp_path / "e")
    for nodes in (beside, indexed) if not whole else (indexed,) if index else ():
        nodes.to_parquet(tmp_path / "n")
        assert content(Graph.from_csv(tmp_path / "e", tmp_path / "n")) == content(Graph.from_pandas(edges, nodes))


def test_matrix_market(tmp_path: Path) -> None:
    """Nodes are 1, 2, .. as in the file; those without an entry are nodes, too."""
    weights = sp.coo_array(([2.0, 2.0, 0.5, 0.5], ([0, 1, 1, 3], [1, 0, 3, 1])), shape=(5, 5))
    mmwrite(tmp_path / "w.mtx", weights, symmetry="symmetric")
    graph = Graph.from_csv(tmp_path / "w.mtx")
    assert graph.ids.tolist() == [1, 2, 3, 4, 5]
    assert np.array_equal(graph.adjacency.toarray(), weights.toarray())
    (tmp_path / "p.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n% a comment\n3 3 2\n1 2\n3 2\n")
    assert Graph.from_csv(tmp_path / "p.mtx").n_edges == 2
    (tmp_path / "n.csv").write_text("id,label\n1,x\n2,y\n4,x\n5,y\n")
    assert Graph.from_csv(tmp_path / "w.mtx", tmp_path / "n.csv").ids.tolist() == [1, 2, 4, 5]
    mmwrite(tmp_path / "wide.mtx", sp.coo_array(np.ones((2, 3))))
    with pytest.raises(InputError, match=r"wide\.mtx holds a matrix of 2 by 3; give a square one"):
        Graph.from_csv(tmp_path / "wide.mtx")
    (tmp_path / "negative.mtx").write_text("%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2 -1\n")
    with pytest.raises(InputError, match=r"negative\.mtx, row 1, column 'weight': weight -1\.0"):
        Graph.from_csv(tmp_path / "negative.mtx")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    "content",
    [
        "%%MatrixMarket matrix coordinate pattern symmetric\n5 5 4\n2 1\n3 1\n4 2\n5 3\xe6",
        "%%MatrixMarket matrix coordinate pattern symmetric\n5 5 4\n2 1\n3 1" + 9 * "\0",
        "%%MatrixMarket matrix coordinatttern symmetric\n5 5 4\n2 1\n3 1\n4 2\n5 3\n",
        "\n%%MatrixMarket matrix coordinate pattern symmetric\n5 5 4\n2 1\n3 1\n4 2\n5 \r\n\n",
        "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 4 1\n",
        "%%MatrixMarket matrix coordinate real general\n3 3 99999999999999\n1 2 1\n",
        "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2\n",
        "%%MatrixMarket matrix array real general\n1 1\n1\n",
        "%%MatrixMarket matrix coordinate complex general\n3 3 1\n1 2 1 1\n",
        "%%MatrixMarket matrix coordinate real general\n",
    ],
)
def test_damaged_matrix_market(tmp_path: Path, content: str, packed: bool) -> None:
    """scipy's reader ended the process on the first four: it reads beyond the end of the file."""
    data = content.encode("latin-1")
    (tmp_path / "m.mtx").write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(InputError, match=r"m\.mtx (cannot be read|holds)"):
        Graph.from_csv(tmp_path / "m.mtx")


def test_columns_of_bytes_and_lists_are_named(tmp_path: Path) -> None:
    edges = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "weight": [1.0, 2.0]})
    for form, write in (("parquet", pd.DataFrame.to_parquet), ("jsonl", jsonl)):
        write(edges.assign(target=pd.Series([["b"], ["c"]])), tmp_path / f"e.{form}")
        with pytest.raises(InputError, match=r"e\.\w+, column 'target' holds lists"):
            Graph.from_csv(tmp_path / f"e.{form}")
    edges.to_parquet(tmp_path / "e.parquet")
    pd.DataFrame({"id": ["a", "b"], "city": [b"\xff", b"\0"]}).to_parquet(tmp_path / "n.parquet")
    with pytest.raises(InputError, match=r"n\.parquet, column 'city' holds lists or bytes"):
        Graph.from_csv(tmp_path / "e.parquet", tmp_path / "n.parquet")


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_weight_is_no_end(tmp_path: Path, form: str) -> None:
    edges = pd.DataFrame({"weight": [1.0, 2.0], "a": ["x", "y"], "b": ["y", "z"]})
    write = pd.DataFrame.to_parquet if form == "parquet" else partial(pd.DataFrame.to_csv, index=False)
    write(edges, tmp_path / f"e.{form}")
    assert Graph.from_csv(tmp_path / f"e.{form}").ids.tolist() == ["x", "y", "z"]
    write(edges.drop(columns="b"), tmp_path / f"one.{form}")
    with pytest.raises(InputError, match=rf"one\.{form}: one column beside 'weight', but an edge has two ends"):
        Graph.from_csv(tmp_path / f"one.{form}")


def test_names_with_line_breaks(tmp_path: Path) -> None:
    """Spreadsheets write such names; they once were cut, or the file was refused for another reason."""
    (tmp_path / "e.csv").write_text('"from\nwhom","to\r\nwhom",weight\na,b,1\nb,c,2\n')
    (tmp_path / "n.csv").write_text('id,"my\n label","a, b"\na,x,1\nb,y,2\nc,x,3\n')
    graph = Graph.from_csv(tmp_path / "e.csv", tmp_path / "n.csv", label="my label")
    assert graph.n_edges == 2
    assert graph.class_names == ("x", "y")
    assert [column.name for column in graph.columns] == ["a, b"]
    (tmp_path / "n.csv").write_text('id,"my\n label"\na,x\na,y\n')
    with pytest.raises(InputError, match=r"n\.csv, row 4, column 'id': id 'a' is in an earlier row"):
        Graph.from_csv(tmp_path / "e.csv", tmp_path / "n.csv", label="my label")


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (NODES.assign(id=np.array(["a", "b", None, "c"], object)), r"row 3, column 'id': the id is blank"),
        (NODES.assign(id=["a", "b", "a", "c"]), r"row 3, column 'id': id 'a' is in an earlier row"),
        (NODES.assign(size=[1, 2, np.inf, 4]), r"row 3, column 'size': the value is infinite"),
        (NODES.rename(columns={"size": "city "}), r"two columns are named 'city'"),
        (NODES[:0], r"has no rows; give a row per node"),
    ],
)
def test_defects_are_named_in_typed_files_as_in_text(tmp_path: Path, table: pd.DataFrame, sentence: str) -> None:
    EDGES.to_parquet(tmp_path / "e.parquet")
    table.to_parquet(tmp_path / "n.parquet")
    with pytest.raises(InputError, match=sentence):
        Graph.from_csv(tmp_path / "e.parquet", tmp_path / "n.parquet")


def test_excel_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    EDGES.to_excel(tmp_path / "e.xlsx", index=False)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingPackageError, match=r"Excel workbook, which needs openpyxl; run pip install openpyxl"):
        Graph.from_csv(tmp_path / "e.xlsx")


class TestDuckDB:
    @pytest.fixture
    def database(self, tmp_path: Path) -> Path:
        duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
        path = tmp_path / "graph's.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.register("e", EDGES)
            connection.register("n", NODES)
            connection.execute(
                "CREATE TABLE links AS FROM e; CREATE SCHEMA old; CREATE TABLE old.links AS FROM e LIMIT 2"
            )
            connection.execute('CREATE TABLE people AS FROM n; CREATE VIEW "odd name" AS FROM links')
        return path

    def test_tables_and_views_by_name(self, database: Path) -> None:
        expected = content(Graph.from_pandas(EDGES, NODES))
        for links in ("links", "main.links", "LINKS", "odd name"):
            assert content(Graph.from_csv(database / links, database / "people")) == expected
        assert Graph.from_csv(database / "old.links").n_edges == 2

    def test_a_name_is_needed_and_must_exist(self, database: Path) -> None:
        with pytest.raises(InputError, match=r"holds 4 tables; name one of them, as in .*graph's.duckdb/links"):
            Graph.from_csv(database)
        with pytest.raises(InputError, match=r"has no table 'likns'; its tables are main.links, "):
            Graph.from_csv(database / "likns")

    def test_a_table_of_another_file_is_no_table(self, tmp_path: Path) -> None:
        (tmp_path / "e.csv").write_text("source,target\na,b\n")
        with pytest.raises(InputError, match="cannot be read"):
            Graph.from_csv(tmp_path / "e.csv" / "links")

    def test_a_damaged_database(self, database: Path, tmp_path: Path) -> None:
        broken = tmp_path / "broken.duckdb"
        broken.write_bytes(database.read_bytes()[:6000])
        with pytest.raises(InputError, match=r"broken.duckdb cannot be read by DuckDB"):
            Graph.from_csv(broken)
