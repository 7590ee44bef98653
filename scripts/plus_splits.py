"""H-GCN+ on other splits than the public one: few labels, and random splits; its rivals on the very same ones.

    python scripts/plus_splits.py few --dataset pubmed --labels 20 15 10 5 3 1 --draws 20 --models plus off grand gcn
    python scripts/plus_splits.py random --dataset cora --draws 100 --models plus off grand gcn

With few labels the training nodes are drawn from the public ones, and validation keeps as few nodes as training has.
Each split has one seed, its number. For each dataset, model and number of labels a JSON file holds the accuracies.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from hiergcn.coarsen import coarsen
from hiergcn.datasets import load_dataset
from hiergcn.experiments.splits import SplitSpec, few_labels, random_splits
from hiergcn.graph.task import Task
from hiergcn.model.registry import build_method
from hiergcn.run.device import choose_device
from hiergcn.run.environment import environment
from hiergcn.run.settings import Settings, settings_for
from hiergcn.train.runs import train_runs

MODELS = ("plus", "off", "grand", "gcn")


def settings_of(model: str, dataset: str) -> Settings:
    if model in {"plus", "off"}:
        settings = settings_for("hgcn", "plus", dataset)
        return settings.override({"share": 0.0}) if model == "off" else settings
    return settings_for(model, None, dataset)


def accuracies(dataset: str, settings: Settings, specs: tuple[SplitSpec, ...], device: str) -> dict[str, Any]:
    data = load_dataset(dataset)
    labels = data.graph.labels
    assert labels is not None
    splits = [spec.of(data.graph, data.split) for spec in specs]
    tasks = [Task.of(data.graph, split) for split in splits]
    where = choose_device(device)
    method = build_method(settings.method, settings.model)
    hierarchy = None
    if method.uses_hierarchy:
        hierarchy = coarsen(data.graph.adjacency, settings.model.levels, settings.coarsen)
    prepared = method.prepare(tasks[0], hierarchy, where)
    began = time.perf_counter()
    runs = [(task, spec.number) for task, spec in zip(tasks, specs, strict=True)]
    test: list[float | None] = []
    validation: list[float | None] = []
    for split, outcome in zip(splits, train_runs(method, prepared, runs, settings.train, where), strict=True):
        if outcome.probabilities is None:
            test.append(None)
            validation.append(None)
            continue
        right = outcome.probabilities.argmax(axis=1) == labels
        test.append(round(float(right[split.test].mean()), 5))
        validation.append(round(outcome.validation_accuracy, 5))
    return {"test": test, "validation": validation, "seconds": round(time.perf_counter() - began, 1)}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("kind", choices=("few", "random"))
    words.add_argument("--dataset", required=True)
    words.add_argument("--labels", type=int, nargs="+", default=[20, 15, 10, 5, 3, 1])
    words.add_argument("--draws", type=int, default=20)
    words.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    words.add_argument("--device", default="auto")
    words.add_argument("--out", type=Path, default=Path("docs/results/plus/splits"))
    given = words.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    wanted = {"random": random_splits(given.draws)}
    if given.kind == "few":
        wanted = {f"few-{count}": few_labels(count, given.draws, small_validation=True) for count in given.labels}
    for name, specs in wanted.items():
        for model in given.models:
            settings = settings_of(model, given.dataset)
            result = accuracies(given.dataset, settings, specs, given.device)
            result |= {"settings": settings.to_dict(), "environment": environment()}
            path = given.out / f"{given.dataset}-{name}-{model}.json"
            path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
            done = [value for value in result["test"] if value is not None]
            failed = len(result["test"]) - len(done)
            print(f"{path.name}: {np.mean(done):.4f} ± {np.std(done, ddof=1):.4f}, {failed} failed", flush=True)


if __name__ == "__main__":
    main()
