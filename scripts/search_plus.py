"""The search behind H-GCN+: the same draws for it and for it without its hierarchy, as many for GRAND and for GCN.

    python scripts/search_plus.py cora --draws 4 --splits 32
    python scripts/search_plus.py nell --draws 2 --splits 8
    python scripts/search_plus.py pubmed --per-class 5 --draws 4 --splits 32
    python scripts/search_plus.py --choose docs/results/plus
    python scripts/search_plus.py pubmed --per-class 5 --splits 16 --score label_prior=0    # the recipe with a change

No test node of the public split is seen. What it trains and validates on, 640 nodes on Cora, is divided anew for every
run: 20 nodes of each class train (`--per-class`), half of the rest select the epoch, and the accuracy on the other half
is the score. A setting is not rewarded for the best of many epochs, nor for 500 nodes that happen to suit it. NELL
keeps its training nodes, one of a class. With fewer than 20 nodes of a class as few select, and all others score.

With 20 of a class a recipe is used on one training set, the public one. How it does there is a second score, `public`:
the accuracy on the public validation nodes, the highest mean over 50 epochs on end, mean of 8 seeds. The mean of both
scores chooses.

Draw 0 is the first value of every setting: GRAND's recipe for GRAND, Kipf and Welling's for GCN, both trained as
`SHORT` says, and for H-GCN+ what first trials came to. In a further draw a setting keeps its first value with
probability 0.6; the hierarchy's are drawn last, so that `off` is the very draw of `plus` without it. Each line of a log
is a draw, written when it is finished; what a log has already is not run again. Models take turns, draw by draw, so
that a search that is ended early (--seconds) has given all of them alike.
"""

import argparse
import csv
import gc
import itertools
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
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
PUBLIC_SEEDS = 8
DEEPEST = 6

