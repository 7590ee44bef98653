"""Files are found where a user puts them, fetched whole or not at all, and their digests are checked."""

import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hiergcn.datasets import folders
from hiergcn.datasets.folders import FileSet, Progress, find, obtain
from hiergcn.errors import InputError

CONTENTS = {"one.bin": b"first", "two.bin": b"second"}


@dataclass(frozen=True)
class Offer(FileSet):
    """Files whose address has what it is given."""

    contents: Any = None
    asked: list[int] = field(default_factory=list)

    def fetch(self, progress: Progress) -> dict[str, bytes]:
        self.asked.append(1)
        if isinstance(self.contents, Exception):
            raise self.contents
        progress(3, 11)
        return dict(self.contents)


@pytest.fixture(autouse=True)
def known_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENTS.items()}
    monkeypatch.setattr(folders, "published_digests", lambda: known)


def toy(contents: object = None, optional: tuple[str, ...] = ()) -> Offer:
    url = "" if contents is None else "https://the.offer"
    return Offer("toy", "toys", ("one.bin", "two.bin"), optional, url, contents=contents)


def put(folder: Path, contents: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


def test_the_users_folder_comes_first_then_the_variable_then_the_cache(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find(toy()) is None
    cached = put(bare / "toys", CONTENTS)
    assert find(toy()) == cached
    named = put(tmp_path / "named" / "toys", CONTENTS)
    monkeypatch.setenv("HIERGCN_DATA", str(tmp_path / "named"))
    assert find(toy()) == named
    flat = put(tmp_path / "flat", CONTENTS)
    assert find(toy(), flat) == flat
    assert obtain(toy(), flat) == flat


def test_a_folder_that_lacks_a_file_is_skipped(bare: Path, tmp_path: Path) -> None:
    partly = put(tmp_path / "partly", {"one.bin": b"first"})
    cached = put(bare / "toys", CONTENTS)
    assert obtain(toy(), partly) == cached


def test_fetched_once_into_the_cache_with_progress(bare: Path) -> None:
    files, steps = toy({**CONTENTS, "extra.bin": b"x"}, optional=("extra.bin",)), list[tuple[int, int]]()
    for _ in range(2):
        assert obtain(files, progress=lambda done, total: steps.append((done, total))) == bare / "toys"
    assert len(files.asked) == 1
    assert steps == [(3, 11)]
    assert {path.name: path.read_bytes() for path in (bare / "toys").iterdir()} == files.contents


FORGED, TRUE = (hashlib.sha256(content).hexdigest()[:12] for content in (b"forged", b"second"))


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (OSError("no route"), "no route"),
        ({"one.bin": b"first"}, "two.bin: it is missing"),
        ({**CONTENTS, "two.bin": b"forged"}, f"two.bin: its SHA-256 begins with {FORGED}, not with {TRUE}"),
    ],
)
def test_a_failed_download_is_reported_and_nothing_is_written(
    bare: Path, found: dict[str, bytes] | Exception, reason: str
) -> None:
    with pytest.raises(InputError) as caught:
        obtain(toy(found))
    sentence = str(caught.value)
    put_where = f"put one.bin, two.bin into {bare / 'toys'}, or set HIERGCN_DATA"
    assert sentence.startswith(f"toy is not on this machine; {put_where}")
    assert f"Downloading from https://the.offer failed: {reason}." in sentence
    assert not bare.exists()


def test_files_that_are_missing_are_named(bare: Path, tmp_path: Path) -> None:
    partly = put(tmp_path / "partly", {"one.bin": b"first"})
    with pytest.raises(InputError, match=f"put two.bin into {partly}"):
        obtain(toy(), partly)


def test_a_damaged_file_is_named_with_both_digests(bare: Path, tmp_path: Path) -> None:
    folder = put(tmp_path / "own", {**CONTENTS, "two.bin": b"secund"})
    found = hashlib.sha256(b"secund").hexdigest()[:12]
    with pytest.raises(InputError, match=rf"own/two\.bin is damaged or another file: .*{found}.*Delete it"):
        obtain(toy(), folder)


def test_a_data_folder_that_does_not_exist(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="nowhere is not a folder"):
        obtain(toy(CONTENTS), tmp_path / "nowhere")
    monkeypatch.setenv("HIERGCN_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(InputError, match="elsewhere is not a folder; give the path of the data folder in HIERGCN_DATA"):
        obtain(toy(CONTENTS))


def test_a_cache_that_cannot_be_written(bare: Path) -> None:
    bare.parent.mkdir()
    bare.write_bytes(b"a file where the folder would be")
    with pytest.raises(InputError, match=r"cannot be written .* set XDG_CACHE_HOME"):
        obtain(toy(CONTENTS))


def test_an_interrupted_write_leaves_nothing(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Path, data: bytes) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        obtain(toy(CONTENTS))
    assert list((bare / "toys").iterdir()) == []


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Path]]:
    """The address of a web server on this machine, and the folder that it serves."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    folder = tmp_path / "site"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", folder
        server.shutdown()


def test_files_with_progress_over_all_of_them(site: tuple[str, Path]) -> None:
    address, folder = site
    contents = {"a": b"x" * 100_000, "b": b"yy"}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    steps: list[tuple[int, int]] = []
    source = FileSet("toy", "toys", tuple(contents), url=address, size=100_002)
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
