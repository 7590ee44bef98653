"""The training loop, the only one there is. It sees training and validation labels only.

`train_runs` trains many seeds and splits of one method on one graph, `train_models` those that train at once.

`Selection` keeps the training history, and the best epoch by validation, for several models at once. Everything stays
on the models' device, so that a GPU need not wait for the host after each epoch.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from hiergcn.errors import InputError
from hiergcn.graph.task import Task
from hiergcn.model.method import Method, NodeModel, Prepared, activated
from hiergcn.model.ops import gpu_kernels, kernels_if_worthwhile
from hiergcn.settings.fields import TrainConfig
from hiergcn.train.checkpoint import SeedCheckpoint
from hiergcn.train.events import EpochDone, OnEpoch, StopTraining
from hiergcn.train.learners import Evaluation, Learner, labelled_nodes

if TYPE_CHECKING:
    from hiergcn.train.batches import Batches

HISTORY = ("train_loss", "validation_loss", "train_accuracy", "validation_accuracy")
"""The accuracy of numbers is `Measured.score`."""
REPORT_EVERY = 25
"""Epochs on a GPU between two calls of the callback, each of which waits for the GPU."""

Run = tuple[Task, int]
"""Training and validation labels, and the seed."""

_STATE = ("history", "epoch", "length", "best_epoch", "rank", "failed", "over")


@dataclass(frozen=True, eq=False)
class SeedOutcome:
    """The result of one seed. A failed seed has a history and a reason, but no probabilities and no weights."""

    seed: int
    history: np.ndarray  # (epochs done, 4), columns as in HISTORY
    best_epoch: int | None  # counted from 1
    probabilities: np.ndarray | None  # (n, classes) float32; numbers are (n, 1) float64, in the unit of the targets
    weights: dict[str, Tensor] | None
    seconds: float  # an equal share, if several trained side by side
    failure: str | None = None

    @property
    def validation_loss(self) -> float | None:
        return None if self.best_epoch is None else float(self.history[self.best_epoch - 1, 1])

    @property
    def validation_accuracy(self) -> float | None:
        return None if self.best_epoch is None else float(self.history[self.best_epoch - 1, 3])


class Selection:
    """Scores of each epoch, and logits and weights of each model's best one.

    A model is over if a loss is not finite or its patience has run out; later epochs do not count.
    """

    def __init__(self, config: TrainConfig, models: int, device: torch.device) -> None:
        self.config = config
        self.history = torch.full((config.epochs, len(HISTORY), models), math.nan, dtype=torch.float64, device=device)
        self.epoch = torch.zeros(1, dtype=torch.int64, device=device)
        self.length, self.best_epoch = (torch.zeros(models, dtype=torch.int64, device=device) for _ in range(2))
        self.rank = torch.full((2, models), -math.inf, dtype=torch.float64, device=device)
        self.failed, self.over = (torch.zeros(models, dtype=torch.bool, device=device) for _ in range(2))
        self.best: dict[str, Tensor] = {}

    def offer(self, loss: Tensor, scores: Evaluation, weights: Callable[[], dict[str, Tensor]]) -> None:
        """Record an epoch and keep it for each model whose best it is; `loss` is the training loss.

        On a CPU, `weights` is called only if a model is better than before.
        """
        parts = (loss, scores.validation_loss, scores.train_accuracy, scores.validation_accuracy)
        row = torch.stack(parts).double()  # (4, models)
        self.history.index_copy_(0, self.epoch, row.unsqueeze(0))
        self.epoch += 1
        going = ~self.over
        finite = row[:2].isfinite().all(dim=0)
        rank = torch.stack([row[3], -row[1]]) if self.config.selection == "accuracy" else torch.stack([-row[1], row[3]])
        higher = (rank[0] > self.rank[0]) | ((rank[0] == self.rank[0]) & (rank[1] > self.rank[1]))
        better = going & finite & higher
        torch.where(better, rank, self.rank, out=self.rank)
        torch.where(better, self.epoch, self.best_epoch, out=self.best_epoch)
        torch.where(going, self.epoch, self.length, out=self.length)
        self.failed |= going & ~finite
        self.over |= self.failed
        if self.config.patience is not None:
            self.over |= self.epoch - self.best_epoch >= self.config.patience
        if better.is_cuda or not self.best or better.any():  # on a GPU the last test would wait for it
            state = {f"weights.{name}": value for name, value in weights().items()}
            state |= {} if scores.logits is None else {"logits": scores.logits}
            if not self.best:
                self.best = {name: torch.empty_like(value) for name, value in state.items()}
            for name, value in state.items():
                if better.is_cuda and gpu_kernels() and value.dim() == 3 and value.stride(2) == 1:
                    gpu_kernels().keep_better(better, value, self.best[name])
                else:
                    chosen = better.view(-1, *[1] * (value.dim() - 1))
                    torch.where(chosen, value, self.best[name], out=self.best[name])

    def weights(self) -> dict[str, Tensor]:
        """Return the weights of the best epochs, by name; the first axis is that of the models."""
        return {name.removeprefix("weights."): value for name, value in self.best.items() if name != "logits"}

    def accuracies(self) -> list[float]:
        """Return the best validation accuracy of each model so far."""
        accuracy = self.rank[0 if self.config.selection == "accuracy" else 1].tolist()
        return [value if epoch else math.nan for value, epoch in zip(accuracy, self.best_epoch.tolist(), strict=True)]

    def state(self) -> dict[str, Tensor]:
        """Return all tensors, by name."""
        return {name: getattr(self, name) for name in _STATE} | {f"best.{k}": value for k, value in self.best.items()}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go on from tensors that `state` returned."""
        for name in _STATE:
            getattr(self, name).copy_(state[name])
        best = {name.removeprefix("best."): value for name, value in state.items() if name.startswith("best.")}
        self.best = {name: value.to(self.history.device) for name, value in best.items()}


