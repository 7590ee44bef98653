"""All results in one file: what is committed beside the page, and what the page can be made from again.

Runs that differ in split and seed alone share an entry, so that settings stand there once.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hiergcn.errors import InputError
from hiergcn.files import written_whole
from hiergcn.paper.store import Record, Store

_OWN = ("split", "seed")  # what is a run's own in its key; the rest is its entry's
_MOMENT = ("seconds", "finished")  # likewise of the circumstances


def write_archive(records: Iterable[Record], path: Path) -> None:
    """A line for each run, so that a comparison of two such files shows which runs are new."""
    entries: dict[str, list[str]] = {}
    for record in sorted(records, key=_place):
        key = {name: value for name, value in record.key.items() if name not in _OWN}
        made = {name: value for name, value in record.made.items() if name not in _MOMENT}
        own = {name: record.key[name] for name in _OWN if name in record.key}
        moment = {name: record.made[name] for name in _MOMENT if name in record.made}
        head = json.dumps({"key": key, "made": made}, sort_keys=True)
        entries.setdefault(head, []).append(json.dumps({"id": record.id, **own, "result": record.result, **moment}))
    blocks = [f'{head[:-1]}, "runs": [\n  {_lines(runs)}]}}' for head, runs in sorted(entries.items())]
    with written_whole(path) as part:
        part.write_text('{"entries": [\n' + ",\n".join(blocks) + "\n]}\n", encoding="utf-8")


def _place(record: Record) -> tuple[str, int, str]:
    return str(record.key.get("split")), record.key.get("seed", 0), record.id


def _lines(runs: list[str]) -> str:
    return ",\n  ".join(runs)


def read_archive(path: Path) -> list[Record]:
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["entries"]
        return [_record(entry, run) for entry in entries for run in entry["runs"]]
    except (ValueError, KeyError, TypeError) as damage:
        raise InputError(f"{path} is no file of results ({damage!r}); give a store's folder or results.json.") from None


def _record(entry: dict[str, Any], run: dict[str, Any]) -> Record:
    own = {name: run[name] for name in _OWN if name in run}
    moment = {name: run[name] for name in _MOMENT if name in run}
    return Record(run["id"], entry["key"] | own, run["result"], entry["made"] | moment)


def read_records(place: Path) -> list[Record]:
    """From a store's folder, or from the one file."""
    if place.is_file():
        return read_archive(place)
    if not (place / "jobs").is_dir():
        raise InputError(f"There are no results in {place}; run hiergcn reproduce, or give --store another place.")
    return list(Store(place).records())
