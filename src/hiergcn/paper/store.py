"""What is done: a small JSON file for each finished job, written whole, once, and never changed.

    jobs/<2 digits>/<id>.json      results
    claims/<id>.json               jobs that some runner is at (see `claims.py`)

Nothing else is kept, no index and no lock: whoever can list the folder knows what is done. So runners on one machine or
on several can share a store, and killing one at any moment loses the jobs in flight and nothing else.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from hiergcn.errors import InputError
from hiergcn.files import written_whole
from hiergcn.run.environment import environment


@dataclass(frozen=True)
class Record:
    """A finished job."""

    id: str
    key: dict[str, Any]
    """What the job is: see `identity.py`."""
    result: dict[str, Any]
    """What came out; of a training, accuracies as fractions of 1 and `failure`, which is None where it went well."""
    made: dict[str, Any] = field(default_factory=dict)
    """By which machine, commit and packages, when, and in how many seconds."""

    @property
    def finished(self) -> str:
        return str(self.made.get("finished", ""))


class Store:
    """The folder of results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self) -> None:
        try:
            for name in ("jobs", "claims"):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise InputError(f"{self.folder} is no folder; give --store another place.") from None

    def path(self, job: str) -> Path:
        return self.folder / "jobs" / job[:2] / f"{job}.json"

    def has(self, job: str) -> bool:
        return self.path(job).exists()

    def done(self) -> set[str]:
        """The ids of all finished jobs."""
        return {path.stem for path in (self.folder / "jobs").glob("??/*.json")}

    def write(self, record: Record) -> None:
        """Keep a result; where another runner was quicker, its result stays."""
        target = self.path(record.id)
        if target.exists():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(target) as part:
            part.write_text(json.dumps(asdict(record), allow_nan=False) + "\n", encoding="utf-8")

    def records(self) -> Iterator[Record]:
        for path in sorted((self.folder / "jobs").glob("??/*.json")):
            try:
                yield Record(**json.loads(path.read_text(encoding="utf-8")))
            except (ValueError, TypeError):
                raise InputError(f"{path} is damaged; delete it, and the job will be run again.") from None


@cache
def _machine() -> dict[str, Any]:
    found = environment()
    return {name: found[name] for name in ("hiergcn", "commit", "python", "packages", "processor", "cores", "gpu")}


def made_here(seconds: float, device: str, side_by_side: int = 1) -> dict[str, Any]:
    """The circumstances of a result that is finished now."""
    return {
        **_machine(),
        "device": device,
        "side_by_side": side_by_side,
        "seconds": round(seconds, 3),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
