"""H-GCN+ on other splits than the public one: few labels, and random splits; its rivals on the very same ones.

    python scripts/plus_splits.py few --dataset pubmed --labels 20 15 10 5 3 1 --models plus off grand gcn
    python scripts/plus_splits.py random --dataset cora --models plus off grand gcn

With few labels the training nodes are drawn from the public ones, validation keeps as few nodes as training has, and
H-GCN+ takes its preset `plus-few`. Each split has one seed, its number. For each dataset, model and number of labels
a JSON file holds the accuracies; it is written again whenever some more splits are done. With --seconds nothing is
begun after that time.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from hiergcn.coarsen import coarsen
from hiergcn.datasets import load_dataset
from hiergcn.graph.split import SplitSpec, few_labels, random_splits
from hiergcn.graph.task import Task
from hiergcn.model.registry import build_method
from hiergcn.run.device import choose_device
from hiergcn.run.environment import environment
from hiergcn.run.settings import Settings, settings_for
from hiergcn.train.runs import train_runs

MODELS = ("plus", "off", "grand", "gcn")


def settings_of(model: str, dataset: str, few: bool) -> Settings:
    if model in {"plus", "off"}:
        settings = settings_for("hgcn", "plus-few" if few else "plus", dataset)
        return settings.override({"share": 0.0}) if model == "off" else settings
    return settings_for(model, None, dataset)


def accuracies(
    dataset: str, settings: Settings, specs: tuple[SplitSpec, ...], device: str, together: int
) -> Iterator[dict[str, Any]]:
    """Of all splits so far, each time that some more, trained side by side, are done."""
    data = load_dataset(dataset)
    labels = data.graph.labels
    assert labels is not None
    splits = [spec.split(data.graph, data.split) for spec in specs]
    tasks = [Task.of(data.graph, split) for split in splits]
    where = choose_device(device)
    method = build_method(settings.method, settings.model)
    hierarchy = None
    if method.uses_hierarchy:
        hierarchy = coarsen(data.graph.adjacency, settings.model.levels, settings.coarsen)
    prepared = method.prepare(tasks[0], hierarchy, where)
    began = time.perf_counter()
    test: list[float | None] = []
    validation: list[float | None] = []
    for first in range(0, len(specs), together):
        some = slice(first, first + together)
        runs = [(task, spec.number) for task, spec in zip(tasks[some], specs[some], strict=True)]
        for split, outcome in zip(splits[some], train_runs(method, prepared, runs, settings.train, where), strict=True):
            if outcome.probabilities is None:
                test.append(None)
                validation.append(None)
                continue
            right = outcome.probabilities.argmax(axis=1) == labels
            test.append(round(float(right[split.test].mean()), 5))
            validation.append(round(outcome.validation_accuracy, 5))
        yield {
            "test": test,
            "validation": validation,
            "seconds": round(time.perf_counter() - began, 1),
            "memory_gb": round(torch.cuda.max_memory_allocated() / 1e9, 2) if where.type == "cuda" else None,
        }


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("kind", choices=("few", "random"))
    words.add_argument("--dataset", required=True)
    words.add_argument("--labels", type=int, nargs="+", default=[20, 15, 10, 5, 3, 1])
    words.add_argument("--draws", type=int, help="of splits: 20 with few labels, 100 random ones unless it says so")
    words.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    words.add_argument("--device", default="auto")
    words.add_argument("--together", type=int, default=20, help="splits side by side on a GPU, as its memory allows")
    words.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings to change, for all models")
    words.add_argument("--seconds", type=float, default=float("inf"), help="begin no further splits after this time")
    words.add_argument("--out", type=Path, default=Path("docs/results/plus/splits"))
    given = words.parse_args()
    until = time.monotonic() + given.seconds
    draws = given.draws or (20 if given.kind == "few" else 100)
    given.out.mkdir(parents=True, exist_ok=True)
    wanted = {"random": random_splits(draws)}
    if given.kind == "few":
        wanted = {f"few-{count}": few_labels(count, draws, small_validation=True) for count in given.labels}
    for name, specs in wanted.items():
        for model in given.models:
            settings = settings_of(model, given.dataset, given.kind == "few")
            settings = settings.override(dict(change.split("=", 1) for change in given.set))
            about = {"settings": settings.to_dict(), "environment": environment()}
            path = given.out / f"{given.dataset}-{name}-{model}.json"
            for result in accuracies(given.dataset, settings, specs, given.device, given.together):
                path.write_text(json.dumps(result | about, indent=1) + "\n", encoding="utf-8")
                print(f"{path.name}: {len(result['test'])} of {len(specs)} splits, {result['seconds']} s", flush=True)
                if time.monotonic() > until:
                    return


if __name__ == "__main__":
    main()
