"""Many runs over one graph: seeds and splits of one method with one choice of settings."""

from collections.abc import Iterator, Sequence

import torch

from hiergcn.graph.task import Task
from hiergcn.model.method import Method, Prepared
from hiergcn.train.batches import Batches
from hiergcn.train.config import TrainConfig
from hiergcn.train.loop import OnEpoch, SeedOutcome, train_seed, train_side_by_side

Run = tuple[Task, int]
"""Training and validation labels, and the seed."""

_MOST_REPLICAS = 64


def train_runs(
    method: Method,
    prepared: Prepared,
    runs: Sequence[Run],
    config: TrainConfig,
    device: torch.device,
    on_epoch: OnEpoch | None = None,
    batches: Batches | None = None,
) -> Iterator[SeedOutcome]:
    """Train every run and yield the outcomes in their order.

    A GPU trains runs side by side if the method supports it. A CPU gains nothing by that and takes one after the
    other; so does a GPU with batches or recomputation, which are there to save memory.
    """
    if device.type == "cuda" and method.replicates and batches is None and not config.recompute:
        yield from _side_by_side(method, prepared, runs, config, device, on_epoch)
        return
    for task, seed in runs:
        yield train_seed(method, prepared, task, config, seed, device, on_epoch, batches)


def _side_by_side(
    method: Method,
    prepared: Prepared,
    runs: Sequence[Run],
    config: TrainConfig,
    device: torch.device,
    on_epoch: OnEpoch | None,
) -> Iterator[SeedOutcome]:
    """Train as many runs at a time as fit into memory, halving the number whenever they do not."""
    most, done = _MOST_REPLICAS, 0
    while done < len(runs):
        group = runs[done : done + min(most, _alike(runs[done:]))]
        tasks, seeds = [task for task, _ in group], [seed for _, seed in group]
        try:
            outcomes = train_side_by_side(method, prepared, tasks, config, seeds, device, on_epoch)
        except torch.cuda.OutOfMemoryError:
            if len(group) == 1:
                raise
            most = len(group) // 2
            torch.cuda.empty_cache()
            continue
        yield from outcomes
        done += len(group)


def _alike(runs: Sequence[Run]) -> int:
    """Return how many runs, from the first on, have as many training and validation nodes as the first."""
    sizes = [(len(task.train), len(task.validation)) for task, _ in runs]
    return next((i for i, size in enumerate(sizes) if size != sizes[0]), len(sizes))
