"""The search behind H-GCN+: the same draws for it, for it without its hierarchy, and as many for GRAND and GCN.

    python scripts/search_plus.py cora citeseer pubmed nell --draws 16 --seeds 3 --workers 8 --logs docs/results/plus

Each line of a log is one draw of the settings with the validation accuracy of every seed. No test node is in the split
that is searched on. Draw 0 is the first value of every setting; the hierarchy's own settings are drawn last, so that
`off` is the very draw of `plus` with share = 0. Models take turns, draw by draw, so that a search that is ended early
(--seconds) has given all of them alike. `--choose` names the best draw of each log:

    python scripts/search_plus.py --choose docs/results/plus/search-*.csv

Draws are ranked by `steady`: the highest mean of the validation accuracy over 50 epochs on end, averaged over the
seeds. A single best epoch would favour settings whose accuracy jumps about.
"""

import argparse
import csv
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hiergcn.datasets import load_dataset
from hiergcn.errors import HierGCNError
from hiergcn.run.fit import fit
from hiergcn.run.settings import settings_for

FIRST_SEED = 1000  # so that no run of the results shares a seed
WINDOW = 50

HIERARCHY: dict[str, dict[str, list[Any]]] = {
    "cora": {"share": [0.2, 0.1, 0.3], "levels": [2, 4], "level_order": [2, 1, 4], "strategy": ["hgcn", "two-hop"]},
    "citeseer": {"share": [0.5, 0.3], "levels": [4, 2, 6], "level_order": [1, 2], "strategy": ["hgcn", "two-hop"]},
    "pubmed": {"share": [0.3, 0.1, 0.2], "levels": [4, 2], "level_order": [1, 2, 3], "strategy": ["two-hop", "hgcn"]},
    "nell": {"share": [0.1, 0.2, 0.3], "levels": [2, 4], "level_order": [1, 3], "strategy": ["hgcn", "two-hop"]},
}
PLUS: dict[str, dict[str, list[Any]]] = {
    "cora": {
        "order": [8, 4],
        "hidden": [32, 64],
        "passes": [4],
        "input_dropout": [0.5, 0.3, 0.8],
        "hidden_dropout": [0.5, 0.3],
        "temperature": [0.5, 0.2],
        "scaling": ["row", "l2"],
        "column_weight": ["none", "idf"],
        "l2": [5e-4, 1e-3],
        "learning_rate": [0.01],
        "label_prior": [0.0, 0.0, 0.3],
    },
    "citeseer": {
        "order": [2, 4],
        "hidden": [32, 64],
        "passes": [2, 4],
        "input_dropout": [0.0, 0.2],
        "hidden_dropout": [0.2, 0.5],
        "temperature": [0.3, 0.2],
        "consistency": [0.7, 1.0],
        "scaling": ["row", "l2"],
        "column_weight": ["idf", "none"],
        "l2": [5e-4, 1e-3],
        "learning_rate": [0.01],
        "label_prior": [0.0, 0.0, 0.3],
    },
    "pubmed": {
        "order": [5, 8],
        "hidden": [32, 64],
        "passes": [4],
        "input_dropout": [0.6, 0.3],
        "hidden_dropout": [0.8, 0.5],
        "temperature": [0.2, 0.4],
        "dropout_on": ["propagated"],
        "batch_norm": [True],
        "l2": [5e-4, 1e-3],
        "learning_rate": [0.2, 0.1],
        "label_prior": [0.0, 1.0],
        "epochs": [350],
        "patience": [100],
    },
    "nell": {
        "order": [8],
        "hidden": [64, 128],
        "passes": [2],
        "input_dropout": [0.1, 0.0, 0.3],
        "hidden_dropout": [0.1, 0.3],
        "temperature": [0.5, 0.3],
        "l2": [1e-5, 2e-5],
        "learning_rate": [0.01, 0.02],
        "label_prior": [3.0, 1.0, 6.0],
        "epochs": [350],
        "patience": [100],
    },
}
GRAND: dict[str, dict[str, list[Any]]] = {
    name: {key: values for key, values in space.items() if key not in {"dropout_on", "column_weight", "label_prior"}}
    for name, space in PLUS.items()
}
GCN: dict[str, dict[str, list[Any]]] = {
    name: {
        "hidden": [64, 128] if name == "nell" else [16, 32, 64],
        "dropout": [0.1, 0.3] if name == "nell" else [0.5, 0.3, 0.8],
        "l2": [1e-5, 1e-4] if name == "nell" else [5e-4, 1e-3, 5e-3],
        "learning_rate": [0.01, 0.03, 0.005],
        "scaling": ["row", "l2", "binary"],
    }
    for name in PLUS
}
MODELS = ("plus", "off", "grand", "gcn")


