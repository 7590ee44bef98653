"""Results on disk: one small JSON file per run, or one compressed file of many runs.

    runs.json.gz                 optional: results packed by `write_packed`
    runs/<2 digits>/<id>.json    one file per finished run, written whole

A result is identified by settings, data, split and seed. Code is not part of the identity: commit, machine and package
versions are stored as provenance. There is no index and no lock. Several runners can share a folder; they may do a run
twice, and the later result counts. Killing a runner loses the runs in flight and nothing else.
"""

import gzip
import hashlib
import json
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiergcn import InputError
from hiergcn.coarsening import CoarsenConfig
from hiergcn.datasets import Dataset
from hiergcn.research import TrainConfig, config_class, environment, write_text, written_whole

PACKED = "runs.json.gz"
_LENGTH = 32  # hexadecimal digits of an id
_OF_RUN = ("split", "seed")  # parts of a key that differ between the runs of a packed entry
_MADE_OF_RUN = ("seconds", "finished")  # likewise of the provenance


@dataclass(frozen=True)
class Record:
    """The result of a finished job."""

    key: dict[str, Any]
    """The job: see `experiment.py`. Settings are complete, so that a changed default does not change their meaning."""
    data: str | None
    """Digest of the dataset; None for a measurement without one."""
    result: dict[str, Any]
    """Figures. Of a training: accuracies as fractions of 1, and `failure`, which is None if the run went well."""
    made: dict[str, Any] = field(default_factory=dict)
    """Provenance: commit, machine, package versions, seconds, time."""

    @cached_property
    def about(self) -> str:
        return identity(self.key)

    @property
    def id(self) -> str:
        return hashlib.sha256(f"{self.about} {self.data}".encode()).hexdigest()[:_LENGTH]

    @property
    def finished(self) -> str:
        return str(self.made.get("finished", ""))


def latest(records: Iterable[Record]) -> list[Record]:
    """Return the latest of the records of the same job, whatever its time limit was."""

    def job(record: Record) -> Hashable:
        if record.key["kind"] == "training":
            return record.about
        arguments = record.key["arguments"].items()
        return record.key["name"], *sorted(one for one in arguments if one[0] not in ("time_limit", "per_class"))

    return list({job(one): one for one in sorted(records, key=lambda one: one.finished)}.values())


def identity(key: Mapping[str, Any]) -> str:
    """Return the key as canonical text; two keys of the same job give the same text.

    Settings at their default are left out. A setting that is added later therefore does not change the identity of
    older results, as long as its default means "as before". A setting that is removed later does not either, if the
    config class lists it in `removed` with the value that means "without it".
    """
    found = dict(key)
    if found["kind"] == "training":
        found["settings"] = _changed(found["method"], found["settings"])
    return json.dumps(found, sort_keys=True, allow_nan=False)


def _changed(method: str, settings: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the settings that differ from their defaults; whole numbers and equal fractions count as the same."""
    classes = {"model": config_class(method), "train": TrainConfig, "coarsen": CoarsenConfig}
    found = {}
    for group, values in settings.items():
        defaults = getattr(classes[group], "removed", {}) | {one.name: one.default for one in fields(classes[group])}
        found[group] = {
            name: float(value) if type(value) is int else value
            for name, value in values.items()
            if value != defaults.get(name, MISSING)
        }
    return found


def data_digest(dataset: Dataset) -> str:
    """Return a digest of graph, features, labels and split, independent of the file format."""
    total = hashlib.sha256()
    graph = dataset.graph
    known = graph.labels if graph.targets is None else graph.targets
    parts: list[Any] = [graph.adjacency.indptr, graph.adjacency.indices, graph.adjacency.data, known]
    if sp.issparse(graph.features):
        parts += [graph.features.indptr, graph.features.indices, graph.features.data]
    else:
        parts.append(graph.features)
    for part in (*parts, dataset.split.train, dataset.split.validation, dataset.split.test):
        array = np.ascontiguousarray(part)
        total.update(f"{array.dtype.kind}{array.shape}".encode())
        total.update((array.astype("<i8") if array.dtype.kind in "iu" else array.astype("<f8")).tobytes())
    return total.hexdigest()[:_LENGTH]


class Store:
    """A folder of results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self) -> None:
        """Create the folder if it is missing."""
        try:
            (self.folder / "runs").mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise InputError(f"{self.folder} is not a folder. Give --store another place.") from None

    def path(self, record: Record) -> Path:
        return self.folder / "runs" / record.id[:2] / f"{record.id}.json"

    def write(self, record: Record) -> None:
        """Write a result; an older one of the same job is replaced."""
        target = self.path(record)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_text(target, json.dumps(asdict(record), allow_nan=False) + "\n")

    def records(self) -> list[Record]:
        packed = self.folder / PACKED
        found = read_packed(packed) if packed.is_file() else []
        for path in sorted((self.folder / "runs").glob("??/*.json")):
            try:
                found.append(Record(**json.loads(path.read_text(encoding="utf-8"))))
            except (ValueError, TypeError):
                raise InputError(f"{path} is damaged. Delete it; the run will be done again.") from None
        return found


def read_records(place: Path) -> list[Record]:
    """Read results from a store's folder or from a packed file."""
    if place.is_file():
        return read_packed(place)
    if not (place / "runs").is_dir() and not (place / PACKED).is_file():
        raise InputError(
            f"There are no results in {place}. Run hiergcn reproduce first, or give --store another place."
        )
    return Store(place).records()


def write_packed(records: Iterable[Record], path: Path) -> None:
    """Write results to one compressed file; the same results give the same bytes.

    Runs that differ in split and seed alone share an entry, so settings are stored once per entry.
    """
    entries: dict[str, list[str]] = {}
    for record in sorted(records, key=lambda one: (str(one.key.get("split")), one.key.get("seed", 0), one.id)):
        own, key = _divided(record.key, _OF_RUN)
        moment, made = _divided(record.made, _MADE_OF_RUN)
        head = json.dumps({"key": key, "data": record.data, "made": made}, sort_keys=True)
        entries.setdefault(head, []).append(json.dumps({**own, "result": record.result, **moment}))
    blocks = [head[:-1] + ', "runs": [\n  ' + ",\n  ".join(runs) + "]}" for head, runs in sorted(entries.items())]
    text = '{"entries": [\n' + ",\n".join(blocks) + "\n]}\n"
    with written_whole(path) as part:
        part.write_bytes(gzip.compress(text.encode(), mtime=0))


def _divided(values: Mapping[str, Any], names: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the named values and the others."""
    named = {name: values[name] for name in names if name in values}
    return named, {name: value for name, value in values.items() if name not in names}


def read_packed(path: Path) -> list[Record]:
    try:
        entries = json.loads(gzip.decompress(path.read_bytes()))["entries"]
        return [
            Record(
                entry["key"] | _divided(run, _OF_RUN)[0],
                entry["data"],
                run["result"],
                entry["made"] | _divided(run, _MADE_OF_RUN)[0],
            )
            for entry in entries
            for run in entry["runs"]
        ]
    except (OSError, EOFError, ValueError, KeyError, TypeError) as damage:
        raise InputError(f"{path} is not a file of results ({damage!r}). Give a store's folder or {PACKED}.") from None


_environment = cache(environment)


def made_here(seconds: float, device: str) -> dict[str, Any]:
    """Return the provenance of a result that is finished now."""
    known = ("hiergcn", "commit", "python", "packages", "processor", "cores", "gpu")
    return {
        **{name: _environment()[name] for name in known},
        "device": device,
        "seconds": round(seconds, 3),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
