"""The default settings on graphs that no recipe was written for, against simpler methods on the very same splits.

    python scripts/own_comparison.py --device cuda
    python scripts/own_comparison.py --quick            # one split, three epochs, nothing written

Amazon Photo and Coauthor CS (in the folder that HIERGCN_DATA names): of each class 20 nodes train, 500 nodes validate,
the rest test; the seed of a run is the number of its split. Every method has the settings that `hiergcn fit` gives to a
user's own files; `default` is the one that it takes where none is named, `without hierarchy` the same with share 0.
The paired test is over splits. Writes own-graphs.json and a table.
"""

import argparse
import json
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hiergcn.coarsen import coarsen
from hiergcn.datasets import load_dataset
from hiergcn.evaluate.paired import TEST, compare_all
from hiergcn.files import written_whole
from hiergcn.graph import Graph, Split
from hiergcn.graph.split import random_splits
from hiergcn.graph.task import Task
from hiergcn.model.registry import build_method
from hiergcn.run.adapt import DEFAULT, adapted_settings
from hiergcn.run.compare import describe_splits
from hiergcn.run.device import choose_device
from hiergcn.run.environment import environment
from hiergcn.run.settings import Settings
from hiergcn.train.loop import SeedOutcome
from hiergcn.train.runs import train_runs

DATASETS = ("amazon-photo", "coauthor-cs")
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "default": (DEFAULT, {}),
    "without hierarchy": (DEFAULT, {"share": 0.0}),
    "hgcn": ("hgcn", {}),
    "gcn": ("gcn", {}),
    "mlp": ("mlp", {}),
    "label-propagation": ("label-propagation", {}),
}
"""The methods of the table by name, with what is changed of their settings."""
AGAINST = "gcn"
QUICK_EPOCHS = 3


def train_splits(
    graph: Graph, splits: Sequence[Split], seeds: Sequence[int], settings: Settings, device: str
) -> list[SeedOutcome]:
    """A run on each split, side by side where the device can."""
    tasks = [Task.of(graph, split) for split in splits]
    method = build_method(settings.method, settings.model)
    hierarchy = None
    if method.uses_hierarchy:
        hierarchy = coarsen(graph.adjacency, settings.model.levels, settings.coarsen)
    where = choose_device(device)
    prepared = method.prepare(tasks[0], hierarchy, where)
    return list(train_runs(method, prepared, list(zip(tasks, seeds, strict=True)), settings.train, where))


def with_epochs(settings: Settings, epochs: int | None) -> Settings:
    if epochs is None or settings.without_effect("train"):
        return settings
    return settings.override({"epochs": epochs})


def compared(dataset: str, models: Sequence[str], count: int, device: str, epochs: int | None) -> dict[str, Any]:
    data = load_dataset(dataset)
    specs = random_splits(count)
    splits = [spec.split(data.graph, data.split) for spec in specs]
    runs, scores = {}, {}
    for model in models:
        method, changed = MODELS[model]
        settings = adapted_settings(data.graph, splits[0], method).settings.override(changed)
        settings = with_epochs(settings, epochs)
        began = time.perf_counter()
        outcomes = train_splits(data.graph, splits, range(count), settings, device)
        seconds = round(time.perf_counter() - began, 1)
        test = [accuracy(outcome, data.graph, split) for outcome, split in zip(outcomes, splits, strict=True)]
        runs[model] = {
            "test": test,
            "validation": [None if one.best_epoch is None else one.validation_accuracy for one in outcomes],
            "seconds": seconds,
            "settings": settings.to_dict(),
        }
        scores[model] = {(number, number): value for number, value in enumerate(test)}
        print(f"{dataset} {model}: {shown(test)} in {seconds} s", flush=True)
    differences = compare_all(scores, AGAINST) if AGAINST in scores else ()
    return {"splits": describe_splits(specs), "models": runs, "differences": [one.to_dict() for one in differences]}


def accuracy(outcome: SeedOutcome, graph: Graph, split: Split) -> float | None:
    if outcome.probabilities is None or graph.labels is None:
        return None
    return round(float((outcome.probabilities.argmax(axis=1) == graph.labels)[split.test].mean()), 5)


def shown(values: Sequence[float | None]) -> str:
    done = [100 * value for value in values if value is not None]
    failed = f", {len(values) - len(done)} failed" if len(done) < len(values) else ""
    if not done:
        return "all failed"
    return (f"{np.mean(done):.1f} ± {np.std(done, ddof=1):.1f}" if len(done) > 1 else f"{done[0]:.1f}") + failed


def table(results: dict[str, Any]) -> str:
    """Accuracy by method and dataset, and what each differs from GCN by."""
    models = list(next(iter(results.values()))["models"])
    lines = [f"| test accuracy in % | {' | '.join(results)} |", "|---" * (len(results) + 1) + "|"]
    for model in models:
        cells = []
        for result in results.values():
            difference = next((one for one in result["differences"] if one["model"] == model), None)
            cells.append(shown(result["models"][model]["test"]) + (told(difference) if difference else ""))
        lines.append(f"| {model} | {' | '.join(cells)} |")
    about = next(iter(results.values()))["splits"]
    how = (
        f"Over {about}; the seed is the number of the split. In brackets: the difference from {AGAINST} and its p, "
        f"paired over splits ({TEST}; Holm's correction)."
    )
    return "\n".join([*lines, "", how, ""])


def told(difference: dict[str, Any]) -> str:
    if difference["mean"] is None:
        return ""
    p = difference["p_holm"]
    return f" ({100 * difference['mean']:+.1f}" + ("" if p is None else f", p = {p:.3g}") + ")"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--datasets", nargs="+", default=list(DATASETS))
    words.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    words.add_argument("--splits", type=int, default=10)
    words.add_argument("--device", default="auto")
    words.add_argument("--quick", action="store_true", help="one split, few epochs; written only where --out is given")
    words.add_argument("--out", type=Path, help="folder for own-graphs.json and own-graphs.md [default: docs/results]")
    given = words.parse_args()
    count, epochs = (1, QUICK_EPOCHS) if given.quick else (given.splits, None)
    results = {name: compared(name, given.models, count, given.device, epochs) for name in given.datasets}
    print(table(results))
    if not given.quick or given.out is not None:
        write(results, given.out or Path("docs/results"))


def write(results: dict[str, Any], folder: Path) -> None:
    """The figures and the table; datasets that were compared before, by another process perhaps, stay."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "own-graphs.json"
    before = json.loads(path.read_text(encoding="utf-8"))["datasets"] if path.exists() else {}
    run = {"command": shlex.join(["python", "scripts/own_comparison.py", *sys.argv[1:]]), "environment": environment()}
    joined = before | {name: result | run for name, result in results.items()}
    with written_whole(path) as part:
        recorded = {"against": AGAINST, "test": TEST, "datasets": joined}
        part.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")
    with written_whole(folder / "own-graphs.md") as part:
        part.write_text(table(joined), encoding="utf-8")


if __name__ == "__main__":
    main()
