"""Broken files by the hundred: each is a pair of edges and nodes of which one is broken.

By hand, one for each mistake that people make; generated, a mistake put at each of many places of a sound file.
"""

import bz2
import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

EDGES = b"source,target,weight\na,b,1\nb,c,2\nc,d,1\nd,a,1\n"
NODES = b"id,label,x,y\na,art,1,0.5\nb,law,2,0.1\nc,art,3,\nd,law,4,0.2\n"


@dataclass(frozen=True)
class Broken:
    """Two files, the words that the sentence must have, and the columns that the caller names."""

    name: str
    edges: bytes
    nodes: bytes | None
    expected: tuple[str, ...]
    drop: tuple[str, ...] = ()
    label: str | None = None
    weight: str | None = None


def all_broken() -> list[Broken]:
    return [*_not_text(), *_not_a_table(), *_by_hand(), *_generated()]


def _zipped() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return target.getvalue()


def _archived() -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        member = tarfile.TarInfo("edges.csv")
        member.size = len(EDGES)
        archive.addfile(member, io.BytesIO(EDGES))
    return target.getvalue()


def _arrays() -> bytes:
    target = io.BytesIO()
    np.savez(target, source=np.arange(3), target=np.arange(3))
    return target.getvalue()


def _either(name: str, content: bytes, *expected: str) -> Iterator[Broken]:
    """The same content in place of either file."""
    yield Broken(f"{name} for edges", content, NODES, ("edges.csv", *expected))
    yield Broken(f"{name} for nodes", EDGES, content, ("nodes.csv", *expected))


