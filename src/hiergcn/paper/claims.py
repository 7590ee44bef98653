"""Which jobs are in hand, so that runners that share a store do not do the same work.

A claim is a file that only one process can create; it names host and process, and its owner touches it while it works.
Claims save work and no more: results are whole and written once whoever makes them, so a job done twice, which a host
that sleeps for minutes can bring about, does no harm.
"""

import json
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

BEAT = 10.0
"""Seconds between two touches."""
STALE = 180.0
"""Seconds without one, after which a claim of another host holds no more."""
STALE_HERE = 3600.0
"""The same for a living process of this host: compiled code can keep the thread that touches from its turn."""


class Claims:
    """The claims of a store."""

    def __init__(self, store: Path) -> None:
        self.folder = store / "claims"

    def take(self, job: str) -> bool:
        """Claim a job; False where somebody else has it."""
        path = self._path(job)
        for _ in range(2):
            try:
                handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
            except FileExistsError:
                if not self._abandoned(path):
                    return False
                path.unlink(missing_ok=True)
                continue
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"host": socket.gethostname(), "pid": os.getpid()}, file)
            return True
        return False

    def release(self, job: str) -> None:
        self._path(job).unlink(missing_ok=True)

    @contextmanager
    def kept(self, jobs: Sequence[str]) -> Iterator[None]:
        """Touch the claims while the block runs, and give back those that are left at its end."""
        over = threading.Event()

        def beat() -> None:
            while not over.wait(BEAT):
                for job in jobs:
                    with suppress(FileNotFoundError):  # released, its job being done
                        os.utime(self._path(job))

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            for job in jobs:
                self.release(job)

    def sweep(self) -> None:
        """Take away the claims of processes that are gone."""
        for path in self.folder.glob("*.json"):
            if self._abandoned(path):
                path.unlink(missing_ok=True)

    def _path(self, job: str) -> Path:
        return self.folder / f"{job}.json"

    def _abandoned(self, path: Path) -> bool:
        try:
            age = self._now() - path.stat().st_mtime
            owner = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return False  # just released: the next look will tell whether its job is done
        except ValueError:
            return age > BEAT  # created and not yet written, or its owner was killed in between
        if owner["host"] != socket.gethostname():
            return age > STALE
        return not _alive(owner["pid"]) or age > STALE_HERE

    def _now(self) -> float:
        """The time by the clock that stamps the files, which on a network drive is not this machine's."""
        probe = self.folder / f".{uuid4().hex}"
        probe.touch()
        try:
            return probe.stat().st_mtime
        finally:
            probe.unlink()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
