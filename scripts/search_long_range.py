"""Search the settings of the presets `long-range` on validation nodes alone, on a GPU or a CPU.

    python scripts/search_long_range.py results.jsonl --minutes 5 --workers 12    # continues a results file
    python scripts/search_long_range.py results.jsonl --show

Two kinds of tasks, none of whose figures comes from a test node of `hiergcn reproduce range`:

    random     a tenth of the nodes trains, the accuracy is that of the best epoch on another tenth
    elsewhere  Helsinki and the power grid: only the half of the graph that a blocked split trains in is used, and is
               blocked again, so that one part trains and the part farthest from it is predicted. The city: a blocked
               split of another generated city.

The rule: the highest mean over the six tasks, each divided by the best of any setting on that task.
"""

import argparse
import json
import multiprocessing as mp
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hiergcn.datasets import city_graph, load_dataset
from hiergcn.graph import Graph, Split
from hiergcn.run.settings import Settings, settings_for
from hiergcn.run.trainer import Trainer

SPLIT = 100  # numbers of splits that no reported figure uses
CITY = 20_000
Changes = dict[str, Any]
TRAIN: Changes = {
    "learning_rate": 0.01,
    "l2": 1e-5,
    "loss": "mean",
    "epochs": 600,
    "patience": 150,
    "scaling": "standard",
}
HGCN: Changes = {
    "channels": 1,
    "pooling": "mean",
    "output_relu": False,
    "hidden": 64,
    "dropout": 0.0,
    "levels": 8,
    **TRAIN,
}
EACH: Changes = {"weight_embedding": 8}
ROUND: Changes = {"weight_embedding": 4, "round_weights": True}
LABELS: Changes = {"harmonic": True, "fade": 0.02, "column_dropout": 0.5}


def hgcn_candidates() -> Iterator[tuple[str, dict[str, Any]]]:
    """H-GCN without label columns, then with them."""
    more: Changes
    for name, weights in (("each", EACH), ("round", ROUND)):
        for more in ({}, {"dropout": 0.2}, {"own_weights": True}, {"learning_rate": 0.003}):
            yield _named(name, more), weights | more
    yield "no weights", {"weight_embedding": 0}
    for levels in (2, 4, 6, 10):
        yield f"round levels={levels}", ROUND | {"levels": levels}
        yield f"round levels={levels} without coarsening", ROUND | {"levels": levels, "coarsening": False}
    for more in ({"hidden": 32}, {"l2": 1e-4}, {"l2": 1e-3}, {"dropout": 0.4}, {"channels": 2}, {"pooling": "sum"}):
        yield _named("round", more), ROUND | more
    for exchange, levels in ((2, 8), (4, 4), (4, 8), (8, 4)):
        for more in ({}, {"dropout": 0.2}):
            changes = {"exchange": exchange, "levels": levels, "learning_rate": 0.003} | more
            yield _named("round", changes), ROUND | changes
    yield "round exchange=4 own", ROUND | {"exchange": 4, "levels": 4, "learning_rate": 0.003, "own_weights": True}


def label_candidates() -> Iterator[tuple[str, dict[str, Any]]]:
    more: Changes
    base = ROUND | LABELS
    for dropout in (0.0, 0.2, 0.4):
        for hidden in (32, 64):
            more = {"dropout": dropout, "hidden": hidden}
            yield _named("labels", more), base | more
    base = base | {"dropout": 0.2}
    for more in (
        {"column_dropout": 0.0},
        {"column_dropout": 0.0, "fade": 0.0},
        {"fade": 0.0},
        {"fade": 0.1},
        {"fade": 0.3},
        {"sharp": True},
        {"own_weights": True},
        {"levels": 4},
        {"levels": 6},
        {"levels": 2},
        {"levels": 10},
        {"l2": 1e-3},
        {"l2": 1e-4},
        {"learning_rate": 0.003},
        {"column_dropout": 0.3},
        {"column_dropout": 0.7},
        {"exchange": 2, "learning_rate": 0.003},
        {"exchange": 4, "levels": 4, "learning_rate": 0.003},
        {"exchange": 4, "levels": 8, "learning_rate": 0.003},
        {"exchange": 4, "levels": 4, "learning_rate": 0.003, "own_weights": True},
        {"own_weights": True, "learning_rate": 0.003, "column_dropout": 0.3},
        {"weight_embedding": 8, "round_weights": False, "column_dropout": 0.3},
        {"weight_embedding": 8, "round_weights": False},
        {"coarsening": False, "levels": 6},
        {"hidden": 128, "dropout": 0.4},
        {"networks": 3},
    ):
        yield _named("labels dropout=0.2", more), base | more