def settings_of(model: str, dataset: str, draw: int) -> tuple[str, dict[str, Any]]:
    """The method and the settings of a draw; the same whichever draws are made beside it."""
    space = {"plus": PLUS, "off": PLUS, "grand": GRAND, "gcn": GCN}[model][dataset]
    rng = np.random.default_rng([draw, 7])
    drawn = {key: values[rng.integers(len(values)) if draw else 0] for key, values in space.items()}
    if model in {"plus", "off"}:
        levels = HIERARCHY[dataset]
        drawn |= {key: values[rng.integers(len(values)) if draw else 0] for key, values in levels.items()}
        return "hgcn-plus", drawn | ({"share": 0.0} if model == "off" else {})
    if model == "grand" and dataset == "nell":
        drawn["input_dropout_on"] = "features"
    return model, drawn


def trial(dataset: str, model: str, draw: int, seeds: int, device: str, until: float) -> dict[str, Any] | None:
    if time.time() > until:
        return None
    import torch

    torch.set_num_threads(1)
    method, drawn = settings_of(model, dataset, draw)
    data = load_dataset(dataset)
    blind = replace(data.split, test=np.empty(0, dtype=np.int64))
    settings = settings_for(method, None, dataset).override(drawn)
    row = {"dataset": dataset, "model": model, "draw": draw, **drawn}
    try:
        result = fit(data.graph, blind, settings, range(FIRST_SEED, FIRST_SEED + seeds), device=device)
    except HierGCNError as error:
        return row | {"steady": 0.0, "best": 0.0, "per_seed": str(error), "seconds": 0.0}
    per_seed = [part["validation_accuracy"].to_numpy() for _, part in result.history.groupby("seed")]
    best = result.validation_accuracy.per_seed
    return row | {
        "steady": round(float(np.mean([steady(accuracy) for accuracy in per_seed])), 5),
        "best": round(result.validation_accuracy.mean or 0.0, 5),
        "per_seed": " ".join("failed" if value is None else f"{value:.4f}" for value in best),
        "seconds": round(result.seconds["train"], 1),
    }


def steady(accuracy: np.ndarray) -> float:
    width = min(WINDOW, len(accuracy))
    return float(np.convolve(accuracy, np.full(width, 1.0 / width), "valid").max())


def plan(datasets: list[str], models: list[str], draws: range) -> Iterator[tuple[str, str, int]]:
    for draw in draws:
        for dataset in datasets:
            for model in models:
                yield dataset, model, draw


def write(rows: list[dict[str, Any]], logs: Path) -> None:
    logs.mkdir(parents=True, exist_ok=True)
    for dataset, model in sorted({(row["dataset"], row["model"]) for row in rows}):
        mine = [row for row in rows if (row["dataset"], row["model"]) == (dataset, model)]
        with (logs / f"search-{dataset}-{model}.csv").open("w", newline="", encoding="utf-8") as lines:
            table = csv.DictWriter(lines, fieldnames=list(mine[0]))
            table.writeheader()
            table.writerows(sorted(mine, key=lambda row: row["draw"]))


def choose(logs: list[Path]) -> None:
    """The best draw of each log, among as many draws as the shortest log of its dataset has."""
    read = {path: list(csv.DictReader(path.open(encoding="utf-8"))) for path in logs}
    for dataset in sorted({rows[0]["dataset"] for rows in read.values()}):
        of_dataset = {path: rows for path, rows in read.items() if rows[0]["dataset"] == dataset}
        common = set.intersection(*({row["draw"] for row in rows} for rows in of_dataset.values()))
        for path, rows in of_dataset.items():
            best = max((row for row in rows if row["draw"] in common), key=lambda row: float(row["steady"]))
            print(f"{path.name} ({len(common)} draws):", {key: value for key, value in best.items() if value})


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("datasets", nargs="*")
    words.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    words.add_argument("--draws", type=int, default=16)
    words.add_argument("--seeds", type=int, default=3)
    words.add_argument("--workers", type=int, default=1)
    words.add_argument("--device", default="auto")
    words.add_argument("--seconds", type=float, default=float("inf"), help="begin no draw after this time")
    words.add_argument("--logs", type=Path, default=Path("docs/results/plus"))
    words.add_argument("--choose", nargs="+", type=Path)
    given = words.parse_args()
    if given.choose:
        choose(given.choose)
        return
    rows: list[dict[str, Any]] = []
    until = time.time() + given.seconds
    with ProcessPoolExecutor(given.workers) as pool:
        jobs = [
            pool.submit(trial, dataset, model, draw, given.seeds, given.device, until)
            for dataset, model, draw in plan(given.datasets, given.models, range(given.draws))
        ]
        for job in as_completed(jobs):
            row = job.result()
            if row is not None:
                rows.append(row)
                print(row, flush=True)
    write(rows, given.logs)


if __name__ == "__main__":
    import multiprocessing

    multiprocessing.set_start_method("spawn")  # a forked process cannot use the GPU
    main()
