"""Choose C of DeepWalk's SVM on validation: every C is fitted to the same embedding of a seed.

    python scripts/choose_svm.py cora citeseer --seeds 3 --log docs/results/searches/deepwalk-C.csv

The seeds begin at 1000, so that no run of the results shares one; test labels are not read.
"""

import argparse
import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from hiergcn.datasets import load_dataset
from hiergcn.graph.task import Task
from hiergcn.model.baselines.deepwalk import Sentences, skip_gram
from hiergcn.model.baselines.walks import Walker
from hiergcn.run.settings import settings_for

VALUES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
FIRST_SEED = 1000


def scores(dataset: str, seed: int) -> list[dict[str, Any]]:
    data = load_dataset(dataset)
    task = Task.of(data.graph, replace(data.split, test=np.empty(0, dtype=np.int64)))
    config = settings_for("deepwalk", None, dataset).model
    embedding = skip_gram(Sentences(Walker.on(task.adjacency), config.walks, config.walk_length, seed), config, seed)
    rows = []
    for C in VALUES:
        svm = LinearSVC(C=C, random_state=seed, max_iter=20_000).fit(embedding[task.train], task.train_labels)
        accuracy = svm.score(embedding[task.validation], task.validation_labels)
        rows.append({"dataset": dataset, "seed": seed, "C": C, "validation_accuracy": round(accuracy, 4)})
    return rows


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("datasets", nargs="+")
    words.add_argument("--seeds", type=int, default=3)
    words.add_argument("--log", type=Path, required=True)
    given = words.parse_args()
    rows = []
    for dataset in given.datasets:
        for seed in range(FIRST_SEED, FIRST_SEED + given.seeds):
            rows += scores(dataset, seed)
            print(*rows[-len(VALUES) :], sep="\n", flush=True)
    given.log.parent.mkdir(parents=True, exist_ok=True)
    with given.log.open("w", newline="", encoding="utf-8") as lines:
        table = csv.DictWriter(lines, fieldnames=list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    for C in VALUES:
        print(f"C {C}: {np.mean([row['validation_accuracy'] for row in rows if row['C'] == C]):.4f}")


if __name__ == "__main__":
    main()