def _not_text() -> Iterator[Broken]:
    text = EDGES.decode()
    yield from _either("gzip cut short", gzip.compress(EDGES * 50)[:-20], "damaged gzip file")
    yield from _either("gzip of something else", gzip.compress(b"PAR1\x15\x04\x15 PAR1"), "Parquet")
    yield from _either("tar", _archived(), "tar archive", "unpack")
    yield from _either("tar in gzip", gzip.compress(_archived()), "tar archive", "unpack")
    yield from _either("xlsx", _zipped(), "damaged Excel workbook", "save it again")
    yield from _either("npz", _arrays(), "NumPy arrays", "Graph.to_npz")
    yield from _either("xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(64), "not text", "CSV in UTF-8")
    yield from _either("parquet", b"PAR1\x15\x04\x15 PAR1", "cannot be read as Parquet", "write it again")
    yield from _either("feather", b"ARROW1\x00\x00", "cannot be read as Arrow", "write it again")
    yield from _either("pdf", b"%PDF-1.7\n%\xe2\xe3", "line 2", "no text at all", "CSV in UTF-8")
    yield from _either("sqlite", b"SQLite format 3\x00", "not text", "CSV in UTF-8")
    yield from _either("npy", b"\x93NUMPY\x01\x00v\x00{}", "NumPy", "Graph.from_scipy")
    yield from _either("hdf5", b"\x89HDF\r\n\x1a\n", "no text at all", "CSV in UTF-8")
    yield from _either("bzip2", b"BZh91AY&SY", "damaged bzip2 file", "get it again")
    yield from _either("bzip2 cut short", bz2.compress(EDGES * 50)[:-20], "damaged bzip2 file", "get it again")
    yield from _either("xz", b"\xfd7zXZ\x00", "damaged xz file", "get it again")
    yield from _either("zstd", b"(\xb5/\xfd\x04", "zstd")
    yield from _either("utf-16 cut short", text.encode("utf-16")[:-1], "damaged UTF-16 text", "in UTF-8")
    yield from _either("utf-16 without mark", text.encode("utf-16-le"), "line 1", "NUL")
    yield from _either("utf-32 cut short", text.encode("utf-32")[:-2], "damaged UTF-32 text", "in UTF-8")
    yield from _either(
        "json in several lines", b'{"source": ["a"],\n "target": ["b"]}', "line 1 is not a JSON object", "per line"
    )
    yield from _either("json of lists", b'{"id": "a", "x": 1}\n[1, 2]\n', "line 2 is not a JSON object", "per line")
    yield from _either("json list", b'\n [["a", "b"]]', "JSON")
    yield from _either(
        "matrix cut short", b"%%MatrixMarket matrix coordinate real general\n3 3 5\n1 2 1.0\n", "Matrix Market"
    )
    yield from _either("xml", b"<?xml version='1.0'?><svg/>", "XML", "CSV")
    yield from _either("graphml", b"<?xml version='1.0'?>\n<graphml></graphml>", "GraphML", "Graph.from_graphml")
    yield from _either("graphml without declaration", b"<graphml></graphml>", "GraphML", "Graph.from_graphml")
    yield from _either("web page", b"<!DOCTYPE html><html></html>", "web page")
    yield from _either("web page in capitals", b"<HTML><body>404</body></HTML>", "web page")
    yield from _either("empty", b"", "empty")
    yield from _either("blank lines", b"\n\n\r\n  \n", "empty")
    yield from _either("a mark alone", b"\xef\xbb\xbf", "empty")
    yield from _either("a broken end", b"id,x\na,b\nc,\xe2\x82", "line 3", "breaks off")


def _not_a_table() -> Iterator[Broken]:
    wide = b",".join(b"c%d" % k for k in range(1_000_000))
    yield from _either("a million columns", b"id," + wide + b"\n", "row 1", "1,000,001 columns")
    yield from _either("a line without end", b"a,b" * (1 << 23), "line is longer")
    yield from _either("an endless field", b"id,b\n" + b"x" * 200_000 + b",c\n", "row 2: id", "is not in")
    yield from _either("an open quote", b'id,b\na,b\n"c,d\ne,f\n', "row 3", "quote")
    yield from _either("an open quote in the last row", b"id,b\na,b\nc,d\ne," + b'"f\n', "row 4", "quote")
    yield from _either("one column of edges and names", b"\n\n,,\n", "csv")


def _by_hand() -> Iterator[Broken]:
    def edges(
        name: str, content: bytes, *expected: str, nodes: bytes | None = None, weight: str | None = None
    ) -> Broken:
        return Broken(name, content, nodes, ("edges.csv", *expected), weight=weight)

    def nodes(
        name: str, content: bytes, *expected: str, label: str | None = None, drop: tuple[str, ...] = ()
    ) -> Broken:
        return Broken(name, EDGES, content, ("nodes.csv", *expected), label=label, drop=drop)

    yield edges("only a header", b"source,target\n", "no rows")
    yield nodes("only a header of nodes", b"id,label,x\n", "no rows")
    yield edges("one column", b"source\na\nb\n", "row 1", "one column")
    yield edges("one column and no header", b"1\n2\n", "one column")
    yield edges("a row too long", b"source,target\na,b\nb,c,d\n", "row 3", "3 fields")
    yield edges("rows too long", b"source,target\na,b,c\nb,c,d\n", "more fields")
    yield nodes("a row of nodes too long", b"id,x\na,1\nb,2,3\nc,4\nd,5\n", "row 3", "3 fields")
    yield edges("mixed delimiters", b"source,target\na,b\nb;c\nc\td\n", "row 3", "column 'target'", "blank")
    yield edges("two columns of one name", b"source,source\na,b\n", "row 1", "'source'")
    yield nodes("two features of one name", b"id,x,x\na,1,2\n", "row 1", "'x'")
    yield nodes("names that differ by a blank", b"id,x, x\na,1,2\n", "row 1", "'x'")
    yield edges("a cut row", b"source,target\na,b\nb\n", "row 3", "column 'target'", "blank")
    yield edges("a quoted blank", b'source,target\na,b\n"",c\n', "row 3", "column 'source'", "blank")
    yield edges("a blank in quotes", b'source,target\na,b\n"  ",c\n', "row 3", "column 'source'", "blank")
    for text in (b"much", b"1,5x", b"0x10", b"1 2", b"2024-01-31", b"<b>1</b>", *b"=1+1 1e --1 true 1_0".split()):
        content = b'source,target,weight\na,b,1\nb,c,"' + text + b'"\n'
        yield edges(f"weight {text.decode()}", content, "row 3", "column 'weight'", "number")
    for text in (b"-1", b"-1e-9", b"inf", b"-inf", b"Infinity", b"1e400", b"-1e400", b"9" * 400):
        content = b"source,target,weight\na,b,1\nb,c," + text + b"\n"
        yield edges(f"weight {text[:9].decode()}", content, "row 3", "column 'weight'", "finite")
    for text in (b"", b"NA", b"nan", b"NULL", b"None", b"?", b"n/a"):
        content = b"source,target,weight\na,b,1\nb,c," + text + b"\n"
        yield edges(f"weight missing as {text.decode()}", content, "row 3", "column 'weight'", "nothing")
    for text in (b"inf", b"-inf", b"Infinity", b"1e400", b"-1e999", b"9" * 400, b"+inf"):
        content = NODES.replace(b"b,law,2", b"b,law," + text)
        yield nodes(f"feature {text[:9].decode()}", content, "row 3", "column 'x'", "infinite")
    for other in (b"a", b" a", b"a ", b" 7", b"\ta", "\u00a0a".encode()):
        first = b"7" if other == b" 7" else b"a"
        content = b"id,label\n" + first + b",art\nb,law\nc,law\n" + other + b",art\n"
        yield nodes(f"id twice as {other!r}", content, "row 5", "column 'id'", "earlier row")
    yield nodes("drop of the ids", NODES, "column 'label'", "cannot be the label", drop=("id",))
    yield nodes("a blank id", b"id,x\na,1\n,2\n", "row 3", "column 'id'", "blank")
    yield nodes("no header", b"1,2\n3,4\n", "row 1", "names")
    yield nodes("label that is not there", NODES, "no column 'topic'", label="topic")
    yield nodes("label misspelt", NODES, "did you mean 'label'", label="lable")
    yield nodes("label that is the id", NODES, "cannot be the label", label="id")
    yield nodes("drop of no column", NODES, "no column 'z'", drop=("z",))
    yield nodes("drop of every column", NODES, "every column", drop=("id", "label", "x", "y"))
    yield nodes("an edge to nowhere", NODES.replace(b"d,law", b"e,law"), "row 4", "'d'", "no features")
    order = ("nodes.csv has columns 'source' and 'target'", "name the file of edges first")
    yield Broken("edges and nodes in each other's place", NODES, EDGES, order)
    yield Broken("edges and nodes in each other's place, with a label", NODES, EDGES, order, label="topic")
    yield edges("weight that is not there", EDGES, "no column 'w'", weight="w")
    many = [f"t{k}" for k in range(60)]
    unclear = {
        "thousands or decimals": [f'"{k},500"' for k in range(60)],
        "few thousands or decimals": [f'"{k % 4},500"' for k in range(60)],
        "a word among numbers": [*map(str, range(59)), "much"],
        "units": [f"{k} kg" for k in range(60)],
    }
    for name, values in unclear.items():
        table = "id,text\n" + "".join(f"{one},{value}\n" for one, value in zip(many, values, strict=True))
        ring = "source,target\n" + "".join(f"t{k},t{(k + 1) % 60}\n" for k in range(60))
        yield Broken(name, ring.encode(), table.encode(), ("nodes.csv", "column 'text'"))
    for word in (b"tset", b"1", b"holdout", b"train;test", b"<b>train</b>"):
        content = b"id,label,split\na,art,train\nb,law,train\nc,art," + word + b"\nd,law,test\n"
        yield nodes(f"split {word.decode()}", content, "row 4", "column 'split'", "train, validation, test")
    for word in (b"train", b"validation", b"val"):
        content = b"id,label,split\na,art,train\nb,law,train\nc,,%s\nd,law,test\n" % word
        yield nodes(f"{word.decode()} without label", content, "row 4", "column 'split'", "no label")


def _generated() -> Iterator[Broken]:
    """A byte that is not UTF-8, a NUL, a blank id and a surplus field in every row of either file."""
    for file, sound in (("edges.csv", EDGES), ("nodes.csv", NODES)):
        lines = sound.rstrip(b"\n").split(b"\n")
        for row in range(1, len(lines)):
            where = f"row {row + 1}"

            def with_line(line: bytes, row: int = row, lines: list[bytes] = lines) -> bytes:
                return b"\n".join([*lines[:row], line, *lines[row + 1 :]]) + b"\n"

            for name, line, expected in (
                ("latin-1", lines[row].replace(b",", b"\xe9,", 1), (f"line {row + 1}", "0xe9", "UTF-8")),
                ("windows", lines[row].replace(b",", b"\x80,", 1), (f"line {row + 1}", "0x80", "UTF-8")),
                ("surrogate", lines[row] + b"\xed\xa0\x80", (f"line {row + 1}", "0xed", "UTF-8")),
                ("nul", lines[row][:2] + b"\0" + lines[row][2:], (f"line {row + 1}", "NUL")),
                ("blank id", lines[row][1:], (where, "column", "blank")),
                ("surplus", lines[row] + b",1,2", ("fields",)),
                ("infinity", lines[row][: lines[row].rindex(b",")] + b",inf", (where, "column", "finite")),
                ("a number too large", lines[row][: lines[row].rindex(b",")] + b",1e400", (where, "column", "finite")),
            ):
                content = with_line(line)
                pair = (content, NODES) if file == "edges.csv" else (EDGES, content)
                yield Broken(f"{name} in {where} of {file}", *pair, (file, *expected))
