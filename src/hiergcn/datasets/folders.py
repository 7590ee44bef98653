"""Finding the files of a dataset: in the user's data folder, or in the cache, which downloads fill when needed."""

import hashlib
import io
import os
import tarfile
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from hiergcn.errors import InputError, UnwritableError
from hiergcn.files import written_whole

VARIABLE = "HIERGCN_DATA"
TIMEOUT = 30  # seconds without an answer
BLOCK = 1 << 16  # bytes

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the bytes received so far and the bytes expected in all (0 if unknown)."""


@dataclass(frozen=True)
class FileSet:
    """The files of one dataset."""

    dataset: str
    folder: str
    """Sub-folder of the data folder and of the cache in which the files may be."""
    names: tuple[str, ...]
    optional: tuple[str, ...] = ()
    url: str = ""
    """Of a folder on the web that has them, or a tar archive with them in any folder; empty if there is none."""
    size: int = 0
    """Bytes of all files of a folder on the web together."""
    hint: str = ""
    """How to get files that have no address."""

    def fetch(self, progress: Progress) -> dict[str, bytes]:
        """Download the files, as far as the address has them; it may fail with any error."""
        names, contents = (*self.names, *self.optional), dict[str, bytes]()
        if self.url.endswith(".tar.gz"):
            with tarfile.open(fileobj=io.BytesIO(_download(self.url, progress))) as archive:
                for member in archive:  # read in memory: nothing is written where the archive says
                    name = PurePosixPath(member.name).name
                    if name in names and (stream := archive.extractfile(member)):
                        contents[name] = stream.read()
            return contents
        for name in names:
            before = sum(map(len, contents.values()))
            contents[name] = _download(f"{self.url}/{name}", progress, before, self.size)
        return contents


def _download(url: str, progress: Progress, before: int = 0, total: int | None = None) -> bytes:
    content = bytearray()
    with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:  # noqa: S310  # addresses are constants of this package
        expected = int(answer.headers.get("Content-Length") or 0) if total is None else total
        while block := answer.read(BLOCK):
            content += block
            progress(before + len(content), expected)
    return bytes(content)


def find(files: FileSet, data: str | Path | None = None) -> Path | None:
    """Return the first folder that has all the files: the user's data folder, its sub-folder or the cache."""
    return next((folder for folder in _folders(files, data) if not _missing(folder, files.names)), None)


def obtain(files: FileSet, data: str | Path | None = None, progress: Progress | None = None) -> Path:
    """Return a folder that has all the files, with digests checked; download them into the cache if none has."""
    given = data or os.environ.get(VARIABLE)
    if given and not Path(given).is_dir():
        where = "" if data else f" in {VARIABLE}"
        raise InputError(f"{given} is not a folder; give the path of the data folder{where}.")
    folder = find(files, data) or _fetch(files, data, progress or (lambda *_: None))
    for path in (folder / name for name in (*files.names, *files.optional)):
        mistake = wrong_digest(path.name, path.read_bytes()) if path.exists() else None
        if mistake:
            raise InputError(f"{path} is damaged or another file: {mistake}. Delete it or put the original there.")
    return folder


def cache_folder() -> Path:
    """Return the folder of downloaded files, below XDG_CACHE_HOME or ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "hiergcn"


@cache
def published_digests() -> dict[str, str]:
    """Return the SHA-256 of every published pickle except `ally` of NELL, whose original is not available."""
    lines = package_files("hiergcn.datasets").joinpath("SHA256SUMS").read_text(encoding="ascii").splitlines()
    return {name: digest for digest, name in map(str.split, lines)}


def wrong_digest(name: str, content: bytes) -> str | None:
    """Return what differs from the published file; None if nothing does or no digest is known."""
    digest = hashlib.sha256(content).hexdigest()
    expected = published_digests().get(name, digest)
    return None if digest == expected else f"its SHA-256 begins with {digest[:12]}, not with {expected[:12]}"


def _folders(files: FileSet, data: str | Path | None) -> list[Path]:
    given = data or os.environ.get(VARIABLE)
    return [*([Path(given), Path(given) / files.folder] if given else []), cache_folder() / files.folder]


def _missing(folder: Path, names: Sequence[str]) -> list[str]:
    return [name for name in names if not (folder / name).is_file()]


def _fetch(files: FileSet, data: str | Path | None, progress: Progress) -> Path:
    """Download the files into the cache; an error says what else to do."""
    failure, contents = "", dict[str, bytes]()
    try:
        contents = files.fetch(progress) if files.url else {}
    except Exception as error:  # a download can fail in any way
        failure = f"{error!s:.200}"
    wrong = {name: wrong_digest(name, contents[name]) if name in contents else "it is missing" for name in files.names}
    failure = failure or next((f"{name}: {mistake}" for name, mistake in wrong.items() if mistake), "")
    if failure:
        nearest = min(_folders(files, data), key=lambda folder: len(_missing(folder, files.names)))
        tried = f" Downloading from {files.url} failed: {failure}." if files.url else ""
        raise InputError(
            f"{files.dataset} is not on this machine; put {', '.join(_missing(nearest, files.names))} into {nearest}"
            f"{files.hint}, or set {VARIABLE} to a folder that has them.{tried}"
        )
    folder = cache_folder() / files.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            with written_whole(folder / name) as part:
                part.write_bytes(content)
    except (OSError, UnwritableError) as error:
        raise InputError(f"{folder} cannot be written ({error}); set XDG_CACHE_HOME to a folder that can.") from error
    return folder
