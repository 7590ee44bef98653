"""Search for a recipe on validation alone: the split that is searched on has no test nodes.

    python scripts/search_recipe.py nell --preset paper --trials 48 --seeds 2 --log docs/results/nell-search.csv
    python scripts/search_recipe.py cora --model dgcn --try output_relu=true,false --seeds 10 --log cora-dgcn.csv

The values of `--try` are combined, all of them or `--trials` random ones; without it H-GCN's own space is searched. The
seeds begin at 1000, so that no run of the results shares one. Every trial is a line of the log, the best first.
"""

import argparse
import csv
import itertools
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hiergcn.datasets import load_dataset
from hiergcn.errors import HierGCNError
from hiergcn.files import written_whole
from hiergcn.run.fit import fit
from hiergcn.run.settings import settings_for

SPACE: dict[str, list[Any]] = {
    "hidden": [32, 64, 128],
    "dropout": [0.0, 0.1, 0.3, 0.5],
    "learning_rate": [0.003, 0.01, 0.03],
    "l2": [0.0, 1e-5, 1e-4],
    "scaling": ["row", "l2", "binary"],
    "pooling": ["sum", "mean", "l2"],
    "output_relu": [True, False],
    "channels": [1, 4],
}
FIRST_SEED = 1000


def trial(
    dataset: str, model: str, preset: str | None, choice: dict[str, Any], seeds: int, device: str
) -> dict[str, Any]:
    import torch

    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # as the workers of `hiergcn reproduce`
    data = load_dataset(dataset)
    blind = replace(data.split, test=np.empty(0, dtype=np.int64))
    settings = settings_for(model, preset, dataset).override(choice)
    try:
        result = fit(data.graph, blind, settings, range(FIRST_SEED, FIRST_SEED + seeds), device=device)
    except HierGCNError as error:
        return choice | {"validation_mean": 0.0, "validation_per_seed": str(error), "seconds": 0.0}
    validation = result.validation_accuracy
    return choice | {
        "validation_mean": round(validation.mean or 0.0, 5),
        "validation_per_seed": " ".join("failed" if v is None else f"{v:.4f}" for v in validation.per_seed),
        "seconds": round(result.seconds["train"], 1),
    }


def combined(tried: list[str] | None, trials: int | None) -> list[dict[str, Any]]:
    """The settings to try: every combination, or as many random ones as asked for."""
    space = SPACE if tried is None else {}
    for pair in tried or []:
        key, _, values = pair.partition("=")
        space[key] = values.split(",")
    grid = [dict(zip(space, values, strict=True)) for values in itertools.product(*space.values())]
    if trials is None:
        return grid
    chosen = np.random.default_rng(0).choice(len(grid), size=min(trials, len(grid)), replace=False)
    return [grid[i] for i in chosen]


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("dataset")
    words.add_argument("--model", default="hgcn")
    words.add_argument("--preset")
    words.add_argument("--try", dest="tried", action="append", metavar="KEY=VALUE,VALUE", help="may be repeated")
    words.add_argument("--trials", type=int, help="random combinations; all if left out")
    words.add_argument("--seeds", type=int, default=2)
    words.add_argument("--workers", type=int, default=1)
    words.add_argument("--device", default="auto")
    words.add_argument("--log", type=Path, required=True)
    given = words.parse_args()
    choices = combined(given.tried, given.trials)
    rows = []
    with ProcessPoolExecutor(given.workers) as pool:
        jobs = [
            pool.submit(trial, given.dataset, given.model, given.preset, choice, given.seeds, given.device)
            for choice in choices
        ]
        for job in as_completed(jobs):
            rows.append(found := job.result())
            print(found, flush=True)
            write(rows, given.log)  # at once, so that what is done is kept
    print("best:", rows[0])


def write(rows: list[dict[str, Any]], log: Path) -> None:
    """The trials so far, the best first."""
    rows.sort(key=lambda row: -row["validation_mean"])
    log.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(log) as part, part.open("w", newline="", encoding="utf-8") as lines:
        table = csv.DictWriter(lines, fieldnames=list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    import multiprocessing

    multiprocessing.set_start_method("spawn")  # a forked process cannot use the GPU
    main()
