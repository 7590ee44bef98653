"""What a run gave, as one immutable value."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from torch import Tensor

from hiergcn.coarsen import Hierarchy
from hiergcn.evaluate.metrics import METRICS, ModelReport, PartReport, Summary, result_key
from hiergcn.explain.votes import Votes
from hiergcn.graph import Graph, Split
from hiergcn.run.predict import SavedModel
from hiergcn.run.settings import Settings
from hiergcn.train.loop import SeedOutcome
from hiergcn.train.selection import HISTORY


class BestSeed(NamedTuple):
    """The seed with the highest validation accuracy; of equal ones, that with the lowest validation loss."""

    rank: tuple[float, float]
    seed: int
    probabilities: np.ndarray  # (n, classes)
    weights: dict[str, Tensor]


class SeedResults:
    """Results of the seeds as they finish."""

    def __init__(self) -> None:
        self.outcomes: list[SeedOutcome] = []  # without arrays and weights, which the best alone keeps
        self.predicted: dict[int, np.ndarray] = {}  # (n,) classes, by seed
        self.best: BestSeed | None = None
        self.interrupted = False
        self.train_seconds = 0.0

    @property
    def seeds(self) -> list[int]:
        return [outcome.seed for outcome in self.outcomes]

    def add(self, outcome: SeedOutcome) -> None:
        """Add a finished seed. Its outcome comes after its predictions, so that Ctrl-C leaves none without them."""
        accuracy, loss = outcome.validation_accuracy, outcome.validation_loss
        probabilities, weights = outcome.probabilities, outcome.weights
        if probabilities is not None and weights is not None and accuracy is not None and loss is not None:
            self.predicted[outcome.seed] = probabilities.argmax(axis=1).astype(np.int32)
            if self.best is None or (accuracy, -loss) > self.best.rank:
                self.best = BestSeed((accuracy, -loss), outcome.seed, probabilities, weights)
        self.outcomes.append(replace(outcome, probabilities=None, weights=None))

    def history(self) -> pd.DataFrame:
        """Return losses and accuracies of each seed and epoch."""
        frames = [pd.DataFrame(outcome.history, columns=list(HISTORY)) for outcome in self.outcomes]
        for frame, seed in zip(frames, self.seeds, strict=True):
            frame.insert(0, "epoch", np.arange(1, len(frame) + 1))
            frame.insert(0, "seed", seed)
        return pd.concat(frames, ignore_index=True)


@dataclass(frozen=True)
class Baseline:
    """What a simpler method gave on the same split, or why it gave nothing."""

    model: str
    seeds: int = 0
    validation: PartReport | None = None
    test: PartReport | None = None
    seconds: float | None = None
    left_out: str | None = None

    def to_dict(self) -> dict[str, Any]:
        def scores(report: PartReport | None) -> dict[str, Any]:
            return {name: None if report is None else report[name].to_dict() for name in METRICS}

        return vars(self) | {"test": scores(self.test), "validation": scores(self.validation)}


@dataclass(frozen=True, eq=False)
class RunResult:
    """A finished run: every seed's figures, and the model of the seed that did best on validation."""

    settings: Settings
    graph: Graph
    split: Split
    hierarchy: Hierarchy | None
    outcomes: tuple[SeedOutcome, ...]  # without arrays
    validation: PartReport
    test: PartReport | None
    kept: ModelReport
    """The model of the selected seed, class by class."""
    selected_seed: int
    probabilities: np.ndarray  # (n, classes) of the selected seed
    weights: dict[str, Tensor]  # of the selected seed
    history: pd.DataFrame  # seed, epoch, losses and accuracies
    seconds: dict[str, float]  # coarsen, train, epoch
    device: str
    notes: tuple[str, ...] = ()
    interrupted: bool = False
    claim: float | None = None
    """Accuracy that the paper claims on this dataset."""
    baselines: tuple[Baseline, ...] | None = None
    """What simpler methods give on the same split; None if they were not run."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """The reason for each setting that was chosen for the graph, by name."""
    votes: Votes | None = None
    """The votes behind the selected seed's predictions, if its output layer can be decomposed."""

    @property
    def model(self) -> SavedModel:
        """The model of the selected seed."""
        graph = self.graph
        return SavedModel(
            self.settings, self.weights, graph.n_features, graph.class_names, self.hierarchy, graph.columns
        )

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(outcome.seed for outcome in self.outcomes)

    @property
    def failed_seeds(self) -> tuple[int, ...]:
        return tuple(outcome.seed for outcome in self.outcomes if outcome.failure)

    @property
    def predicted(self) -> np.ndarray:
        """Class of each node by the selected seed; (n,)."""
        classes: np.ndarray = self.probabilities.argmax(axis=1)
        return classes

    @property
    def validation_accuracy(self) -> Summary:
        return Summary(tuple(outcome.validation_accuracy for outcome in self.outcomes))

    def metrics(self) -> dict[str, Any]:
        """The figures as they stand in `metrics.json`; accuracies are fractions of 1."""
        nodes, edges = self.hierarchy.sizes() if self.hierarchy else ((self.graph.n_nodes,), (self.graph.n_edges,))
        test = self.test
        return {
            "model": self.settings.method,
            "preset": self.settings.preset,
            "dataset": self.graph.name,
            "seeds": list(self.seeds),
            "failed_seeds": {str(outcome.seed): outcome.failure for outcome in self.outcomes if outcome.failure},
            **{result_key(name): test[name].to_dict() if test else None for name in METRICS},
            **{f"val_{name}": self.validation[name].to_dict() for name in METRICS},
            "val_accuracy": self.validation_accuracy.to_dict(),
            "per_class": {"on": self.kept.on, "classes": [vars(score) for score in self.kept.per_class]},
            "calibration": self.kept.calibration(),
            "baselines": None if self.baselines is None else [one.to_dict() for one in self.baselines],
            "claim": self.claim,
            "best_epoch": [outcome.best_epoch for outcome in self.outcomes],
            "epochs": len(self.history),
            "selected_seed": self.selected_seed,
            "selection": self.settings.train.selection_rule,
            "hierarchy": {"nodes": [int(n) for n in nodes], "edges": [int(e) for e in edges]},
            "split": {"train": len(self.split.train), "val": len(self.split.validation), "test": len(self.split.test)},
            "seconds": self.seconds,
            "device": self.device,
            "interrupted": self.interrupted,
            "notes": list(self.notes),
            "reading": list(self.graph.notes),
        }

    def predictions(self) -> pd.DataFrame:
        """A row for each node, by the user's own ids."""
        names = np.array(self.graph.class_names, dtype=object)
        part, known = (np.full(self.graph.n_nodes, "", dtype=object) for _ in range(2))
        for name in ("train", "validation", "test"):
            part[getattr(self.split, name)] = name
        if self.graph.labels is not None:
            known[self.graph.labelled] = names[self.graph.labels[self.graph.labelled]]
        return pd.DataFrame(
            {
                "id": self.graph.ids,
                "predicted": names[self.predicted],
                "probability": self.probabilities.max(axis=1),
                "confidence": self.kept.temperature.of(self.probabilities).max(axis=1),
                "given": np.isin(part, ("train", "validation")),
                "label": known,
                "split": part,
            }
        )
