"""The search behind H-GCN+: the same draws for it, for it without its hierarchy and for GRAND, and as many for GCN.

    python scripts/search_plus.py cora citeseer pubmed nell --draws 16 --splits 8 --workers 4
    python scripts/search_plus.py cora citeseer pubmed nell --best 2 --first-split 8 --splits 16
    python scripts/search_plus.py --choose docs/results/plus

No test node of the public split is seen. What it trains and validates on, 640 nodes on Cora, is divided anew for every
run: 20 nodes of each class train (`--per-class`), half of the rest select the epoch, and the accuracy on the other half
is the score. A setting is not rewarded for the best of many epochs, nor for 500 nodes that happen to suit it. NELL
keeps its training nodes, one of a class. With fewer than 20 nodes of a class as few select, and all others score.

Draw 0 is GRAND's recipe and the first value of every setting of the hierarchy. In a further draw a setting keeps its
first value with probability 0.6; the hierarchy's are drawn last, so that `off` is the very draw of `plus` without it.
`off` is GRAND wherever no label prior is drawn, and then the two share a training. Each line of a log is a draw,
written when it is finished; models take turns, draw by draw, so that a search that is ended early (--seconds) has given
all of them alike. The search trains shortly; `--best` trains the best draws of each log again, longer and on splits
that did not choose them, into logs named `confirm`.
"""

import argparse
import csv
import gc
import itertools
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hiergcn.coarsen import CoarsenConfig, Hierarchy, coarsen
from hiergcn.datasets import Dataset, load_dataset
from hiergcn.graph import Split
from hiergcn.graph.task import Task
from hiergcn.model.registry import build_method
from hiergcn.run.device import choose_device
from hiergcn.run.settings import Settings, settings_for
from hiergcn.train.loop import SeedOutcome
from hiergcn.train.runs import train_runs

FIRST_SEED = 1000  # so that no run of the results shares a seed
WINDOW = 50
KEPT = 0.6  # probability that a draw keeps the first value of a setting
PER_CLASS = 20
DEEPEST = 4

Space = dict[str, list[Any]]
SHORT: dict[str, dict[str, Any]] = {  # the training of a search, the same for all models
    "cora": {"epochs": 400, "patience": 100, "passes": 2},
    "citeseer": {"epochs": 400, "patience": 100},
    "pubmed": {"epochs": 250, "patience": 60, "passes": 2},
    "nell": {"epochs": 300, "patience": 80},
}
LONG = {"epochs": 1000, "patience": 120}  # that of the best draws, with as many passes as GRAND's recipe has
PASSES: dict[str, Space] = {  # the first value is GRAND's
    "cora": {
        "order": [8, 6, 4],
        "hidden": [32, 64],
        "input_dropout": [0.5, 0.3, 0.7],
        "hidden_dropout": [0.5, 0.3, 0.7],
        "temperature": [0.5, 0.3, 0.7],
        "consistency": [1.0, 0.7, 1.5],
        "drop_node": [0.5, 0.4, 0.6],
        "l2": [5e-4, 1e-3],
        "input_dropout_on": ["auto", "features"],
        "selection": ["accuracy", "loss"],
    },
    "citeseer": {
        "order": [2, 1, 4],
        "hidden": [32, 64],
        "passes": [2, 4],
        "input_dropout": [0.0, 0.2],
        "hidden_dropout": [0.2, 0.5],
        "temperature": [0.3, 0.2, 0.5],
        "consistency": [0.7, 1.0, 0.5],
        "drop_node": [0.5, 0.4, 0.6],
        "l2": [5e-4, 1e-3],
        "input_dropout_on": ["features"],
        "selection": ["accuracy", "loss"],
    },
    "pubmed": {
        "order": [5, 8, 4],
        "hidden": [32, 64],
        "input_dropout": [0.6, 0.4],
        "hidden_dropout": [0.8, 0.6],
        "temperature": [0.2, 0.4, 0.1],
        "consistency": [1.0, 0.7],
        "l2": [5e-4, 1e-3],
        "learning_rate": [0.2, 0.1],
        "selection": ["accuracy", "loss"],
    },
    "nell": {
        "order": [8, 5],
        "hidden": [64, 128],
        "passes": [2, 4],
        "input_dropout": [0.1, 0.0, 0.3],
        "hidden_dropout": [0.1, 0.3],
        "temperature": [0.5, 0.3],
        "l2": [1e-5, 2e-5],
        "learning_rate": [0.01, 0.02],
        "scaling": ["row", "l2"],
        "initial": ["shifted_normal", "glorot"],
        "selection": ["accuracy", "loss"],
    },
}
PRIOR: dict[str, Space] = {"pubmed": {"label_prior": [0.0, 1.0]}, "nell": {"label_prior": [3.0, 1.0, 6.0]}}
HIERARCHY: dict[str, Space] = {
    "cora": {"share": [0.2, 0.1, 0.3], "levels": [2, 3, 4], "level_order": [1, 0, 2]},
    "citeseer": {"share": [0.3, 0.2, 0.5], "levels": [4, 2, 3], "level_order": [1, 0, 2]},
    "pubmed": {"share": [0.2, 0.1, 0.3, 0.5], "levels": [4, 2, 3], "level_order": [1, 2, 0]},
    "nell": {"share": [0.2, 0.1, 0.4], "levels": [2, 4], "level_order": [1, 3]},
}
HIERARCHY_OF_ALL: Space = {"strategy": ["hgcn", "two-hop"], "drop_level": [0, 1]}
GCN: dict[str, Space] = {
    name: {
        "hidden": [64, 128] if name == "nell" else [16, 32, 64],
        "dropout": [0.1, 0.3] if name == "nell" else [0.5, 0.3, 0.8],
        "l2": [1e-5, 1e-4] if name == "nell" else [5e-4, 1e-3, 5e-3],
        "learning_rate": [0.01, 0.03, 0.005],
        "scaling": ["row", "l2", "binary"],
        "selection": ["accuracy", "loss"],
    }
    for name in PASSES
}
MODELS = ("plus", "off", "grand", "gcn")
ABOUT = ("dataset", "per_class", "draw", "splits", "model")
FIGURES = ("score", "selected", "steady", "per_split", "failed", "epoch", "memory_gb", "seconds")


