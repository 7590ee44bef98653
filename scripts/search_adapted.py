"""The search behind the settings for graphs without a recipe, on validation alone; as many draws for GCN.

    python scripts/search_adapted.py --draws 24 --device cuda --log docs/results/searches/adapted.csv

The splits begin at number 1000, so that none is one of `own_comparison.py`, and have no test nodes. Draw 0 is what
`hiergcn fit` takes now. Models and datasets take turns, draw by draw, so that a search that is ended early (--seconds)
has given all of them alike. At the end the draws are ranked by their validation accuracy, averaged over the datasets.
"""

import argparse
import csv
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hiergcn.datasets import load_dataset
from hiergcn.errors import HierGCNError
from hiergcn.files import written_whole
from hiergcn.graph import Graph, Split
from hiergcn.run.adapt import adapted_settings
from hiergcn.run.split_plan import PER_CLASS, VALIDATION
from own_comparison import DATASETS, QUICK_EPOCHS, train_splits, with_epochs

FIRST_SPLIT = 1000
COMMON: dict[str, list[Any]] = {
    "hidden": [32, 64, 128],
    "dropout": [0.3, 0.5, 0.6, 0.7, 0.8],
    "learning_rate": [0.003, 0.01, 0.03],
    "l2": [0.0, 5e-5, 5e-4, 5e-3],
    "scaling": ["row", "l2", "standard", "none"],
}
SPACE = {"hgcn": {"levels": [1, 2, 3, 4], **COMMON}, "gcn": COMMON}


def drawn(model: str, draw: int) -> dict[str, Any]:
    """The settings of a draw; nothing is changed in the first. What both models have is the same in both."""
    if draw == 0:
        return {}
    shared, own = np.random.default_rng([draw, 11]), np.random.default_rng([draw, 12])
    found = {key: values[shared.integers(len(values))] for key, values in COMMON.items()}
    rest = {key: values for key, values in SPACE[model].items() if key not in COMMON}
    return found | {key: values[own.integers(len(values))] for key, values in rest.items()}


def blind_splits(graph: Graph, count: int) -> list[Split]:
    assert graph.labels is not None
    numbers = range(FIRST_SPLIT, FIRST_SPLIT + count)
    return [Split.random(graph.labels, PER_CLASS, VALIDATION, test=0, seed=number) for number in numbers]


def trials(
    graphs: dict[str, Graph], draws: int, splits: int, device: str, epochs: int | None, until: float
) -> Iterator[dict[str, Any]]:
    for draw in range(draws):
        for name, graph in graphs.items():
            for model in SPACE:
                if time.time() > until:
                    return
                yield trial(name, graph, model, draw, splits, device, epochs)


def trial(
    dataset: str, graph: Graph, model: str, draw: int, count: int, device: str, epochs: int | None
) -> dict[str, Any]:
    parts = blind_splits(graph, count)
    settings = with_epochs(adapted_settings(graph, parts[0], model).settings.override(drawn(model, draw)), epochs)
    values = {**settings.to_dict()["model"], **settings.to_dict()["train"]}
    row = {"dataset": dataset, "model": model, "draw": draw} | {key: values.get(key) for key in SPACE["hgcn"]}
    began = time.perf_counter()
    try:
        outcomes = train_splits(graph, parts, range(FIRST_SPLIT, FIRST_SPLIT + count), settings, device)
        found = [0.0 if one.best_epoch is None else one.validation_accuracy for one in outcomes]
    except HierGCNError:
        found = [0.0] * count
    return row | {
        "validation": round(float(np.mean(found)), 5),
        "per_split": " ".join(f"{value:.4f}" for value in found),
        "seconds": round(time.perf_counter() - began, 1),
    }


def ranked(rows: list[dict[str, Any]], model: str) -> list[tuple[float, int]]:
    """Mean over the datasets and number of each draw that was made on all of them, the best first."""
    datasets = {row["dataset"] for row in rows}
    by_draw: dict[int, list[float]] = {}
    for row in rows:
        if row["model"] == model:
            by_draw.setdefault(row["draw"], []).append(row["validation"])
    whole = {draw: values for draw, values in by_draw.items() if len(values) == len(datasets)}
    return sorted(((float(np.mean(values)), draw) for draw, values in whole.items()), key=lambda one: (-one[0], one[1]))


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--datasets", nargs="+", default=list(DATASETS))
    words.add_argument("--draws", type=int, default=24)
    words.add_argument("--splits", type=int, default=5)
    words.add_argument("--device", default="auto")
    words.add_argument("--seconds", type=float, default=float("inf"), help="begin no trial after this time")
    words.add_argument("--quick", action="store_true", help="two draws, one split, few epochs")
    words.add_argument("--log", type=Path, required=True)
    given = words.parse_args()
    draws, splits, epochs = (2, 1, QUICK_EPOCHS) if given.quick else (given.draws, given.splits, None)
    given.log.parent.mkdir(parents=True, exist_ok=True)
    graphs = {name: load_dataset(name).graph for name in given.datasets}
    rows = []
    for row in trials(graphs, draws, splits, given.device, epochs, time.time() + given.seconds):
        rows.append(row)
        print(row, flush=True)
    with written_whole(given.log) as part, part.open("w", newline="", encoding="utf-8") as lines:
        log = csv.DictWriter(lines, fieldnames=list(rows[0]), lineterminator="\n")
        log.writeheader()
        log.writerows(rows)
    for model in SPACE:
        for mean, draw in ranked(rows, model)[:5]:
            print(f"{model} draw {draw}: {100 * mean:.2f} % of validation", drawn(model, draw) or "as it is now")


if __name__ == "__main__":
    main()
