"""The search behind the settings for graphs without a recipe, on validation alone; as many draws for GCN.

    python scripts/search_adapted.py --device cuda --log docs/results/searches/adapted.csv

The log in the repository is of the settings before (draw 0) and of the draws that the time allowed; adapted-first.csv
is of an earlier search, of H-GCN and GCN alone and over other steps.

The splits begin at number 1000, so that none is one of `own_comparison.py`, and have no test nodes. Draw 0 is what
`hiergcn fit` takes now. Models and datasets take turns, draw by draw, so that a search that is ended early (--seconds)
has given all of them alike. Every trial is in the log as soon as it is done; begun again, a search leaves out those
that were begun before, also one that ended it. At the end the draws are ranked by their validation accuracy, averaged
over the datasets.
"""

import argparse
import csv
import itertools
import time
from pathlib import Path
from typing import Any

import numpy as np

from hiergcn.datasets import load_dataset
from hiergcn.errors import HierGCNError
from hiergcn.graph import Graph, Split
from hiergcn.run.adapt import adapted_settings
from own_comparison import DATASETS, QUICK_EPOCHS, train_splits, with_epochs

FIRST_SPLIT = 1000
START: dict[str, dict[str, Any]] = {
    "hgcn": {"levels": 2, "hidden": 64, "dropout": 0.5, "learning_rate": 0.03, "l2": 5e-4, "scaling": "l2"},
    "gcn": {"hidden": 64, "dropout": 0.5, "learning_rate": 0.03, "l2": 5e-4, "scaling": "l2"},
    "hgcn-plus": {
        "share": 0.3,
        "levels": 4,
        "order": 2,
        "level_order": 1,
        "drop_node": 0.3,
        "passes": 2,
        "input_dropout": 0.2,
        "hidden_dropout": 0.2,
        "hidden": 64,
        "learning_rate": 0.05,
        "l2": 5e-4,
        "scaling": "l2",
    },
}
"""Where the search begins: an earlier one had shown that rows of length 1 and a rate above 0.01 help."""
STEPS: dict[str, list[dict[str, Any]]] = {
    "hgcn": [
        *({"hidden": 128}, {"dropout": 0.7}, {"levels": 4}, {"channels": 1}, {"levels": 1}, {"learning_rate": 0.01}),
        *(
            {"weight_embedding": 0},
            {"l2": 5e-5},
            {"dropout": 0.3},
            {"pooling": "mean"},
            {"l2": 5e-3},
            {"scaling": "row"},
        ),
    ],
    "gcn": [
        *({"hidden": 128}, {"dropout": 0.7}, {"learning_rate": 0.05}, {"l2": 5e-5}, {"dropout": 0.8, "hidden": 128}),
        *({"learning_rate": 0.01}, {"scaling": "row"}, {"dropout": 0.3}, {"l2": 0.0}, {"l2": 5e-3}, {"hidden": 32}),
        {"dropout": 0.7, "l2": 5e-5},
    ],
    "hgcn-plus": [
        *({"share": 0.0}, {"share": 0.5}, {"order": 4}, {"drop_node": 0.5}, {"levels": 2}, {"input_dropout": 0.5}),
        *({"hidden": 128}, {"learning_rate": 0.02}, {"l2": 5e-5}, {"hidden_dropout": 0.5}),
        {"scaling": "row"},
    ],
}
"""One step from there each, as many for every model."""
DRAWS = 2 + len(STEPS["gcn"])
LOGGED = tuple(dict.fromkeys(name for one in (*START.values(), *itertools.chain(*STEPS.values())) for name in one))


def drawn(model: str, draw: int) -> dict[str, Any]:
    """The settings of a draw: 0 changes nothing, 1 is the start."""
    if draw == 0:
        return {}
    return START[model] | (STEPS[model][draw - 2] if draw > 1 else {})


def blind_splits(graph: Graph, count: int) -> list[Split]:
    assert graph.labels is not None
    numbers = range(FIRST_SPLIT, FIRST_SPLIT + count)
    return [Split.random(graph.labels, test=0, seed=number) for number in numbers]


def trial(
    dataset: str, graph: Graph, model: str, draw: int, count: int, device: str, epochs: int | None
) -> dict[str, Any]:
    parts = blind_splits(graph, count)
    settings = with_epochs(adapted_settings(graph, parts[0], model).settings.override(drawn(model, draw)), epochs)
    values = {**settings.to_dict()["model"], **settings.to_dict()["train"]}
    row = {"dataset": dataset, "model": model, "draw": draw} | {key: values.get(key, "") for key in LOGGED}
    began = time.perf_counter()
    try:
        outcomes = train_splits(graph, parts, range(FIRST_SPLIT, FIRST_SPLIT + count), settings, device)
        found = [0.0 if one.best_epoch is None else one.validation_accuracy for one in outcomes]
        kept = " ".join(str(one.best_epoch) for one in outcomes)
    except HierGCNError:
        found, kept = [0.0] * count, ""
    return row | {
        "validation": round(float(np.mean(found)), 5),
        "per_split": " ".join(f"{value:.4f}" for value in found),
        "best_epoch": kept,
        "seconds": round(time.perf_counter() - began, 1),
    }


def read_log(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as lines:
        return [
            row | {"draw": int(row["draw"]), "validation": float(row["validation"])} for row in csv.DictReader(lines)
        ]


def add_to_log(path: Path, row: dict[str, Any]) -> None:
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as lines:
        log = csv.DictWriter(lines, fieldnames=list(row), lineterminator="\n")
        if new:
            log.writeheader()
        log.writerow(row)


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
    words.add_argument("--models", nargs="+", default=list(START), choices=list(START))
    words.add_argument("--draws", type=int, default=DRAWS)
    words.add_argument("--splits", type=int, default=5)
    words.add_argument("--device", default="auto")
    words.add_argument("--seconds", type=float, default=float("inf"), help="begin no trial after this time")
    words.add_argument("--quick", action="store_true", help="two draws, one split, few epochs")
    words.add_argument("--log", type=Path, required=True)
    given = words.parse_args()
    draws, splits, epochs = (2, 1, QUICK_EPOCHS) if given.quick else (given.draws, given.splits, None)
    until = time.time() + given.seconds
    given.log.parent.mkdir(parents=True, exist_ok=True)
    graphs = {name: load_dataset(name).graph for name in given.datasets}
    begun = given.log.with_suffix(".begun")
    before = set(begun.read_text(encoding="utf-8").splitlines()) if begun.exists() else set()
    for draw, name, model in itertools.product(range(draws), graphs, given.models):
        key = f"{draw} {name} {model}"
        if key in before or time.time() > until:
            continue
        with begun.open("a", encoding="utf-8") as lines:
            lines.write(key + "\n")
        row = trial(name, graphs[name], model, draw, splits, given.device, epochs)
        add_to_log(given.log, row)
        print(row, flush=True)
    rows = read_log(given.log)
    for model in given.models:
        for mean, draw in ranked(rows, model)[:5]:
            print(f"{model} draw {draw}: {100 * mean:.2f} % of validation", drawn(model, draw) or "as it is now")


if __name__ == "__main__":
    main()
