"""The only training loop there is. It sees training and validation labels only."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from hiergcn.errors import InputError
from hiergcn.graph.task import Task
from hiergcn.model.method import Method, NodeModel, Prepared
from hiergcn.train.batches import Batches, BatchLearner
from hiergcn.train.capture import Captured
from hiergcn.train.config import TrainConfig
from hiergcn.train.labels import labelled_nodes
from hiergcn.train.learners import Learners, OneLearner, Replicas
from hiergcn.train.selection import Selection

LOOK = 25
"""Epochs of a GPU between two looks at what it has done."""

OnEpoch = Callable[[int, list[float]], None]
"""Gets the epoch and the best validation accuracy of each model so far."""


@dataclass(frozen=True, eq=False)
class SeedOutcome:
    """What one seed gave. A seed that failed keeps its history and says why; it has no probabilities and no weights."""

    seed: int
    history: np.ndarray  # (epochs done, 4), columns as in HISTORY
    best_epoch: int | None  # counted from 1
    probabilities: np.ndarray | None  # (n, classes) float32
    weights: dict[str, Tensor] | None
    seconds: float  # of several that trained side by side, an equal share
    failure: str | None = None

    @property
    def validation_loss(self) -> float:
        return math.nan if self.best_epoch is None else float(self.history[self.best_epoch - 1, 1])

    @property
    def validation_accuracy(self) -> float:
        return math.nan if self.best_epoch is None else float(self.history[self.best_epoch - 1, 3])


def train_seed(
    method: Method,
    prepared: Prepared,
    task: Task,
    config: TrainConfig,
    seed: int,
    device: torch.device,
    on_epoch: OnEpoch | None = None,
    batches: Batches | None = None,
) -> SeedOutcome:
    """Train one model, on the whole graph or in batches, and keep the epoch that validation chooses."""
    began = time.perf_counter()
    generator = torch.Generator(device).manual_seed(seed)
    model = _built(method, prepared, task, config, generator)
    nodes = labelled_nodes(task, device, config.class_weight, config.loss)
    learner: Learners
    if batches is None:
        learner = OneLearner(model, prepared.features, nodes, config)
    else:
        build = partial(_built, method, task=task, config=config, generator=generator)
        learner = BatchLearner(model, build, batches, nodes, config, seed)
    selection = _train(learner, 1, config, device, (), on_epoch)
    return _outcomes([seed], selection, began)[0]


def train_side_by_side(
    method: Method,
    prepared: Prepared,
    tasks: Sequence[Task],
    config: TrainConfig,
    seeds: Sequence[int],
    device: torch.device,
    on_epoch: OnEpoch | None = None,
) -> list[SeedOutcome]:
    """Train a model for each task and seed in one pass; the tasks are of one graph, with equal numbers of labels.

    The method must say that it `replicates`.
    """
    began = time.perf_counter()
    generators = [torch.Generator(device).manual_seed(seed) for seed in seeds]
    models = _one_after_another(method, prepared, tasks, config, generators)
    nodes = {task: labelled_nodes(task, device, config.class_weight, config.loss) for task in dict.fromkeys(tasks)}
    replicas = Replicas(models, prepared.features, [nodes[task] for task in tasks], config)
    selection = _train(replicas, len(seeds), config, device, replicas.noise.generators, on_epoch)
    return _outcomes(seeds, selection, began)


def _one_after_another(
    method: Method,
    prepared: Prepared,
    tasks: Sequence[Task],
    config: TrainConfig,
    generators: Sequence[torch.Generator],
) -> Iterator[NodeModel]:
    """A fresh model for each task and generator; it may be the one before, drawn anew."""
    model = None
    for task, generator in zip(tasks, generators, strict=True):
        if model is None or not method.redraw(model, generator):
            model = _built(method, prepared, task, config, generator)
        yield model


def _built(
    method: Method, prepared: Prepared, task: Task, config: TrainConfig, generator: torch.Generator
) -> NodeModel:
    with generator.device:  # parameters are drawn where the generator lives
        model = method.build(prepared, task.n_classes, generator)
    model.to(generator.device)
    if config.class_weight != "none" and not model.weighs_classes:
        raise InputError(f"{model.title} cannot weigh classes; leave class_weight at none.")
    if config.recompute and not model.recompute_layers():
        raise InputError(f"{model.title} cannot recompute its layers; leave recompute at false.")
    return model


def _train(
    learners: Learners,
    models: int,
    config: TrainConfig,
    device: torch.device,
    generators: Sequence[torch.Generator],
    on_epoch: OnEpoch | None,
) -> Selection:
    selection = Selection(config, models, device)
    epoch = 0

    def train_epoch() -> None:
        loss = learners.step(epoch)
        selection.offer(loss, learners.measure(), learners.weights())

    on_gpu = device.type == "cuda"
    run = Captured(train_epoch, generators) if on_gpu and isinstance(learners, Replicas) else train_epoch
    while epoch < config.epochs:
        epoch += 1
        run()
        if on_gpu and epoch % LOOK and epoch < config.epochs:
            continue
        if on_epoch:
            on_epoch(epoch, selection.accuracies())
        if bool(selection.over.all()):
            break
    return selection


def _outcomes(seeds: Sequence[int], selection: Selection, began: float) -> list[SeedOutcome]:
    lengths, best, failed = (part.tolist() for part in (selection.length, selection.best_epoch, selection.failed))
    history, chosen = selection.history.cpu().numpy(), selection.to_host()
    seconds = (time.perf_counter() - began) / len(seeds)
    outcomes = []
    for r, seed in enumerate(seeds):
        rows = np.ascontiguousarray(history[: lengths[r], :, r])
        if failed[r]:
            failure = f"diverged at epoch {lengths[r]} (training loss {rows[-1, 0]:g}, validation loss {rows[-1, 1]:g})"
            outcomes.append(SeedOutcome(seed, rows, None, None, None, seconds, failure))
            continue
        probabilities = chosen.probabilities(r).numpy()
        outcomes.append(SeedOutcome(seed, rows, best[r], probabilities, chosen.weights(r), seconds))
    return outcomes
