"""Take runs of `hiergcn fit` that are kept under docs/results/runs into a store of `hiergcn reproduce`, or back.

python scripts/adopt_runs.py --store runs/reproduce
python scripts/adopt_runs.py --store runs/reproduce --back

Only runs with exactly the settings that Table 2 asks for are taken, on the public split; each seed becomes a result
whose code version is the commit that made it, so that the page tells it from others. What the store has already stays.
`--back` keeps those cells of Table 2 that the store has as many seeds of as docs/results/runs or more, with the
settings in force, so that both show the same figures; `python scripts/results.py table` then makes the tables.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hiergcn.graph.split import PUBLIC
from hiergcn.paper.collect import CellResult, Results
from hiergcn.paper.experiment import Cell
from hiergcn.paper.experiments import FULL, experiments
from hiergcn.paper.identity import TrainJob
from hiergcn.paper.store import Record, Store
from hiergcn.run.recipes import published
from hiergcn.run.settings import GROUPS

RUNS = Path(__file__).resolve().parents[1] / "docs" / "results" / "runs"
KEPT = ("hiergcn", "commit", "python", "packages", "processor", "cores", "gpu")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--runs", type=Path, default=RUNS)
    parser.add_argument("--back", action="store_true", help="from the store to the folder of runs")
    arguments = parser.parse_args()
    store = Store(arguments.store)
    store.make()
    have = Results(store.records())
    if arguments.back:
        for cell in experiments(FULL)["table2"].cells():
            found = have.cell(cell)
            if news(found, arguments.runs):
                name = f"{cell.dataset}-{cell.settings.method}-{cell.settings.preset}.json"
                text = json.dumps(kept(found), indent=1, ensure_ascii=False) + "\n"
                (arguments.runs / name).write_text(text, encoding="utf-8")
                print(f"{name}: {found.done + found.failed} seeds")
        return
    for cell in experiments(FULL)["table2"].cells():
        missing = {seed for (_, seed), record in zip(cell.runs, have.cell(cell).records, strict=True) if record is None}
        taken = [record for record in adopted(cell, arguments.runs) if record.key["seed"] in missing]
        for record in taken:
            store.write(record)
        if taken:
            print(f"{cell.dataset} {cell.arm}: {len(taken)} runs")


def news(found: CellResult, folder: Path) -> bool:
    """Whether the cell has other results than the folder of runs, and no fewer."""
    there = Results(adopted(found.cell, folder)).cell(found.cell)
    return found.missing <= there.missing and found.missing < len(found.records) and found.scores != there.scores


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


def kept(found: CellResult) -> dict[str, Any]:
    """A cell as a run of `hiergcn fit` is kept: what the tables are made of, from the machine that did most of it."""
    cell, done = found.cell, [record for record in found.records if record is not None]
    settings, seeds = cell.settings, [record.key["seed"] for record in done]
    machine = json.loads(Counter(json.dumps(_machine(record), sort_keys=True) for record in done).most_common(1)[0][0])
    device = Counter(str(record.made["device"]) for record in done).most_common(1)[0][0]
    command = f"hiergcn reproduce table2 --models {settings.method} --datasets {cell.dataset} --device {device}"
    config = {group: asdict(getattr(settings, group)) for group in GROUPS}
    head = {"method": settings.method, "preset": settings.preset, "dataset": cell.dataset, "seeds": seeds}
    metrics = {
        "model": settings.method,
        "preset": settings.preset,
        "dataset": cell.dataset,
        "seeds": seeds,
        "failed_seeds": {
            str(record.key["seed"]): record.result["failure"] for record in done if record.result["failure"]
        },
        "test_accuracy": found.accuracy.to_dict(),
        "val_accuracy": found.summary("validation_accuracy").to_dict(),
        "claim": published(settings.method, cell.dataset),
        "seconds": {"train": round(sum(record.made["seconds"] for record in done), 1)},
        "device": device,
    }
    return {"config": head | config | {"source": {"command": command}}, "metrics": metrics, "environment": machine}


def _machine(record: Record) -> dict[str, Any]:
    return {name: record.made.get(name) for name in KEPT}


if __name__ == "__main__":
    main()
