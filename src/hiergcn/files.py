"""Files appear whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from hiergcn.errors import InputError


@contextmanager
def written_whole(path: str | PathLike[str]) -> Iterator[Path]:
    """A file beside `path` to write to: it takes that place if the block ends well and is removed if it does not."""
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent} to write {target.name} into; make it first.")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    os.close(handle)
    part = Path(name)
    try:
        yield part
        umask = os.umask(0)
        os.umask(umask)
        part.chmod(0o666 & ~umask)  # mkstemp's files are private; the finished one is like any other
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