Space = dict[str, list[Any]]
SHORT: dict[str, dict[str, Any]] = {  # the training of GRAND in a search; that of GCN without the passes
    "cora": {"epochs": 600, "patience": 100},
    "citeseer": {"epochs": 400, "patience": 100},
    "pubmed": {"epochs": 250, "patience": 60, "passes": 2},
    "nell": {"epochs": 300, "patience": 80},
}
GRAND: dict[str, Space] = {
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
PLUS: dict[str, Space] = {  # with and without hierarchy
    "cora": {
        "scaling": ["l2"],
        "selection": ["loss"],
        "epochs": [300],
        "patience": [None],
        "warm_up": [100],
        "temperature": [0.4, 0.5, 0.3],
        "consistency": [1.3, 1.0],
        "l2": [5e-4, 1e-3],
        "order": [8],
    },
    "citeseer": {
        "scaling": ["l2", "row"],
        "selection": ["loss", "accuracy"],
        "epochs": [250],
        "patience": [None],
        "warm_up": [0],
        "passes": [2],
        "temperature": [0.5, 0.3],
        "l2": [5e-4, 1e-3],
        "order": [2, 4],
    },
    "pubmed": {
        "scaling": ["l2"],
        "scale": [5.0],
        "selection": ["loss", "accuracy"],
        "epochs": [200],
        "patience": [None],
        "warm_up": [50],
        "passes": [2],
        "learning_rate": [0.03, 0.01],
        "l2": [5e-3, 2e-3],
        "temperature": [0.5, 0.3],
        "order": [5, 8],
        "hidden": [32, 64],
    },
    "nell": {
        "selection": ["accuracy"],
        "epochs": [400],
        "patience": [None],
        "warm_up": [0],
        "passes": [2],
        "learning_rate": [0.01],
        "l2": [2e-5],
        "hidden": [128],
        "order": [8],
        "input_dropout": [0.0],
        "hidden_dropout": [0.3, 0.1],
        "temperature": [0.3, 0.5],
        "label_prior": [12.0, 8.0],
        "balance_below": [2],
    },
}
HIERARCHY: dict[str, Space] = {
    "cora": {
        "share": [0.1, 0.2],
        "levels": [6, 4],
        "first_level": [3, 2],
        "level_order": [4, 8],
        "strategy": ["two-hop"],
    },
    "citeseer": {"share": [0.3, 0.5], "first_level": [1, 3], "level_order": [1, 4], "strategy": ["hgcn", "two-hop"]},
    "pubmed": {"share": [0.2, 0.5, 0.1], "first_level": [1, 3], "level_order": [2, 4], "strategy": ["hgcn", "two-hop"]},
    "nell": {"share": [0.5, 0.3], "levels": [4, 2], "level_order": [8, 4]},
}
LEVELS: Space = {"levels": [4, 6]}  # where nothing else is said
FEW: dict[str, Space] = {  # in the place of the above where a class has fewer than 20 labels
    "cora": {"epochs": [200], "warm_up": [0], "share": [0.3, 0.5, 0.2], "balance_below": [20]},
    "pubmed": {
        "components": [8, 10],
        "scaling": ["row", "l2"],
        "scale": [1.5, 3.0],
        "epochs": [100],
        "selection": ["loss"],
        "temperature": [1.0],
        "consistency": [2.0, 1.0],
        "learning_rate": [0.01],
        "l2": [2e-2, 5e-3],
        "order": [8],
        "hidden": [32],
        "input_dropout": [0.0],
        "input_dropout_on": ["auto"],
        "label_prior": [2.0, 1.0],
        "balance_below": [10],
        "levels": [4],
        "share": [0.2, 0.1, 0.3],
        "level_order": [4],
        "strategy": ["hgcn"],
    },
}
GCN: dict[str, Space] = {
    name: {
        "hidden": [64, 128] if name == "nell" else [16, 32, 64],
        "dropout": [0.1, 0.3] if name == "nell" else [0.5, 0.3, 0.8],
        "l2": [1e-5, 1e-4] if name == "nell" else [5e-4, 1e-3, 5e-3],
        "learning_rate": [0.01, 0.03, 0.005],
        "scaling": ["row", "l2", "binary"],
        "selection": ["accuracy", "loss"],
    }
    for name in GRAND
}
MODELS = ("plus", "off", "grand", "gcn")
ABOUT = ("dataset", "per_class", "draw", "splits", "model")
FIGURES = ("score", "public", "selected", "steady", "per_split", "failed", "epoch", "memory_gb", "seconds")


class Job(NamedTuple):
    dataset: str
    per_class: int
    model: str
    draw: int


def drawn(space: Space, draw: int, rng: np.random.Generator) -> dict[str, Any]:
    def value(values: list[Any]) -> Any:
        keep, other = rng.random() < KEPT, rng.integers(max(len(values) - 1, 1))
        return values[0] if draw == 0 or keep or len(values) == 1 else values[1 + other]

    return {key: value(values) for key, values in space.items()}


def draw_of(job: Job) -> dict[str, Any]:
    """The settings of a draw; the same whichever draws are made beside it."""
    if job.model == "gcn":
        return drawn(GCN[job.dataset], job.draw, np.random.default_rng([job.draw, 8]))
    if job.model == "grand":
        return drawn(GRAND[job.dataset], job.draw, np.random.default_rng([job.draw, 9]))
    few = FEW.get(job.dataset, {}) if job.per_class < PER_CLASS else {}
    levels = LEVELS | HIERARCHY[job.dataset]
    rng = np.random.default_rng([job.draw, 10])
    shared = drawn(PLUS[job.dataset] | {key: few[key] for key in few if key not in levels}, job.draw, rng)
    hierarchy = drawn(levels | {key: few[key] for key in few if key in levels}, job.draw, rng)
    return shared | (hierarchy if job.model == "plus" else {"share": 0.0})


def settings_of(job: Job) -> Settings:
    if job.model in {"plus", "off"}:
        return settings_for("hgcn-plus").override(draw_of(job))
    short = {key: value for key, value in SHORT[job.dataset].items() if job.model == "grand" or key != "passes"}
    return settings_for(job.model, None, job.dataset).override(draw_of(job) | short)


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


def trial(job: Job, splits: range, device: str, until: float) -> dict[str, Any] | None:
    """The row of a draw; none after the time is up."""
    if time.time() > until:
        return None
    about = {
        "dataset": job.dataset,
        "per_class": job.per_class,
        "draw": job.draw,
        "splits": f"{splits[0]}-{splits[-1]}",
        "model": job.model,
    }
    return about | draw_of(job) | scored(job.dataset, job.per_class, settings_of(job), splits, device)


def scored(dataset: str, per_class: int, settings: Settings, splits: range, device: str) -> dict[str, Any]:
    """What the settings give on some of the splits."""
    import torch

    torch.set_num_threads(1)
    began = time.perf_counter()
    data, where = loaded(dataset), choose_device(device)
    divided = [redrawn(data, number, per_class) for number in splits]
    tasks = [Task.of(data.graph, split) for split, _ in divided]
    method = build_method(settings.method, settings.model)
    hierarchy = coarsened(dataset, settings.coarsen) if method.uses_hierarchy else None
    prepared = method.prepare(tasks[0], hierarchy, where)
    runs = [(task, FIRST_SEED + number) for task, number in zip(tasks, splits, strict=True)]
    outcomes = list(train_runs(method, prepared, runs, settings.train, where))
    public: list[SeedOutcome] = []
    if per_class == PER_CLASS and dataset != "nell":  # there all runs have the public training set
        same = [(Task.of(data.graph, data.split), FIRST_SEED + seed) for seed in range(PUBLIC_SEEDS)]
        public = list(train_runs(method, prepared, same, settings.train, where))
    measured = figures(data, outcomes, [nodes for _, nodes in divided], public)
    del prepared, method
    gc.collect()
    if where.type == "cuda":
        measured["memory_gb"] = round(torch.cuda.max_memory_reserved() / 1e9, 1)
        torch.cuda.empty_cache()
    measured["seconds"] = round(time.perf_counter() - began, 1)
    return measured


def figures(
    data: Dataset, outcomes: list[SeedOutcome], scoring: list[np.ndarray], public: list[SeedOutcome]
) -> dict[str, Any]:
    labels = data.graph.labels
    assert labels is not None
    scores = []
    for outcome, nodes in zip(outcomes, scoring, strict=True):
        failed = outcome.probabilities is None
        scores.append(0.0 if failed else (outcome.probabilities[nodes].argmax(axis=1) == labels[nodes]).mean())  # type: ignore[index]
    selected = [outcome.validation_accuracy for outcome in outcomes if outcome.failure is None]
    return {
        "score": round(float(np.mean(scores)), 5),
        "public": mean_steady(public) if public else "",
        "selected": round(float(np.mean(selected)), 5) if selected else 0.0,
        "steady": mean_steady(outcomes),
        "per_split": " ".join(f"{score:.4f}" for score in scores),
        "failed": len(outcomes) - len(selected),
        "epoch": round(float(np.mean([outcome.best_epoch or 0 for outcome in outcomes]))),
        "memory_gb": 0.0,
    }


def mean_steady(outcomes: list[SeedOutcome]) -> float:
    return round(float(np.mean([steady(outcome.history[:, 3]) for outcome in outcomes])), 5)


def steady(accuracy: np.ndarray) -> float:
    """The highest mean over so many epochs on end."""
    width = min(WINDOW, len(accuracy))
    return float(np.convolve(accuracy, np.full(width, 1.0 / width), "valid").max())


def plan(datasets: list[str], models: list[str], draws: int, per_class: int, logs: Path) -> Iterator[Job]:
    """What no log has; models and datasets take turns."""
    done = {key: {int(row["draw"]) for row in rows} for key, rows in read(logs).items()}
    for draw, dataset, model in itertools.product(range(draws), datasets, models):
        if draw not in done.get((dataset, per_class, model), set()):
            yield Job(dataset, per_class, model, draw)


def log_of(logs: Path, row: dict[str, Any]) -> Path:
    few = "" if int(row["per_class"]) == PER_CLASS else f"-{row['per_class']}"
    return logs / f"search-{row['dataset']}{few}-{row['model']}.csv"


def append(path: Path, row: dict[str, Any]) -> None:
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as lines:
        table = csv.DictWriter(lines, fieldnames=list(row))
        if new:
            table.writeheader()
        table.writerow(row)


def read(logs: Path) -> dict[tuple[str, int, str], list[dict[str, str]]]:
    found = {}
    for path in sorted(logs.glob("search-*.csv")):
        with path.open(encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines))
        if rows:
            found[rows[0]["dataset"], int(rows[0]["per_class"]), rows[0]["model"]] = rows
    return found


