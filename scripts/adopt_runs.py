"""Take runs of `hiergcn fit` that are kept under docs/results/runs into a store of `hiergcn reproduce`.

python scripts/adopt_runs.py --store runs/reproduce

Only runs with exactly the settings that Table 2 asks for are taken, on the public split; each seed becomes a result
whose code version is the commit that made it, so that the page tells it from others. What the store has already stays.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hiergcn.experiments.collect import Results
from hiergcn.experiments.identity import TrainJob
from hiergcn.experiments.paper import FULL, experiments
from hiergcn.experiments.plan import Cell
from hiergcn.experiments.splits import PUBLIC
from hiergcn.experiments.store import Record, Store
from hiergcn.run.settings import GROUPS

RUNS = Path(__file__).resolve().parents[1] / "docs" / "results" / "runs"
KEPT = ("hiergcn", "commit", "python", "packages", "processor", "cores", "gpu")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--runs", type=Path, default=RUNS)
    arguments = parser.parse_args()
    store = Store(arguments.store)
    store.make()
    have = Results(store.records())
    for cell in experiments(FULL)["table2"].cells():
        missing = {seed for (_, seed), record in zip(cell.runs, have.cell(cell).records, strict=True) if record is None}
        taken = [record for record in adopted(cell, arguments.runs) if record.key["seed"] in missing]
        for record in taken:
            store.write(record)
        if taken:
            print(f"{cell.dataset} {cell.arm}: {len(taken)} runs")


def adopted(cell: Cell, folder: Path) -> Iterator[Record]:
    for path in sorted(folder.glob(f"{cell.dataset}-{cell.settings.method}-*.json")):
        kept = json.loads(path.read_text(encoding="utf-8"))
        probe = {group: kept["config"][group] for group in GROUPS}
        for place, seed in enumerate(kept["metrics"]["seeds"]):
            record = _record(cell, kept, probe, place, seed)
            if (PUBLIC, seed) in cell.runs and Results([record]).cell(cell).missing < len(cell.runs):
                yield record


def _record(cell: Cell, kept: dict[str, Any], settings: dict[str, Any], place: int, seed: int) -> Record:
    metrics, environment = kept["metrics"], kept["environment"]
    job = TrainJob(cell.dataset, "", cell.settings, PUBLIC, seed, f"commit {environment['commit']}")
    accuracy = metrics["test_accuracy"]["per_seed"][place]
    result = {
        "test_accuracy": accuracy,
        "macro_f1": None,
        "validation_accuracy": metrics["val_accuracy"]["per_seed"][place],
        "train_accuracy": None,
        "best_epoch": None,
        "epochs": None,
        "failure": None if accuracy is not None else "failed",
        "depth": None,
    }
    made = {name: environment.get(name) for name in KEPT} | {
        "device": "cuda" if "--device cuda" in kept["config"]["source"].get("command", "") else "cpu",
        "seconds": round(metrics["seconds"]["train"] / len(metrics["seeds"]), 3),
        "finished": "",  # older than any run of the store
    }
    return Record(job.id, job.key() | {"settings": settings}, result, made)


if __name__ == "__main__":
    main()