def train_runs(
    method: Method,
    prepared: Prepared,
    runs: Sequence[Run],
    config: TrainConfig,
    device: torch.device,
    on_epoch: OnEpoch | None = None,
    batches: "Batches | None" = None,
    checkpoints: Iterator[SeedCheckpoint] | None = None,
) -> Iterator[SeedOutcome]:
    """Train every run and yield the outcomes in their order.

    A GPU trains runs side by side if the method supports it, as many as fit into memory. A CPU gains nothing by that
    and takes one after the other; so does a GPU with batches or recomputation, which are there to save memory.
    `checkpoints` are those of runs that are trained by themselves, in their order.
    """
    if device.type != "cuda" or not method.replicates or batches is not None or config.recompute:
        for run in runs:
            checkpoint = None if checkpoints is None else next(checkpoints)
            yield from train_models(method, prepared, [run], config, device, on_epoch, batches, checkpoint)
        return
    from hiergcn.train.side_by_side import MOST_REPLICAS

    sizes = [(len(task.train), len(task.validation)) for task, _ in runs]
    most, done = MOST_REPLICAS, 0
    while done < len(runs):
        end = done + 1
        while end < min(done + most, len(runs)) and sizes[end] == sizes[done]:
            end += 1
        try:
            outcomes = train_models(method, prepared, runs[done:end], config, device, on_epoch, side_by_side=True)
        except torch.cuda.OutOfMemoryError:
            if end - done == 1:
                raise
            most = (end - done) // 2
            torch.cuda.empty_cache()
            continue
        yield from outcomes
        done = end


def train_models(
    method: Method,
    prepared: Prepared,
    runs: Sequence[Run],
    config: TrainConfig,
    device: torch.device,
    on_epoch: OnEpoch | None = None,
    batches: "Batches | None" = None,
    checkpoint: SeedCheckpoint | None = None,
    side_by_side: bool = False,
) -> list[SeedOutcome]:
    """Train one model, on the whole graph or in batches, or several side by side; keep the best epoch by validation.

    With a checkpoint, training goes on where an earlier process was killed, and ends with the same bits. Models side by
    side need a method that `replicates`; their tasks share a graph and have equal numbers of labels.
    """
    began = time.perf_counter()
    tasks, seeds = zip(*runs, strict=True)
    generators = [torch.Generator(device).manual_seed(seed) for seed in seeds]
    nodes = {task: labelled_nodes(task, device, config.class_weight, config.loss) for task in dict.fromkeys(tasks)}
    kernels = partial(kernels_if_worthwhile, tasks[0].adjacency, len(runs))
    learner: Learner
    if side_by_side:
        from hiergcn.train.side_by_side import Replicas

        def models() -> Iterator[NodeModel]:  # one after the other: each may be the previous one with new weights
            model = None
            for task, generator in zip(tasks, generators, strict=True):
                if model is None or not method.redraw(model, generator):
                    model = build_model(method, task, config, prepared, generator)
                yield model

        with kernels():
            learner = Replicas(models(), prepared.features, [nodes[task] for task in tasks], config)
    else:
        model = build_model(method, tasks[0], config, prepared, generators[0])
        if batches is None:
            learner = Learner(model, prepared.features, nodes[tasks[0]], config)
        else:
            from hiergcn.train.batches import BatchLearner

            build = partial(build_model, method, tasks[0], config)
            learner = BatchLearner(model, build, batches, nodes[tasks[0]], config, seeds[0])
    with kernels():
        selection = train_epochs(learner, seeds, config, device, on_epoch, checkpoint, generators[0])
    return outcomes_of(tasks, seeds, selection, began - (checkpoint.earlier if checkpoint else 0.0))


