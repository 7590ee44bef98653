"""What a comparison gave, as immutable values, and the files that keep it."""

import csv
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hiergcn.evaluate.metrics import Summary
from hiergcn.evaluate.paired import TEST, PairedDifference, Scores
from hiergcn.files import written_whole
from hiergcn.run.environment import environment
from hiergcn.run.process import Peak
from hiergcn.run.settings import Settings
from hiergcn.run.split_plan import SplitPlan


@dataclass(frozen=True)
class Score:
    """One seed of one method on one split; accuracies are fractions of 1, None where the seed failed."""

    model: str
    split: int
    seed: int
    test_accuracy: float | None
    validation_accuracy: float | None
    macro_f1: float | None
    best_epoch: int | None
    seconds: float | None
    failure: str | None


@dataclass(frozen=True)
class MethodRun:
    """What one method gave."""

    model: str
    settings: Settings
    scores: tuple[Score, ...]
    peak: Peak
    epoch_seconds: float | None
    """Mean seconds of an epoch, validation included."""
    failure: str | None = None
    """Why the method as a whole gave nothing."""

    @property
    def by_pair(self) -> Scores:
        return {(score.split, score.seed): score.test_accuracy for score in self.scores}

    @property
    def test_accuracy(self) -> Summary:
        return Summary(tuple(score.test_accuracy for score in self.scores))

    @property
    def failed(self) -> int:
        return sum(score.test_accuracy is None for score in self.scores)

    @property
    def seconds(self) -> float | None:
        """Mean seconds of a seed."""
        known = [score.seconds for score in self.scores if score.seconds is not None]
        return math.fsum(known) / len(known) if known else None

    def to_dict(self) -> dict[str, Any]:
        validation = Summary(tuple(score.validation_accuracy for score in self.scores))
        return {
            "model": self.model,
            "test_accuracy": {"mean": self.test_accuracy.mean, "std": self.test_accuracy.std},
            "val_accuracy": {"mean": validation.mean, "std": validation.std},
            "runs": len(self.scores),
            "failed_seeds": self.failed,
            "failure": self.failure,
            "seconds": {"seed": self.seconds, "epoch": self.epoch_seconds},
            "peak_memory_bytes": self.peak.resident,
            "peak_gpu_memory_bytes": self.peak.gpu,
            "selection": self.settings.train.selection_rule,
            "settings": self.settings.to_dict(),
        }


@dataclass(frozen=True)
class Comparison:
    """Every method's figures and its difference to one of them."""

    dataset: str
    plan: SplitPlan
    seeds: tuple[int, ...]
    against: str
    runs: tuple[MethodRun, ...]
    differences: tuple[PairedDifference, ...]
    interrupted: bool = False

    def difference(self, model: str) -> PairedDifference | None:
        return next((one for one in self.differences if one.model == model), None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "splits": str(self.plan),
            "splits_about": self.plan.about,
            "seeds": list(self.seeds),
            "against": self.against,
            "test": TEST,
            "correction": "Holm",
            "models": [run.to_dict() for run in self.runs],
            "differences": [one.to_dict() for one in self.differences],
            "interrupted": self.interrupted,
        }


def write_comparison(comparison: Comparison, folder: Path, command: str | None = None) -> None:
    """`comparison.json` with every setting and figure, `scores.csv` with a row for each model, split and seed."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = list(Score.__dataclass_fields__)
    with written_whole(folder / "scores.csv") as part, part.open("w", encoding="utf-8", newline="") as lines:
        rows = csv.DictWriter(lines, columns, lineterminator="\n")
        rows.writeheader()
        rows.writerows(asdict(score) for run in comparison.runs for score in run.scores)
    recorded = comparison.to_dict() | {"command": command, "environment": environment()}
    with written_whole(folder / "comparison.json") as part:
        part.write_text(json.dumps(recorded, indent=2, allow_nan=False) + "\n", encoding="utf-8")