def ranked(logs: Path) -> dict[tuple[str, int, str], list[dict[str, str]]]:
    """The rows of each log, best first, of as many draws as all models of the dataset have."""
    found = read(logs)
    fewest: dict[tuple[str, int], int] = {}
    for (dataset, per_class, _), rows in found.items():
        fewest[dataset, per_class] = min(fewest.get((dataset, per_class), len(rows)), len(rows))
    return {
        key: sorted((row for row in rows if int(row["draw"]) < fewest[key[:2]]), key=lambda row: -chosen_by(row))
        for key, rows in found.items()
    }


def chosen_by(row: dict[str, str]) -> float:
    """The mean of the scores that a row has."""
    return float(np.mean([float(row[name]) for name in ("score", "public") if row.get(name)]))


def choose(logs: Path) -> None:
    """The best draw of each model."""
    best: dict[tuple[str, int, str], dict[str, str]] = {}
    for key, rows in ranked(logs).items():
        best[key] = rows[0]
        settings = {name: value for name, value in best[key].items() if name not in ABOUT + FIGURES and value}
        first = {name: value for name, value in rows_of_draw(rows, "0").items() if name in settings}
        public = best[key].get("public") or "–"
        print(f"{key}: {len(rows)} draws; best {best[key]['draw']} with {percent(best[key])}, public {public}")
        print("   ", " ".join(f"{name}={value}" for name, value in settings.items()))
        print("    unlike draw 0:", " ".join(name for name in settings if settings[name] != first.get(name)))
    for dataset, per_class, model in best:
        if model == "plus" and (dataset, per_class, "off") in best:
            ours, theirs = (best[dataset, per_class, one]["per_split"].split() for one in ("plus", "off"))
            gap = 100 * (np.array(ours, float) - np.array(theirs, float))
            print(f"{dataset} {per_class}: plus - off {gap.mean():+.2f} ± {gap.std(ddof=1) / len(gap) ** 0.5:.2f}")


