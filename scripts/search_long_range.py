"""Compare settings for H-GCN's preset `long-range` by validation accuracy on one random split; no test label is read.

    python scripts/search_long_range.py                       # all candidates, about half an hour on a core
    python scripts/search_long_range.py --datasets helsinki --candidates beside
    python scripts/search_long_range.py --epochs 3            # a smoke test

Split 100 is in no table of results. The winner is the arm `gaps` of `hiergcn reproduce range`, and candidates for the
preset `elsewhere` are compared there, on validation nodes that lie apart from the training nodes.
"""

import argparse
from typing import Any

import torch

from hiergcn.datasets import load_dataset
from hiergcn.graph.split import SplitSpec
from hiergcn.run.settings import settings_for
from hiergcn.run.trainer import Trainer

SPLIT = 100
BASE = {"nearness": False, "nearness_weight": 0.5, "epochs": 600, "patience": 150}  # of the preset, but for these
ROUND = {"weight_embedding": 4, "round_weights": True}
HARMONIC = {**ROUND, "harmonic": True, "dropout": 0.2}
SHORT = {"nearness": True, "epochs": 250, "patience": 80}
HGCN: dict[str, dict[str, Any]] = {
    "levels": {},
    "rounded": ROUND,
    "harmonic": HARMONIC,
    "harmonic-own": {**HARMONIC, "own_weights": True},
    "beside": SHORT,
    "beside-dropout": {**SHORT, "dropout": 0.2},
    "beside-weight": {**SHORT, "nearness_weight": 0.6},
}
MLP: dict[str, Any] = {"nearness": True, "dropout": 0.0, "hidden": 64, "learning_rate": 0.01, "epochs": 300}
MLP |= {"scaling": "standard", "l2": 1e-5, "loss": "mean", "patience": 150}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["helsinki", "pegase-eccentricity"])
    parser.add_argument("--candidates", nargs="+", default=[*HGCN, "mlp"], choices=[*HGCN, "mlp"])
    parser.add_argument("--epochs", type=int, help="fewer epochs")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for name in given.datasets:
        data = load_dataset(name)
        split = SplitSpec("tenths", SPLIT).split(data.graph, data.split)
        trainer = Trainer(data.graph, "cpu")
        for candidate in given.candidates:
            if candidate == "mlp":
                settings = settings_for("mlp").override(MLP)
            else:
                settings = settings_for("hgcn", "long-range").override({**BASE, **HGCN[candidate]})
            settings = settings.override({"epochs": given.epochs} if given.epochs else {})
            (outcome,) = trainer.train(settings, [(split, 0)])
            print(f"{name} {candidate}: {100 * (outcome.validation_accuracy or 0.0):.1f}", flush=True)


if __name__ == "__main__":
    main()
