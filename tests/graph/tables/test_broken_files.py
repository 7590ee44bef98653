"""Broken files: the error names the file, and the row and column if there are such."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from broken_files import EDGES, NODES, Broken, all_broken
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hiergcn.errors import InputError
from hiergcn.graph.tables.column_roles import CsvOptions
from hiergcn.graph.tables.csv_files import read_csv

BROKEN = all_broken()


def read(folder: Path, edges: bytes, nodes: bytes | None, options: CsvOptions | None = None) -> object:
    (folder / "edges.csv").write_bytes(edges)
    if nodes is None:
        return read_csv(folder / "edges.csv", None, options)
    (folder / "nodes.csv").write_bytes(nodes)
    return read_csv(folder / "edges.csv", folder / "nodes.csv", options)


def test_there_are_200_distinct_cases() -> None:
    assert len({case.name for case in BROKEN}) == len(BROKEN) >= 200


def test_the_files_are_sound_before_they_are_broken(tmp_path: Path) -> None:
    read(tmp_path, EDGES, NODES)


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_the_error_names_the_place(tmp_path: Path, case: Broken) -> None:
    options = CsvOptions(label=case.label, drop=case.drop, weight=case.weight)
    with pytest.raises(InputError) as caught:
        read(tmp_path, case.edges, case.nodes, options)
    sentence = str(caught.value)
    for words in case.expected:
        assert words in sentence
    assert len(sentence.replace(str(tmp_path), "")) < 400
    written = {"edges.csv"} if case.nodes is None else {"edges.csv", "nodes.csv"}
    assert {path.name for path in tmp_path.iterdir()} == written


def _loop(path: Path) -> None:
    path.symlink_to(path.with_name("other.csv"))
    path.with_name("other.csv").symlink_to(path)


def _unreadable(path: Path) -> None:
    path.write_bytes(EDGES)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read every file")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Path.mkdir, "is a directory"),
        (_loop, "cannot be read"),
        (lambda path: path.symlink_to(path.with_name("nowhere.csv")), "No such file"),
        (os.mkfifo, "pipe or a device"),
        (lambda path: path.symlink_to("/dev/zero"), "pipe or a device"),
        (_unreadable, "cannot be read"),
    ],
)
@pytest.mark.parametrize("name", ["edges.csv", "nodes.csv"])
def test_no_file_at_all(tmp_path: Path, make: Callable[[Path], None], words: str, name: str) -> None:
    make(tmp_path / name)
    other = tmp_path / ("nodes.csv" if name == "edges.csv" else "edges.csv")
    other.write_bytes(NODES if name == "edges.csv" else EDGES)
    with pytest.raises(InputError, match=words) as caught:
        read_csv(tmp_path / "edges.csv", tmp_path / "nodes.csv")
    assert name in str(caught.value)


@pytest.mark.parametrize("path", ["edges.csv/inner.csv", "x" * 300 + ".csv", "a\0b.csv", ""])
def test_paths_that_lead_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.csv").write_bytes(EDGES)
    with pytest.raises(InputError, match="give the path of a CSV file"):
        read_csv(path)


fields = st.text(st.sampled_from("ab1.,;|\t\"' \r\n=-é0"), max_size=6) | st.sampled_from(
    ["inf", "1e400", "NaN", "", "<b>", "=A1", "train", "9" * 30, "true"]
)
tables = st.lists(st.lists(fields, min_size=1, max_size=4), max_size=6).map(
    lambda rows: "\n".join(",".join(row) for row in rows).encode()
)
SOUND = (b"source,target\n", b"id,label,split\n", b"id,label,x\n", b"")


@given(st.sampled_from(SOUND), tables | st.binary(max_size=60), st.sampled_from(SOUND), tables | st.binary(max_size=60))
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_content_is_read_or_refused(
    tmp_path: Path, head: bytes, edges: bytes, other_head: bytes, nodes: bytes
) -> None:
    sentence = "edges.csv can be read"
    try:
        read(tmp_path, head + edges, other_head + nodes)
    except InputError as error:
        sentence = str(error)
    assert ".csv" in sentence
    assert "\n" not in sentence
