"""Training the seeds of one method on one split, and combining their results.

Training and validation labels may take turns. A validation part of a few nodes says little about which method is best,
and its labels are missing in training. So a seed is then several networks, each of which trains on another part of the
labels and is selected by the rest. Their mean predicts (bagging; AutoGluon does the same), but a labelled node is
predicted by the network that did not train on it, so that its prediction is as uncertain as that of other nodes.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor

from hiergcn.coarsening.diffusion import folds
from hiergcn.errors import HierGCNError
from hiergcn.graph import Split
from hiergcn.settings.settings import Settings
from hiergcn.train.events import OnEpoch, OnFitEvent, SeedDone
from hiergcn.train.loop import SeedOutcome
from hiergcn.train.selection import HISTORY
from hiergcn.train.trainer import Trainer

TURNS = 4


def turns(split: Split, labels: NDArray[np.int64], count: int = TURNS) -> tuple[Split, ...]:
    """Return `count` splits in which each training and validation label validates once; fewer if labels are too few.

    A class with a single label trains in all of them. If every class has, the split itself is the only one.
    """
    for few in range(count, 1, -1):
        nodes, turn = turn_of(split, labels, few)
        if np.isin(np.arange(few), turn).all():
            return tuple(replace(split, train=nodes[turn != k], validation=nodes[turn == k]) for k in range(few))
    return (split,)


def turn_of(
    split: Split, labels: NDArray[np.int64], count: int = TURNS, order: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the training and validation nodes, and in which turn each validates, or -1 for never.

    Turns are those of the nodes as they are listed in `order`, by default as they are.
    """
    nodes = np.union1d(split.train, split.validation)
    if order is not None:
        nodes = order[np.isin(order, nodes)]
    classes = labels[nodes]
    return nodes, np.where(np.bincount(classes)[classes] > 1, folds(classes, count), -1)


class AllSeedsFailedError(HierGCNError):
    """No seed gave a model."""

    def __init__(self, message: str, outcomes: Sequence[SeedOutcome] = ()) -> None:
        super().__init__(message)
        self.outcomes = tuple(outcomes)


class SeedResults:
    """Results of the seeds as they finish."""

    def __init__(self) -> None:
        self.outcomes: list[SeedOutcome] = []  # without arrays and weights
        self.probabilities: dict[int, np.ndarray] = {}  # (n, classes), or numbers (n, 1), by seed
        self.weights: dict[int, list[dict[str, Tensor]]] = {}
        """Of each turn, by seed."""
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

    def add(self, outcomes: Sequence[SeedOutcome], turns: Sequence[Split]) -> SeedOutcome:
        """Add a finished seed, one outcome for each turn, and return the first, with the seconds of all.

        The outcome comes last, so that Ctrl-C leaves none without its probabilities. A seed fails if a turn does.
        """
        seconds = sum(one.seconds for one in outcomes)
        first = replace(next((one for one in outcomes if one.failure), outcomes[0]), seconds=seconds)
        outputs = [one.probabilities for one in outcomes if one.probabilities is not None]
        if len(outputs) == len(turns):
            self.weights[first.seed] = [one.weights for one in outcomes if one.weights is not None]
            mean = outputs[0]
            if len(outputs) > 1:  # a node that validates in a turn gets the output of that turn
                mean = sum(outputs) / np.float32(len(outputs))  # type: ignore[assignment]
                for output, turn in zip(outputs, turns, strict=True):
                    mean[turn.validation] = output[turn.validation]
            self.probabilities[first.seed] = mean
        self.outcomes.append(replace(first, probabilities=None, weights=None))
        return first

    def add_all(self, other: "SeedResults") -> None:
        """Add the seeds of other results."""
        self.outcomes += other.outcomes
        self.probabilities |= other.probabilities
        self.weights |= other.weights
        self.interrupted |= other.interrupted
        self.seconds += other.seconds

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
    turns: Sequence[Split],
    settings: Settings,
    seeds: Sequence[int],
    emit: OnFitEvent,
    workers: int = 1,
    on_epoch: OnEpoch | None = None,
    into: SeedResults | None = None,
) -> SeedResults:
    """Train every seed; raise an error if none gives a model. Ctrl-C keeps the seeds that are finished, if any.

    Args:
        turns: the split, or those in which labels take turns, see `turns`.
        on_epoch: called instead of `emit` after each epoch.
        into: results of earlier seeds, which are added to.
    """
    if trainer.sees_whole(settings):
        trainer.prepared(settings, turns[0])
    results = into or SeedResults()
    began = time.perf_counter()
    runs = [(turn, seed) for seed in seeds for turn in turns]
    trained: list[SeedOutcome] = []  # turns of the seed at hand
    try:
        for outcome in trainer.train(settings, runs, on_epoch or emit, workers):
            trained.append(outcome)
            if len(trained) == len(turns):
                emit(SeedDone(results.add(trained, turns)))
                trained = []
    except KeyboardInterrupt:
        if results.best is None:
            raise
        results.interrupted = True
    results.seconds += time.perf_counter() - began
    if results.best is None:
        why = results.outcomes[0].failure
        message = f"Every seed failed, the first one because it {why}; try a lower learning_rate."
        raise AllSeedsFailedError(message, results.outcomes)
    return results
