"""Many runs over one graph: the seeds, and the splits, of one method with one choice of settings."""

from collections.abc import Callable, Iterator, Sequence

import torch

from hiergcn.graph.task import Task
from hiergcn.model.method import Method, Prepared
from hiergcn.train.batches import Batches
from hiergcn.train.config import TrainConfig
from hiergcn.train.loop import OnEpoch, SeedOutcome, train_seed, train_side_by_side

Run = tuple[Task, int]
"""The labels that may be learned from, and the seed."""

_MOST = 64  # models side by side


def train_runs(
    method: Method,
    prepared: Prepared,
    runs: Sequence[Run],
    config: TrainConfig,
    device: torch.device,
    on_epoch: Callable[[int, int, float], None] | None = None,
    batches: Batches | None = None,
) -> Iterator[SeedOutcome]:
    """Train every run and give the outcomes in their order. `on_epoch` gets the seed, the epoch and the best accuracy.

    A GPU trains them side by side if the method can; a CPU gains nothing by that and takes one after the other, as is
    done where batches or recomputation save memory.
    """
    if device.type == "cuda" and method.replicates and batches is None and not config.recompute:
        yield from _side_by_side(method, prepared, runs, config, device, on_epoch)
        return
    for task, seed in runs:
        yield train_seed(method, prepared, task, config, seed, device, _told([seed], on_epoch), batches)


def _side_by_side(
    method: Method,
    prepared: Prepared,
    runs: Sequence[Run],
    config: TrainConfig,
    device: torch.device,
    on_epoch: Callable[[int, int, float], None] | None,
) -> Iterator[SeedOutcome]:
    """As many at a time as the memory holds: half as many whenever it does not."""
    most, done = _MOST, 0
    while done < len(runs):
        group = runs[done : done + min(most, _alike(runs[done:]))]
        seeds = [seed for _, seed in group]
        told = _told(seeds, on_epoch)
        try:
            outcomes = train_side_by_side(method, prepared, [task for task, _ in group], config, seeds, device, told)
        except torch.cuda.OutOfMemoryError:
            if len(group) == 1:
                raise
            most = len(group) // 2
            torch.cuda.empty_cache()
            continue
        yield from outcomes
        done += len(group)


def _alike(runs: Sequence[Run]) -> int:
    """How many runs, from the first on, have as many training and validation nodes as the first."""
    sizes = [(len(task.train), len(task.validation)) for task, _ in runs]
    return next((i for i, size in enumerate(sizes) if size != sizes[0]), len(sizes))


def _told(seeds: Sequence[int], on_epoch: Callable[[int, int, float], None] | None) -> OnEpoch:
    def told(epoch: int, best: list[float]) -> None:
        if on_epoch:
            for seed, accuracy in zip(seeds, best, strict=True):
                on_epoch(seed, epoch, accuracy)

    return told
