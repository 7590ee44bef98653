"""The folder that a command writes its results to: free, held by one process at a time, and with room for them.

A run holds its folder from the start by a lock on a hidden file beside it. The system releases the lock when the
process ends, whatever ends it. If the folder cannot be written in the end, results go where there is room. The manifest
of a run folder has the digests of its files, so that a changed, damaged or swapped one is named.
"""

import hashlib
import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from hiergcn.errors import InputError, UnwritableError
from hiergcn.files import naming

if TYPE_CHECKING:
    from hiergcn.graph import Graph

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class HeldError(InputError):
    """Another process holds the folder."""


BYTES = {"run": 300_000, "network": 250_000, "feature": 1024, "node": 240, "class": 4, "edge": 38}
"""Size of a run folder, as measured. A network takes more for each feature, a node more for each class."""

MANIFEST = "manifest.json"
FORMAT = 2
"""Version of the run folder."""
_FORMAT_NAME = "hiergcn run"


def check_free(path: Path) -> None:
    """Refuse a folder that holds files or cannot be written, before any work is done; a run never overwrites."""
    if path.is_dir() and any(path.iterdir()):
        raise InputError(f"{path} already holds files; name another folder for the run or move that one away.")
    if not path.is_dir() and (path.exists() or path.is_symlink()):
        raise InputError(f"{path} is a file; name a folder for the run.")
    existing = _existing(path)
    try:
        tempfile.TemporaryDirectory(dir=existing).cleanup()
    except OSError as error:
        raise InputError(f"{existing} cannot be written to ({error.strerror}); name another folder.") from None


@contextmanager
def held(path: Path) -> Iterator[Path]:
    """Hold a folder for this process, and remove what a killed one left; refuse a folder that another process holds."""
    beside = _existing(path.absolute().parent)
    lock, draft = beside / f".{path.name}.lock", re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}")
    handle = _locked(lock)
    if handle is None:
        raise HeldError(f"Another process is writing to {path}; wait until it ends or name another folder.")
    try:
        for old in [old for old in beside.iterdir() if draft.fullmatch(old.name) and old.is_dir()]:
            shutil.rmtree(old, ignore_errors=True)
        for part in path.glob(".*.part"):
            part.unlink(missing_ok=True)
        yield path
    finally:
        with suppress(OSError):
            lock.unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def held_free(folder: Path) -> Iterator[Path]:
    """Hold the folder, or the first of folder-2, folder-3, ... that is neither taken nor held."""
    for number in count(1):
        path = folder if number == 1 else folder.with_name(f"{folder.name}-{number}")
        if path.is_symlink() or path.is_file() or (path.is_dir() and any(path.iterdir())):
            continue
        with suppress(HeldError), held(path):
            yield path
            return


@contextmanager
def folder_written_whole(path: Path) -> Iterator[Path]:
    """Yield a draft beside a free folder; it becomes that folder if the block succeeds and is removed if it fails.

    An `UnwritableError` names the folder if the disk is full or cannot be written.
    """
    check_free(path)
    with naming(path):
        place = path.resolve()  # a link stays, and the folder that it leads to is written
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
        draft.mkdir()
        try:
            yield draft
            draft.replace(place)
        except UnwritableError as error:  # of a file in the draft, whose name means nothing to the user
            raise UnwritableError(str(error).replace(str(draft), str(path))) from error
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def checkpoint_folder(out: Path) -> Path:
    """Return the folder, beside that of the results, for the checkpoint of an unfinished run."""
    return out.with_name(f"{out.name}.checkpoint")


def check_unfinished(out: Path, resume: bool) -> None:
    """Refuse to start a run again of which there is a checkpoint, unless it is to be resumed or still going on."""
    folder = checkpoint_folder(out)
    if folder.exists() and not resume:
        with held(out):
            pass
        raise InputError(f"{folder} holds an unfinished run; give --resume to go on with it, or remove the folder.")


def check_room(path: Path, needed: int) -> None:
    """Refuse a folder on a disk that has too little room for the results, before any work is done."""
    free = shutil.disk_usage(_existing(path)).free
    if free < needed:
        raise InputError(
            f"The disk of {path} has {_size(free)} left, and the results need about {_size(needed)}; make room, give "
            f"fewer seeds, or name a folder on another disk."
        )


def run_size(graph: "Graph", seeds: int) -> int:
    """Return the bytes of the run folder of a fit, about."""
    ids = graph.ids[:: max(graph.n_nodes // 1000, 1)]
    id_bytes = sum(len(str(name).encode()) for name in ids) // max(len(ids), 1)
    nodes = graph.n_nodes * (id_bytes + BYTES["node"] + BYTES["class"] * graph.n_outputs)
    networks = seeds * (BYTES["network"] + BYTES["feature"] * graph.n_features)
    return BYTES["run"] + nodes + networks + BYTES["edge"] * graph.n_edges


def write_or_rescue(write: Callable[[Path], None], path: Path) -> tuple[Path, str | None]:
    """Write to a folder or, if that cannot be written, to another place; return the place and why it is another.

    An `UnwritableError` is raised if there is room nowhere.
    """
    try:
        write(path)
        return path, None
    except UnwritableError as error:
        failure = error
    for folder in dict.fromkeys((Path(tempfile.gettempdir()), Path.home(), Path.cwd())):
        with suppress(UnwritableError, OSError, InputError), held_free(folder / f"{path.name}-rescued") as rescued:
            write(rescued)
            return rescued, str(failure)
    raise failure


def write_manifest(folder: Path, without: Collection[str] = ()) -> None:
    """Write the digest of every file in the folder, but not of those `without` one, which a user may change."""
    files = {path.name: _digest(path) for path in sorted(folder.iterdir()) if path.name not in (MANIFEST, *without)}
    content = {"format": f"{_FORMAT_NAME} {FORMAT}", "sha256": files}
    (folder / MANIFEST).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def check_manifest(folder: Path, required: Collection[str]) -> None:
    """Refuse another version of the folder, and a file that is not the one that was written with the others."""

    def check_there(name: str) -> None:
        if not (folder / name).is_file():
            raise InputError(f"{folder / name} is missing, so the run folder is incomplete; run the fit again.")

    for name in (*required, MANIFEST):
        check_there(name)
    path = folder / MANIFEST
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        name, _, version = str(content["format"]).rpartition(" ")
        newer, digests = int(version) > FORMAT, dict(content["sha256"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{path} is damaged; run the fit again.") from None
    if name != _FORMAT_NAME or newer:
        raise InputError(f"{folder} was written by a newer hiergcn ({content['format']!s:.40}); update hiergcn.")
    for file, digest in digests.items():
        check_there(file)
        if _digest(folder / file) != digest:
            raise InputError(
                f"{folder / file} is not the file that was written with the others: it was changed, damaged or taken "
                f"from another run. Put the original back or run the fit again."
            )


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.absolute().parents) if folder.exists())


def _locked(lock: Path) -> int | None:
    """Return an open file that is locked, None if another process has locked it."""
    while True:
        try:
            handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            raise InputError(f"{lock.parent} cannot be written to ({error.strerror}); name another folder.") from None
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if lock.exists() and lock.stat().st_ino == os.fstat(handle).st_ino:
                return handle
        except OSError:
            os.close(handle)
            return None
        os.close(handle)  # it was removed by its last holder; there may be a new one


def _size(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size:,} bytes"
