"""Downloads of dataset files."""

import tarfile
import tempfile
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import IO, TypeAlias

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the bytes received so far and the bytes expected in all (0 if unknown)."""

TIMEOUT = 30  # seconds without an answer
BLOCK = 1 << 16  # bytes


@dataclass(frozen=True)
class Source:
    """An address on the web: a folder with a file for each name, or a tar archive that holds them in any folder."""

    url: str
    size: int = 0
    """Bytes of all files of a folder together."""

    def fetch(self, names: Sequence[str], progress: Progress) -> dict[str, bytes]:
        """Return the contents of the named files, as far as the source has them; it may fail with any error."""
        contents: dict[str, bytes] = {}
        if self.url.endswith(".tar.gz"):
            with tempfile.TemporaryFile() as file:
                _download(self.url, file, progress)
                with tarfile.open(fileobj=file) as archive:
                    for member in archive:  # read in memory: nothing is written where the archive says
                        name = PurePosixPath(member.name).name
                        stream = archive.extractfile(member) if name in names else None
                        if stream is not None:
                            contents[name] = stream.read()
            return contents
        for name in names:
            before = sum(map(len, contents.values()))
            with tempfile.TemporaryFile() as file:
                _download(f"{self.url}/{name}", file, partial(self._report, progress, before))
                contents[name] = file.read()
        return contents

    def _report(self, progress: Progress, before: int, done: int, _: int) -> None:
        progress(before + done, self.size)


def _download(url: str, file: IO[bytes], progress: Progress) -> None:
    """Download `url` into `file` and rewind it."""
    with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:  # noqa: S310  # addresses are constants of this package
        total = int(answer.headers.get("Content-Length") or 0)
        while block := answer.read(BLOCK):
            file.write(block)
            progress(file.tell(), total)
    file.seek(0)