def flat_candidates() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Flat networks, and those of them with label columns that might be rivals."""
    flat = TRAIN | {"hidden": 64}
    made: list[tuple[str, Changes]] = []
    for layers in (16, 8, 4, 2):
        for dropout in (0.0, 0.2):
            depth = {"layers": layers, "dropout": dropout}
            made += [("graphsage", depth | {"learning_rate": rate}) for rate in (0.003, 0.01)]
            made += [("gcn", depth), ("gcnii", depth | {"learning_rate": 0.003})]
    deep = {"layers": 16, "dropout": 0.2}
    made += [("gcnii", deep | more) for more in ({"alpha": 0.3}, {"theta": 1.5}, {"layers": 32}, {"dropout": 0.5}, {})]
    for method, more in (("mlp", {}), ("graphsage", {"layers": 8}), ("graphsage", {"layers": 16}), ("gcnii", {})):
        for columns in ({"harmonic": True}, LABELS):
            made.append((method, {**more, **columns, "dropout": 0.2, "learning_rate": 0.003}))
    for method, changes in made:
        yield _named(method, changes), method, flat | changes


def candidates() -> dict[str, Settings]:
    """Return all settings by name, in turn one of each kind."""
    ours = [
        [(f"hgcn {name}", "hgcn", HGCN | changes) for name, changes in kind]
        for kind in (label_candidates(), hgcn_candidates())
    ]
    in_turn = zip_longest(*ours, flat_candidates())
    return {
        one[0]: settings_for(one[1], "paper" if one[1] == "hgcn" else None).override(one[2])
        for turn in in_turn
        for one in turn
        if one is not None
    }


def _named(name: str, changes: dict[str, Any]) -> str:
    return " ".join([name, *(f"{setting}={value}" for setting, value in changes.items())])


# Tasks


def random_task(graph: Graph) -> tuple[Graph, list[Split]]:
    """Three tenths: the last one is there so that the split has the form of a reported one."""
    assert graph.labels is not None
    split = Split.holdout(graph.labels, 0.1, 0.8, SPLIT)
    return graph, [Split(split.train, split.validation, np.empty(0, np.int64))]


def elsewhere_task(graph: Graph, count: int = 2, within: bool = True) -> tuple[Graph, list[Split]]:
    """Return blocked splits of the half that a blocked split trains in, or of the whole graph."""
    found: list[Split] = []
    number = SPLIT
    while len(found) < count:
        number += 1
        assert graph.labels is not None
        known = graph.labels.copy()
        if within:
            known[Split.blocked(graph, seed=number).test] = -1
        share = 0.2 if within else 0.1  # a tenth of all nodes in both cases
        split = Split.blocked(replace(graph, labels=known), train=share, validation=share, seed=number + 1)
        if len(np.unique(known[split.train])) == len(np.unique(graph.labels)):
            found.append(split)
    return graph, found


def task_of(name: str) -> tuple[Graph, list[Split]]:
    kind, dataset = name.split(" ")
    graph = city_graph(CITY, seed=1) if dataset == "city" else load_dataset(dataset).graph
    return random_task(graph) if kind == "random" else elsewhere_task(graph, within=dataset != "city")


TASKS = tuple(
    f"{kind} {name}" for name in ("helsinki", "pegase-eccentricity", "city") for kind in ("random", "elsewhere")
)


def work(task: str, device: str, jobs: "mp.Queue[str | None]", results: "mp.Queue[dict[str, Any]]") -> None:
    """Train the settings that the queue names, three seeds on random splits and two on each other one."""
    torch.set_num_threads(1)
    graph, splits = task_of(task)
    trainer, every = Trainer(graph, device), candidates()
    labels = trainer.graph.labels
    assert labels is not None
    seeds = 3 if len(splits) == 1 else 2
    runs = [(split, seed) for split in splits for seed in range(seeds)]
    while (name := jobs.get()) is not None:
        began = time.perf_counter()
        accuracy: list[float | None] = []
        try:
            for (split, _), outcome in zip(runs, trainer.train(every[name], runs), strict=True):
                if outcome.probabilities is None:
                    accuracy.append(None)
                elif split.test.size:  # nodes of the training half, or of another city
                    right = outcome.probabilities.argmax(axis=1)[split.test] == labels[split.test]
                    accuracy.append(round(float(right.mean()), 4))
                else:
                    accuracy.append(round(outcome.validation_accuracy or 0.0, 4))
            failure = None
        except Exception as error:  # the others go on
            failure = f"{type(error).__name__}: {error}"[:300]
        seconds = round(time.perf_counter() - began, 2)
        results.put({"settings": name, "task": task, "accuracy": accuracy, "seconds": seconds, "failure": failure})
    results.put({"task": task, "end": True})


def search(path: Path, minutes: float, workers: int, device: str) -> None:
    """Train what the file does not have, candidate by candidate, and append a line for each task of each."""
    done = {(line["settings"], line["task"]) for line in _lines(path)}
    context = mp.get_context("spawn")
    queues = {task: context.Queue() for task in TASKS}
    results: mp.Queue[dict[str, Any]] = context.Queue()
    names = {task: [name for name in candidates() if (name, task) not in done] for task in TASKS}
    share = {task: workers // len(TASKS) + (task.endswith("city") and workers % len(TASKS) > 0) for task in TASKS}
    processes = []
    for task, queue in queues.items():
        for name in names[task]:
            queue.put(name)
        for _ in range(max(share[task], 1)):
            queue.put(None)
            processes.append(context.Process(target=work, args=(task, device, queue, results), daemon=True))
    for process in processes:
        process.start()
    deadline, running = time.monotonic() + 60 * minutes, len(processes)
    with path.open("a", encoding="utf-8") as file:
        while running and (left := deadline - time.monotonic()) > 0:
            try:
                line = results.get(timeout=min(left, 5.0))
            except Exception:  # nothing yet
                running = sum(process.is_alive() for process in processes)
                continue
            if line.pop("end", False):
                running -= 1
                continue
            file.write(json.dumps(line) + "\n")
            file.flush()
            print(line, flush=True)
    for process in processes:
        process.terminate()


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def show(path: Path) -> None:
    """Print a table of means, best first by the rule."""
    found: dict[str, dict[str, float]] = {}
    for line in _lines(path):
        if not line["failure"]:
            values = [value if value is not None else 0.0 for value in line["accuracy"]]
            found.setdefault(line["settings"], {})[line["task"]] = 100 * float(np.mean(values))
        else:
            print(line["settings"], line["task"], line["failure"])
    whole = {name: row for name, row in found.items() if len(row) == len(TASKS)}
    best = {task: max(row[task] for row in whole.values()) for task in TASKS}
    score = {name: np.mean([row[task] / best[task] for task in TASKS]) for name, row in whole.items()}
    print("score  " + "  ".join(task.replace("-eccentricity", "")[:16] for task in TASKS))
    for name in sorted(whole, key=lambda name: -score[name]):
        print(f"{score[name]:.3f}  " + "  ".join(f"{whole[name][task]:5.1f}" for task in TASKS) + f"  {name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("results", type=Path)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--workers", type=int, default=12)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    if given.show:
        show(given.results)
    else:
        search(given.results, given.minutes, given.workers, given.device)