def score(dataset: str, per_class: int, changes: list[str], splits: range, device: str, logs: Path) -> None:
    """Add a line to the log of recipes that were tried with changes."""
    recipe = settings_for("hgcn", "plus" if per_class == PER_CLASS else "plus-few", dataset)
    settings = recipe.override(dict(change.split("=", 1) for change in changes))
    about = {"dataset": dataset, "per_class": per_class, "splits": f"{splits[0]}-{splits[-1]}"}
    row = about | {"changes": " ".join(changes)} | scored(dataset, per_class, settings, splits, device)
    append(logs / "scored.csv", row)
    print(f"{dataset}, {' '.join(changes) or 'the recipe'}: {percent(row)}")


def rows_of_draw(rows: list[dict[str, str]], draw: str) -> dict[str, str]:
    return next((row for row in rows if row["draw"] == draw), {})


def percent(row: dict[str, Any]) -> str:
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
    words.add_argument("--workers", type=int, default=1)
    words.add_argument("--device", default="auto")
    words.add_argument("--seconds", type=float, default=float("inf"), help="begin no draw after this time")
    words.add_argument("--logs", type=Path, default=Path("docs/results/plus"))
    words.add_argument("--choose", type=Path, metavar="LOGS")
    words.add_argument("--score", nargs="*", metavar="NAME=VALUE", help="of H-GCN+'s recipe with these changes alone")
    given = words.parse_args()
    if given.choose:
        choose(given.choose)
        return
    until = time.time() + given.seconds
    given.logs.mkdir(parents=True, exist_ok=True)
    splits = range(given.first_split, given.first_split + given.splits)
    if given.score is not None:
        for dataset in given.datasets:
            score(dataset, given.per_class, given.score, splits, given.device, given.logs)
        return
    with ProcessPoolExecutor(given.workers) as pool:
        jobs = [
            pool.submit(trial, job, splits, given.device, until)
            for job in plan(given.datasets, given.models, given.draws, given.per_class, given.logs)
        ]
        for finished in as_completed(jobs):
            row = finished.result()
            if row is not None:
                append(log_of(given.logs, row), row)
                print({key: row[key] for key in ("model", "draw", "score", "seconds", "memory_gb")}, flush=True)


if __name__ == "__main__":
    import multiprocessing

    multiprocessing.set_start_method("spawn")  # a forked process cannot use the GPU
    main()
