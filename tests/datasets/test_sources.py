"""Both kinds of sources against a local web server."""

import io
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hiergcn.datasets.folders import FileSet


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address of a web server on this machine, and the folder that it serves."""
    folder = tmp_path / "site"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", folder
        server.shutdown()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def test_files_with_progress_over_all_of_them(site: tuple[str, Path]) -> None:
    address, folder = site
    contents = {"a": b"x" * 100_000, "b": b"yy"}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    steps: list[tuple[int, int]] = []
    source = FileSet("toy", "toys", ("a", "b"), url=address, size=100_002)
    assert source.fetch(lambda done, total: steps.append((done, total))) == contents
    assert steps[-1] == (100_002, 100_002)
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    with pytest.raises(OSError, match="404"):
        replace(source, names=("c",)).fetch(lambda *_: None)


def test_members_of_an_archive_whatever_folder_they_are_in(site: tuple[str, Path]) -> None:
    address, folder = site
    with tarfile.open(folder / "data.tar.gz", "w:gz") as archive:
        for name, content in (("deep/in/a", b"first"), ("../b", b"second"), ("other", b"third")):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    steps: list[tuple[int, int]] = []
    source = FileSet("toy", "toys", ("a", "b"), ("c",), url=f"{address}/data.tar.gz")
    assert source.fetch(lambda *step: steps.append(step)) == {"a": b"first", "b": b"second"}
    size = (folder / "data.tar.gz").stat().st_size
    assert steps[-1] == (size, size)
