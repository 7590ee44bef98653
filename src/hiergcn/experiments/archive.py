"""All results in one file: what is committed beside the page, and what the page can be made from again.

Runs that differ in split and seed alone share an entry, so that settings stand there once.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hiergcn.errors import InputError
from hiergcn.experiments.store import Record, Store
from hiergcn.files import written_whole

_OWN = ("split", "seed")  # what is a run's own in its key; the rest is its entry's
_MOMENT = ("seconds", "finished")  # likewise of the circumstances


def write_archive(records: Iterable[Record], path: Path) -> None:
    entries: dict[str, dict[str, Any]] = {}
    for record in records:
        key = {name: value for name, value in record.key.items() if name not in _OWN}
        made = {name: value for name, value in record.made.items() if name not in _MOMENT}
        shared = {"key": key, "made": made}
        entry = entries.setdefault(json.dumps(shared, sort_keys=True), shared | {"runs": []})
        own = {name: record.key[name] for name in _OWN if name in record.key}
        moment = {name: record.made[name] for name in _MOMENT if name in record.made}
        entry["runs"].append({"id": record.id, **own, "result": record.result, **moment})
    lines = [json.dumps(entries[name]["key"], sort_keys=True) for name in sorted(entries)]
    order = sorted(range(len(lines)), key=lambda place: lines[place])
    kept = [entries[name] for name in sorted(entries)]
    with written_whole(path) as part, part.open("w", encoding="utf-8") as file:
        file.write('{"entries": [\n')
        for number, place in enumerate(order):
            entry = kept[place]
            entry["runs"].sort(key=lambda run: (str(run.get("split")), run.get("seed", 0), run["id"]))
            head = json.dumps({"key": entry["key"], "made": entry["made"]})
            runs = ",\n  ".join(json.dumps(run) for run in entry["runs"])
            file.write(f'{head[:-1]}, "runs": [\n  {runs}]}}{"," if number + 1 < len(order) else ""}\n')
        file.write("]}\n")


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