class Job(NamedTuple):
    dataset: str
    models: tuple[str, ...]  # that one training stands for
    draw: int


def drawn(space: Space, draw: int, rng: np.random.Generator) -> dict[str, Any]:
    def value(values: list[Any]) -> Any:
        keep, other = rng.random() < KEPT, rng.integers(max(len(values) - 1, 1))
        return values[0] if draw == 0 or keep or len(values) == 1 else values[1 + other]

    return {key: value(values) for key, values in space.items()}


def draw_of(model: str, dataset: str, draw: int) -> dict[str, Any]:
    """The settings of a draw; the same whichever draws are made beside it."""
    if model == "gcn":
        return drawn(GCN[dataset], draw, np.random.default_rng([draw, 8]))
    rng = np.random.default_rng([draw, 9])
    shared = drawn(PASSES[dataset], draw, rng)
    prior = drawn(PRIOR.get(dataset, {}), draw, rng)
    hierarchy = drawn(HIERARCHY[dataset] | HIERARCHY_OF_ALL, draw, rng)
    if model == "grand":
        return shared
    return shared | prior | (hierarchy if model == "plus" else {"share": 0.0, "drop_level": 0})


def settings_of(model: str, dataset: str, draw: int) -> Settings:
    given = draw_of(model, dataset, draw)
    if model in {"gcn", "grand"}:
        return settings_for(model, None, dataset).override(given)
    grand = settings_for("grand", None, dataset)
    return settings_for("hgcn-plus").override(asdict(grand.model) | asdict(grand.train) | {"warm_up": 0} | given)


