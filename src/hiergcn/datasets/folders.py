"""Where the files of a dataset lie: a folder of the user's, or the cache, which is filled from the sources when needed."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hiergcn.datasets.digests import check_digest, wrong_digest
from hiergcn.datasets.sources import Progress, Source
from hiergcn.errors import InputError

VARIABLE = "HIERGCN_DATA"


@dataclass(frozen=True)
class FileSet:
    """The files of one dataset."""

    dataset: str
    folder: str
    """Sub-folder of a data folder in which they may lie; in the cache they do."""
    names: tuple[str, ...]
    optional: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    hint: str = ""
    """How a person gets the files that no source brings."""


def find(files: FileSet, data: str | Path | None = None) -> Path | None:
    """The first folder that has all the files, among the user's data folder and the cache."""
    return next((place for place in _places(files, data) if not _missing(place, files.names)), None)


def obtain(files: FileSet, data: str | Path | None = None, progress: Progress | None = None) -> Path:
    """A folder that has all the files, digests checked; fetched into the cache where no folder has them."""
    folder = find(files, data) or _fetch(files, data, progress or (lambda done, total: None))
    for name in (*files.names, *files.optional):
        if (folder / name).exists():
            check_digest(folder / name)
    return folder


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "hiergcn"


def _places(files: FileSet, data: str | Path | None) -> list[Path]:
    given = data or os.environ.get(VARIABLE)
    own = [Path(given), Path(given) / files.folder] if given else []
    return [*own, cache_folder() / files.folder]


def _missing(folder: Path, names: Sequence[str]) -> list[str]:
    return [name for name in names if not (folder / name).is_file()]


def _fetch(files: FileSet, data: str | Path | None, progress: Progress) -> Path:
    failures = []
    for source in files.sources:
        try:
            contents = source.fetch((*files.names, *files.optional), progress)
            for name in files.names:
                mistake = wrong_digest(name, contents[name]) if name in contents else "it is not there"
                if mistake:
                    raise InputError(f"{name}: {mistake}")
        except (OSError, EOFError, ValueError, InputError) as error:
            failures.append(f"{source}: {error!s:.200}")
        else:
            folder = cache_folder() / files.folder
            for name, content in contents.items():
                write_atomically(folder / name, content)
            return folder
    raise InputError(_advice(files, data, failures))


def _advice(files: FileSet, data: str | Path | None, failures: list[str]) -> str:
    places = _places(files, data)
    nearest = min(places, key=lambda place: len(_missing(place, files.names)))
    missing = _missing(nearest, files.names)
    names = ", ".join(missing[:9])
    tried = "; tried " + "; ".join(failures) if failures else ""
    return f"{files.dataset} is not at hand: put {names} into {nearest}{files.hint} (or set {VARIABLE} to a folder that has them{tried})"


def write_atomically(path: Path, content: bytes) -> None:
    """A file is there in full or not at all, whatever happens meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        Path(part).replace(path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
