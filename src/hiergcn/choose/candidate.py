"""A candidate of the automatic choice: its training, here or in a worker, what ends it early, and its results."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch

from hiergcn.choose.budget import Budget
from hiergcn.choose.portfolio import Entry, Standing
from hiergcn.coarsening import Hierarchy
from hiergcn.errors import HierGCNError
from hiergcn.evaluate.calibration import Temperature
from hiergcn.graph import Graph, Split
from hiergcn.settings.settings import Settings
from hiergcn.train.checkpoint import Checkpoint
from hiergcn.train.events import EpochDone, OnFitEvent, StopTraining
from hiergcn.train.seeds import SeedResults, train_seeds
from hiergcn.train.trainer import Trainer
from hiergcn.workers.pool import Send, Work

TRIAL = 1 / 3
"""Share of the epochs after which a weak candidate is stopped; less than that is not worth its time."""
_WEAK = 3.0  # standard errors behind the best
_PAUSE = 0.1  # seconds between two messages of a worker


class _StoppedError(Exception):
    """A candidate is stopped before its end."""


@dataclass(eq=False)
class Trained:
    """A candidate with its results, or why it has none."""

    entry: Entry
    settings: Settings | None = None
    results: SeedResults = field(default_factory=SeedResults)
    epoch: float = 0.0
    """Seconds of an epoch of all turns, see `budget`."""
    price: float = 0.0
    """Seconds of the first seed."""
    memory: int = 0
    """Bytes planned."""
    left_out: str | None = None
    weight: float = 0.0
    temperature: Temperature = field(default_factory=Temperature)
    """Of the mean of its seeds; without it, a candidate that is too sure or not sure enough would be misjudged."""

    @property
    def is_done(self) -> bool:
        return bool(self.results.probabilities)

    def outputs(self, seed: int | None = None) -> np.ndarray:
        """Return the calibrated probabilities, or numbers, of a seed; of the mean of all seeds if it has none."""
        found = self.results.probabilities.get(seed) if seed is not None else None
        found = self.results.mean() if found is None else found
        return found if found.shape[1] == 1 else self.temperature.scale(found).astype(np.float32)


class Watch:
    """A callback after each epoch that ends a candidate when the clock says so, or early if it is far behind.

    The only network of a candidate keeps its best epoch if the clock ends it after a third of its epochs.

    Args:
        share: of the budget.
        now: what the candidate is compared with; None never stops it for being behind.
        grace: seconds from the start of the choice that it has in any case.
        turns: parts of the validation nodes, one of which validates at a time.
        epochs: most epochs of the candidate; None if a network that is not trained to its end is of no use.
    """

    def __init__(
        self,
        budget: Budget,
        share: float = 1.0,
        now: Standing | None = None,
        grace: float = 0.0,
        turns: int = 1,
        epochs: int | None = None,
    ) -> None:
        self.budget, self.share, self.now, self.grace = budget, share, now, grace
        self.turns, self.epochs, self.count = turns, epochs, 0

    def __call__(self, event: EpochDone) -> None:
        self.count += 1
        tried = self.epochs is not None and event.epoch >= TRIAL * self.epochs
        if self.budget.is_over(self.share, self.grace):
            raise StopTraining if tried and self.turns == 1 else _StoppedError("it ran out of time")
        if not tried or self.now is None or not self.now.accuracy:
            return
        behind = max(self.now.accuracy.values()) - event.best_validation_accuracy
        if behind > _WEAK * math.sqrt(self.turns) * self.now.error:
            raise _StoppedError(f"stopped at epoch {event.epoch}, far behind the best")


class Job(NamedTuple):
    """Seeds of a candidate to train."""

    settings: Settings
    seeds: Sequence[int]
    watch: Watch
    hierarchy: Hierarchy | None
    """As the settings make it; None if they use none."""


class Done(NamedTuple):
    """What a job gives."""

    results: SeedResults
    left_out: str | None
    """Why a seed has no result."""
    epochs: float
    """Epochs trained, the mean of the turns."""


def work_here(trainer: Trainer, turns: Sequence[Split], emit: OnFitEvent, workers: int = 1) -> Work:
    """Return a function that trains a job with this trainer; a failure must not lose other candidates."""

    def train(send: Send, job: Job) -> Done:
        results, sent, left_out = SeedResults(), time.monotonic(), None

        def on_epoch(event: EpochDone) -> None:
            nonlocal sent
            job.watch(event)
            if time.monotonic() - sent > _PAUSE:
                sent = time.monotonic()
                send(job.watch.count / len(turns))

        try:
            train_seeds(trainer, turns, job.settings, job.seeds, emit, workers, on_epoch, into=results)
        except _StoppedError as reason:
            left_out = str(reason)
        except (HierGCNError, MemoryError, RuntimeError) as error:
            left_out = f"it failed ({error!s:.200})"
        return Done(results, left_out, job.watch.count / len(turns))

    return train


def work_in_worker(
    graph: Graph, device: str, hierarchy: Hierarchy | None, checkpoint: Checkpoint | None, turns: Sequence[Split]
) -> Work:
    """Return the same for a worker process, with weights as arrays: tensors would be files that it keeps open."""
    torch.set_num_threads(1)
    trainer = Trainer(graph, device, hierarchy, checkpoint=checkpoint)
    train = work_here(trainer, turns, lambda _: None)

    def train_and_send(send: Send, job: Job) -> Done:
        trainer.keep_hierarchy(job.settings, job.hierarchy)
        done: Done = train(send, job)
        _convert(done.results, lambda weight: weight.numpy(force=True))
        return done

    return train_and_send


def add_results(one: Trained, done: Done) -> None:
    """Add the results of a job to its candidate."""
    _convert(done.results, torch.as_tensor)
    one.results.add_all(done.results)
    if not one.is_done:
        one.left_out = done.left_out


def _convert(results: SeedResults, to: Any) -> None:
    results.weights = {
        seed: [{name: to(weight) for name, weight in turn.items()} for turn in turns]
        for seed, turns in results.weights.items()
    }