def redrawn(data: Dataset, number: int, per_class: int) -> tuple[Split, np.ndarray]:
    """The public training and validation nodes divided anew, and those of them that give the score."""
    labels = data.graph.labels
    assert labels is not None
    rng = np.random.default_rng([number, 2026])
    known = np.concatenate([data.split.train, data.split.validation])
    train = data.split.train if data.name == "nell" else some_of_each_class(known, labels, per_class, rng)
    rest = rng.permutation(np.setdiff1d(known, train))
    if per_class < PER_CLASS and data.name != "nell":
        selecting = some_of_each_class(rest, labels, per_class, rng)
    else:
        selecting = rest[: len(rest) // 2]
    return Split(train, selecting, np.empty(0, dtype=np.int64)), np.setdiff1d(rest, selecting)


def some_of_each_class(nodes: np.ndarray, labels: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    shuffled = rng.permutation(nodes)
    return np.concatenate([shuffled[labels[shuffled] == one][:count] for one in np.unique(labels[nodes])])


@cache
def loaded(dataset: str) -> Dataset:
    return load_dataset(dataset)


@cache
def coarsened(dataset: str, config: CoarsenConfig) -> Hierarchy:
    return coarsen(loaded(dataset).graph.adjacency, DEEPEST, config)


def trial(
    job: Job, splits: range, per_class: int, device: str, until: float, training: dict[str, Any]
) -> list[dict[str, Any]]:
    """A row for each model that the training stands for; none after the time is up."""
    if time.time() > until:
        return []
    import torch

    torch.set_num_threads(1)
    began = time.perf_counter()
    settings = settings_of(job.models[0], job.dataset, job.draw)
    settings = settings.override(
        {key: value for key, value in training.items() if key in LONG or job.models != ("gcn",)}
    )
    data, where = loaded(job.dataset), choose_device(device)
    divided = [redrawn(data, number, per_class) for number in splits]
    tasks = [Task.of(data.graph, split) for split, _ in divided]
    method = build_method(settings.method, settings.model)
    hierarchy = coarsened(job.dataset, settings.coarsen) if method.uses_hierarchy else None
    prepared = method.prepare(tasks[0], hierarchy, where)
    runs = [(task, FIRST_SEED + number) for task, number in zip(tasks, splits, strict=True)]
    outcomes = list(train_runs(method, prepared, runs, settings.train, where))
    measured = figures(data, outcomes, [scored for _, scored in divided])
    del prepared, method
    gc.collect()
    if where.type == "cuda":
        measured["memory_gb"] = round(torch.cuda.max_memory_reserved() / 1e9, 1)
        torch.cuda.empty_cache()
    measured["seconds"] = round(time.perf_counter() - began, 1)
    about = {"dataset": job.dataset, "per_class": per_class, "draw": job.draw, "splits": f"{splits[0]}-{splits[-1]}"}
    return [about | {"model": model} | draw_of(model, job.dataset, job.draw) | measured for model in job.models]


def figures(data: Dataset, outcomes: list[SeedOutcome], scored: list[np.ndarray]) -> dict[str, Any]:
    labels = data.graph.labels
    assert labels is not None
    scores = []
    for outcome, nodes in zip(outcomes, scored, strict=True):
        failed = outcome.probabilities is None
        scores.append(0.0 if failed else (outcome.probabilities[nodes].argmax(axis=1) == labels[nodes]).mean())  # type: ignore[index]
    selected = [outcome.validation_accuracy for outcome in outcomes if outcome.failure is None]
    return {
        "score": round(float(np.mean(scores)), 5),
        "selected": round(float(np.mean(selected)), 5) if selected else 0.0,
        "steady": round(float(np.mean([steady(outcome.history[:, 3]) for outcome in outcomes])), 5),
        "per_split": " ".join(f"{score:.4f}" for score in scores),
        "failed": len(outcomes) - len(selected),
        "epoch": round(float(np.mean([outcome.best_epoch or 0 for outcome in outcomes]))),
        "memory_gb": 0.0,
    }


def steady(accuracy: np.ndarray) -> float:
    """The highest mean over so many epochs on end."""
    width = min(WINDOW, len(accuracy))
    return float(np.convolve(accuracy, np.full(width, 1.0 / width), "valid").max())


def plan(datasets: list[str], models: list[str], draws: dict[tuple[str, str], list[int]]) -> Iterator[Job]:
    """Models and datasets take turns."""
    for place in range(max((len(mine) for mine in draws.values()), default=0)):
        for dataset in datasets:
            jobs: dict[tuple[str, int], list[str]] = {}  # the models that a training stands for
            for model in models:
                for draw in draws[dataset, model][place : place + 1]:
                    jobs.setdefault((training_of(model, dataset, draw), draw), []).append(model)
            yield from (Job(dataset, tuple(same), draw) for (_, draw), same in jobs.items())


def training_of(model: str, dataset: str, draw: int) -> str:
    """The model that is trained: `off` without a label prior is GRAND."""
    return "off" if model == "grand" and not draw_of("off", dataset, draw).get("label_prior") else model


def log_of(logs: Path, kind: str, row: dict[str, Any]) -> Path:
    few = "" if int(row["per_class"]) == PER_CLASS else f"-{row['per_class']}"
    return logs / f"{kind}-{row['dataset']}{few}-{row['model']}.csv"


def append(path: Path, row: dict[str, Any]) -> None:
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as lines:
        table = csv.DictWriter(lines, fieldnames=list(row))
        if new:
            table.writeheader()
        table.writerow(row)


def read(logs: Path, kind: str) -> dict[tuple[str, int, str], list[dict[str, str]]]:
    found = {}
    for path in sorted(logs.glob(f"{kind}-*.csv")):
        with path.open(encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines))
        if rows and "score" in rows[0]:
            found[rows[0]["dataset"], int(rows[0]["per_class"]), rows[0]["model"]] = rows
    return found


def ranked(logs: Path, kind: str) -> dict[tuple[str, int, str], list[dict[str, str]]]:
    """The rows of each log, best first, of the draws that all models of the dataset have."""
    found = read(logs, kind)
    common: dict[tuple[str, int], set[str]] = {}
    for (dataset, per_class, _), rows in found.items():
        draws = {row["draw"] for row in rows}
        common[dataset, per_class] = common.get((dataset, per_class), draws) & draws
    return {
        key: sorted((row for row in rows if row["draw"] in common[key[:2]]), key=lambda row: -float(row["score"]))
        for key, rows in found.items()
    }


def choose(logs: Path) -> None:
    """The best draw of each model: by the splits it was confirmed on where there are some, else by those searched."""
    searched, confirmed = ranked(logs, "search"), read(logs, "confirm")
    best: dict[tuple[str, int, str], dict[str, str]] = {}
    for key, rows in searched.items():
        again = sorted(confirmed.get(key, []), key=lambda row: -float(row["score"]))
        best[key] = (again or rows)[0]
        settings = {name: value for name, value in best[key].items() if name not in ABOUT + FIGURES and value}
        first = {name: value for name, value in rows_of_draw(rows, "0").items() if name in settings}
        print(f"{key}: {len(rows)} draws, {len(again)} confirmed; best {best[key]['draw']} with {percent(best[key])}")
        print("   ", " ".join(f"{name}={value}" for name, value in settings.items()))
        print("    unlike draw 0:", " ".join(name for name in settings if settings[name] != first.get(name)))
    for dataset, per_class, model in best:
        if model == "plus" and (dataset, per_class, "off") in best:
            ours, theirs = (best[dataset, per_class, one]["per_split"].split() for one in ("plus", "off"))
            gap = 100 * (np.array(ours, float) - np.array(theirs, float))
            print(f"{dataset} {per_class}: plus - off {gap.mean():+.2f} ± {gap.std(ddof=1) / len(gap) ** 0.5:.2f}")


def rows_of_draw(rows: list[dict[str, str]], draw: str) -> dict[str, str]:
    return next((row for row in rows if row["draw"] == draw), {})


def percent(row: dict[str, str]) -> str:
    scores = 100 * np.array(row["per_split"].split(), float)
    return f"{scores.mean():.2f} ± {scores.std(ddof=1) / len(scores) ** 0.5:.2f} over {len(scores)} splits"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("datasets", nargs="*")
    words.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    words.add_argument("--draws", type=int, default=16)
    words.add_argument("--per-class", type=int, default=PER_CLASS)
    words.add_argument("--first-split", type=int, default=0)
    words.add_argument("--splits", type=int, default=8)
    words.add_argument("--best", type=int, help="train so many of the best draws of each log again")
    words.add_argument("--workers", type=int, default=1)
    words.add_argument("--device", default="auto")
    words.add_argument("--seconds", type=float, default=float("inf"), help="begin no draw after this time")
    words.add_argument("--epochs", type=int, help="instead of those of the search, to try it out")
    words.add_argument("--logs", type=Path, default=Path("docs/results/plus"))
    words.add_argument("--choose", type=Path, metavar="LOGS")
    given = words.parse_args()
    if given.choose:
        choose(given.choose)
        return
    until = time.time() + given.seconds
    given.logs.mkdir(parents=True, exist_ok=True)
    kind = "search" if given.best is None else "confirm"
    every = list(itertools.product(given.datasets, given.models))
    draws = {pair: list(range(given.draws)) for pair in every}
    if given.best is not None:
        best = ranked(given.logs, "search")
        draws = {
            (dataset, model): [
                int(row["draw"]) for row in best.get((dataset, given.per_class, model), [])[: given.best]
            ]
            for dataset, model in every
        }
    training = {name: LONG if given.best else SHORT[name] for name in given.datasets}
    if given.epochs:
        training = {name: {**training[name], "epochs": given.epochs} for name in training}
    splits = range(given.first_split, given.first_split + given.splits)
    with ProcessPoolExecutor(given.workers) as pool:
        jobs = [
            pool.submit(trial, job, splits, given.per_class, given.device, until, training[job.dataset])
            for job in plan(given.datasets, given.models, draws)
        ]
        for finished in as_completed(jobs):
            for row in finished.result():
                append(log_of(given.logs, kind, row), row)
                print({key: row[key] for key in ("model", "draw", "score", "seconds", "memory_gb")}, flush=True)


if __name__ == "__main__":
    import multiprocessing

    multiprocessing.set_start_method("spawn")  # a forked process cannot use the GPU
    main()
