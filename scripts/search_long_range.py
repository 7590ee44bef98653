"""Compare settings for H-GCN's presets `long-range` and `elsewhere` by validation accuracy; no test label is read.

    python scripts/search_long_range.py --device cuda                       # random splits, for long-range
    python scripts/search_long_range.py --device cuda --preset elsewhere    # validation nodes apart
    python scripts/search_long_range.py --datasets helsinki --splits 100 --epochs 3    # a smoke test

Splits 100 to 104 are in no table of results. A candidate is named by what differs from one network of the preset.
"""

import argparse
from typing import Any

import torch

from hiergcn.comparison.splits import Drawn, SplitSpec
from hiergcn.datasets import load_dataset
from hiergcn.errors import InputError
from hiergcn.settings.settings import settings_for
from hiergcn.train.trainer import Trainer

HOPS = {"hop_counts": True, "hop_means": True}
NO_HOPS = dict.fromkeys(HOPS, False)
OWN = {"own_weights": True, "weight_embedding": 4, "round_weights": True, "learning_rate": 0.003}
SHORT = {"epochs": 400, "patience": 60}
LONG_RANGE: dict[str, dict[str, Any]] = {
    "preset": {},
    "four networks, hop counts alone": {"networks": 4, "hop_means": False},
    "hop counts alone": {"hop_means": False},
    "own weights": OWN,
    "hop counts, no shares": {"hop_means": False, "nearness_shares": False, "nearness_weight": 0.6},
    "shares, no hop columns": NO_HOPS,
    "before": {**NO_HOPS, "nearness_shares": False, "nearness_weight": 0.6, "dropout": 0.0},
}
ELSEWHERE: dict[str, dict[str, Any]] = {
    "preset": {},
    "dropout 0.2": {"dropout": 0.2},
    "6 levels": {"dropout": 0.2, "levels": 6},
    "4 levels": {"dropout": 0.2, "levels": 4},
    "four networks": {"dropout": 0.2, "networks": 4},
    "4 levels, four networks": {"dropout": 0.2, "levels": 4, "networks": 4},
    "4 levels, own weights": {"dropout": 0.2, "levels": 4, **OWN},
    "hop means alone": {"dropout": 0.2, "hop_counts": False},
    "4 levels, hop means alone": {"dropout": 0.2, "levels": 4, "hop_counts": False},
    "4 levels, own weights, hop counts alone": {"dropout": 0.2, "levels": 4, **OWN, "hop_means": False},
    "before": {"dropout": 0.2, "levels": 4, **OWN, **NO_HOPS},
}
FLAT = {"scaling": "standard", "l2": 1e-5, "loss": "mean", "hidden": 64, "dropout": 0.2, **HOPS, **SHORT}
RIVALS: dict[str, tuple[str, dict[str, Any]]] = {
    "MLP": ("mlp", {"learning_rate": 0.005}),
    **{
        f"{method}, 8 layers": (method, {"layers": 8, "learning_rate": 0.003})
        for method in ("gcn", "graphsage", "gcnii")
    },
    "graphsage, 16 layers": ("graphsage", {"layers": 16, "learning_rate": 0.003}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", choices=["long-range", "elsewhere"], default="long-range")
    parser.add_argument("--datasets", nargs="+", default=["helsinki", "pegase-eccentricity", "city-50000"])
    parser.add_argument("--splits", nargs="+", type=int, default=[100, 101, 102, 103, 104])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--epochs", type=int, help="fewer epochs")
    given = parser.parse_args()
    torch.set_num_threads(1)
    changes = LONG_RANGE if given.preset == "long-range" else ELSEWHERE
    own = {"networks": 1} if given.preset == "long-range" else SHORT
    one = settings_for("hgcn", given.preset).override(own)
    candidates = {name: one.override(change) for name, change in changes.items()}
    candidates |= {name: settings_for(method).override({**FLAT, **change}) for name, (method, change) in RIVALS.items()}
    for dataset in given.datasets:
        data = load_dataset(dataset)
        kind: Drawn = "tenths" if given.preset == "long-range" else "apart"
        splits = [SplitSpec(kind, number).split(data.graph, data.split) for number in given.splits]
        trainer = Trainer(data.graph, given.device)
        for name, settings in candidates.items():
            settings = settings.override({"epochs": given.epochs} if given.epochs else {})
            try:
                outcomes = list(trainer.train(settings, [(split, 0) for split in splits]))
            except InputError as error:  # split 100 of the grid has no training node of one class
                print(f"{dataset} {name}: {error}", flush=True)
                continue
            found = [outcome.validation_accuracy or 0.0 for outcome in outcomes]
            print(f"{dataset} {name}: {100 * sum(found) / len(found):.1f}", flush=True)


if __name__ == "__main__":
    main()