def build_model(
    method: Method, task: Task, config: TrainConfig, prepared: Prepared, generator: torch.Generator
) -> NodeModel:
    """Build a model on the device of its generator, or refuse settings that it does not support."""
    with generator.device:  # a generator draws on its own device alone
        model: NodeModel = method.build(prepared, task.n_classes, generator)
    model.to(generator.device)
    if config.class_weight != "none" and not model.weighs_classes:
        raise InputError(f"{model.title} cannot weigh classes; leave class_weight at none.")
    if config.recompute and not model.recompute_layers():
        raise InputError(f"{model.title} cannot recompute its layers; leave recompute at false.")
    return model


def train_epochs(
    learner: Learner,
    seeds: Sequence[int],
    config: TrainConfig,
    device: torch.device,
    on_epoch: OnEpoch | None,
    checkpoint: SeedCheckpoint | None,
    generator: torch.Generator,
) -> Selection:
    """Train all epochs and return the best of each model; `generator` is the one that a checkpoint keeps."""
    selection, epoch, on_gpu = Selection(config, len(seeds), device), 0, device.type == "cuda"
    if checkpoint is not None and (saved := checkpoint.read()):
        epoch, state = saved
        learner.load_training_state(state)
        selection.load_state(state)
        generator.set_state(state["generator"])

    def train_epoch() -> None:
        loss = learner.step(epoch)
        selection.offer(loss, learner.evaluate(), learner.weights)

    run = learner.capture(train_epoch) if on_gpu else train_epoch
    while epoch < config.epochs:
        epoch += 1
        run()
        if on_gpu and epoch % REPORT_EVERY and epoch < config.epochs:
            continue  # what follows would wait for the GPU
        if on_epoch:
            try:
                for seed, accuracy in zip(seeds, selection.accuracies(), strict=True):
                    on_epoch(EpochDone(seed, epoch, accuracy))
            except StopTraining:
                break
        if bool(selection.over.all()):
            break
        if checkpoint is not None and checkpoint.is_due:
            learned = learner.training_state()
            if learned is not None:
                checkpoint.write(epoch, learned | selection.state() | {"generator": generator.get_state()})
    del run  # and with it the memory of a CUDA graph
    if "logits" not in selection.best:  # evaluations gave those of labelled nodes alone
        selection.best["logits"] = learner.logits(selection.weights())
    return selection


def outcomes_of(tasks: Sequence[Task], seeds: Sequence[int], selection: Selection, began: float) -> list[SeedOutcome]:
    """Return the result of each model, on the host."""
    lengths, best, failed = (part.tolist() for part in (selection.length, selection.best_epoch, selection.failed))
    history = selection.history.cpu().numpy()
    to_host: Callable[[Tensor], list[Tensor]] = list
    if selection.history.is_cuda:
        from hiergcn.train.side_by_side import copy_to_host

        to_host = copy_to_host
    outputs = to_host(activated(selection.best["logits"]))
    weights = {name: to_host(value) for name, value in selection.weights().items()}
    seconds = (time.perf_counter() - began) / len(seeds)
    outcomes = []
    for r, (task, seed) in enumerate(zip(tasks, seeds, strict=True)):
        rows = np.ascontiguousarray(history[: lengths[r], :, r])
        if failed[r]:
            failure = f"diverged at epoch {lengths[r]} (training loss {rows[-1, 0]:g}, validation loss {rows[-1, 1]:g})"
            outcomes.append(SeedOutcome(seed, rows, None, None, None, seconds, failure))
        else:
            restored = task.target.restored(outputs[r].contiguous().numpy())
            state = {name: each[r].contiguous() for name, each in weights.items()}
            outcomes.append(SeedOutcome(seed, rows, best[r], restored, state, seconds))
    return outcomes
