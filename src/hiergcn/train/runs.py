"""Many runs over one graph: the seeds, and the splits, of one method with one choice of settings."""

from collections.abc import Callable, Iterator, Sequence

import torch

from hiergcn.graph.task import Task
from hiergcn.model.method import Method, Prepared
from hiergcn.train.config import TrainConfig
from hiergcn.train.loop import SeedOutcome, train_seed

Run = tuple[Task, int]
"""The labels that may be learned from, and the seed."""


def train_runs(
    method: Method,
    prepared: Prepared,
    runs: Sequence[Run],
    config: TrainConfig,
    device: torch.device,
    on_epoch: Callable[[int, int, float], None] | None = None,
) -> Iterator[SeedOutcome]:
    """Train every run and give the outcomes in their order. `on_epoch` gets the seed, the epoch and the best accuracy."""
    for task, seed in runs:

        def told(epoch: int, best: float, seed: int = seed) -> None:
            if on_epoch:
                on_epoch(seed, epoch, best)

        yield train_seed(method, prepared, task, config, seed, device, told)
