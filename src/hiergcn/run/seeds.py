"""The seeds of one method on one split: training them, and what they give together."""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from torch import Tensor

from hiergcn.errors import HierGCNError
from hiergcn.graph import Split
from hiergcn.run.events import OnFitEvent, SeedDone
from hiergcn.run.settings import Settings
from hiergcn.run.trainer import Trainer
from hiergcn.train.config import OnEpoch
from hiergcn.train.loop import SeedOutcome
from hiergcn.train.selection import HISTORY


class AllSeedsFailedError(HierGCNError):
    """No seed gave a model."""


class SeedResults:
    """Results of the seeds as they finish."""

    def __init__(self) -> None:
        self.outcomes: list[SeedOutcome] = []  # without arrays and weights
        self.probabilities: dict[int, np.ndarray] = {}  # (n, classes), or numbers (n, 1), by seed
        self.weights: dict[int, dict[str, Tensor]] = {}
        self.interrupted = False
        self.seconds = 0.0

    @property
    def seeds(self) -> list[int]:
        return [outcome.seed for outcome in self.outcomes]

    @property
    def best(self) -> int | None:
        """The seed with the highest validation accuracy; of equal ones, that with the lowest validation loss."""
        ranks = {
            one.seed: (one.validation_accuracy or 0.0, -(one.validation_loss or 0.0))
            for one in self.outcomes
            if one.seed in self.probabilities
        }
        return max(ranks, key=lambda seed: ranks[seed]) if ranks else None

    def add(self, outcome: SeedOutcome) -> None:
        """Add a finished seed. Its outcome comes last, so that Ctrl-C leaves none without its probabilities."""
        if outcome.probabilities is not None and outcome.weights is not None:
            self.weights[outcome.seed] = outcome.weights
            self.probabilities[outcome.seed] = outcome.probabilities
        self.outcomes.append(replace(outcome, probabilities=None, weights=None))

    def mean(self) -> np.ndarray:
        """Return the mean probabilities of the seeds, (n, classes)."""
        mean: np.ndarray = sum(self.probabilities.values()) / np.float32(len(self.probabilities))  # type: ignore[assignment]
        return mean

    def history(self) -> pd.DataFrame:
        """Return losses and accuracies of each seed and epoch."""
        frames = [pd.DataFrame(outcome.history, columns=list(HISTORY)) for outcome in self.outcomes]
        for frame, seed in zip(frames, self.seeds, strict=True):
            frame.insert(0, "epoch", np.arange(1, len(frame) + 1))
            frame.insert(0, "seed", seed)
        return pd.concat(frames, ignore_index=True)


def train_seeds(
    trainer: Trainer,
    split: Split,
    settings: Settings,
    seeds: Sequence[int],
    emit: OnFitEvent,
    workers: int = 1,
    on_epoch: OnEpoch | None = None,
    into: SeedResults | None = None,
) -> SeedResults:
    """Train every seed; raise an error if none gives a model. Ctrl-C keeps the seeds that are finished, if any.

    Args:
        on_epoch: called instead of `emit` after each epoch.
        into: results of earlier seeds, which are added to.
    """
    trainer.prepared(settings, split)
    results = into or SeedResults()
    began = time.perf_counter()
    try:
        for outcome in trainer.train(settings, [(split, seed) for seed in seeds], on_epoch or emit, workers):
            results.add(outcome)
            emit(SeedDone(outcome))
    except KeyboardInterrupt:
        if results.best is None:
            raise
        results.interrupted = True
    results.seconds += time.perf_counter() - began
    if results.best is None:
        why = results.outcomes[0].failure
        raise AllSeedsFailedError(f"Every seed failed, the first one because it {why}; try a lower learning_rate.")
    return results
