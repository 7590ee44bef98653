"""Downloads of dataset files. A source returns the contents of files, or raises any error."""

import tarfile
import tempfile
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import IO, Protocol, TypeAlias

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the bytes received so far and the bytes expected in all (0 if unknown)."""

TIMEOUT = 30  # seconds without an answer
BLOCK = 1 << 16  # bytes


class Source(Protocol):
    """A place that files can be downloaded from."""

    def fetch(self, names: Sequence[str], progress: Progress) -> dict[str, bytes]:
        """Return the contents of the named files, as far as the source has them."""
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
    """One tar archive that holds the files, in any folder."""

    url: str

    def __str__(self) -> str:
        return self.url

    def fetch(self, names: Sequence[str], progress: Progress) -> dict[str, bytes]:
        contents: dict[str, bytes] = {}
        with tempfile.TemporaryFile() as file:
            _download(self.url, file, progress)
            with tarfile.open(fileobj=file) as archive:
                for member in archive:  # read in memory: nothing is written where the archive says
                    name = PurePosixPath(member.name).name
                    stream = archive.extractfile(member) if name in names else None
                    if stream is not None:
                        contents[name] = stream.read()
        return contents


def _download(url: str, file: IO[bytes], progress: Progress) -> None:
    """Download `url` into `file` and rewind it."""
    with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:  # noqa: S310  # addresses are constants of this package
        total = int(answer.headers.get("Content-Length") or 0)
        while block := answer.read(BLOCK):
            file.write(block)
            progress(file.tell(), total)
    file.seek(0)
