"""Training on one graph: hierarchies and prepared inputs are made once and reused.

`train_seeds` trains the seeds of one method on one split, and combines their results.

Training and validation labels may be cross-validated. A validation part of a few nodes says little about which method
is best, and its labels are missing in training. So a seed is then several networks, each of which trains on another
part of the labels and is selected by the rest. Their mean predicts (bagging; AutoGluon does the same), but a labelled
node is predicted by the network that did not train on it, so that its prediction is as uncertain as that of other
nodes.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain, groupby

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from hiergcn.coarsening import CoarsenConfig, Hierarchy, coarsen
from hiergcn.errors import HierGCNError, InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.split import stratified_folds
from hiergcn.graph.structure import with_structural_features
from hiergcn.graph.task import Task
from hiergcn.model.inputs import INPUTS, build_method
from hiergcn.model.method import Features, MemoryPlan, Method, NodeModel, Prepared, Weights, with_weights
from hiergcn.model.ops import kernels_if_worthwhile
from hiergcn.model.ops.ranks import Ranks
from hiergcn.settings.registry import config_class, method_names
from hiergcn.settings.settings import Settings
from hiergcn.train.checkpoint import Checkpoint, SeedCheckpoint, digest
from hiergcn.train.events import OnEpoch, OnFitEvent, SeedDone
from hiergcn.train.loop import HISTORY, SeedOutcome, train_runs
from hiergcn.workers.machine import choose_device, plain_torch, require_memory
from hiergcn.workers.memory_plan import coarsening_memory, plan_memory, planned_to_fit, unit_request
from hiergcn.workers.pool import Engine, Send, Work, WorkerDiedError, now_and_then

BATCH_LEVELS = 4
"""Levels of the hierarchy that batches are cut along, for methods that use no hierarchy."""

_WORTH_PROCESSES = 20.0  # seconds of training left; starting a process takes a few
_PAUSE = 0.2  # seconds between two messages of a worker


class Trainer:
    """Trains models on one graph and one device.

    A hierarchy is made once for each `CoarsenConfig` and serves every number of levels: coarsening further leaves the
    levels above as they are. The inputs that a method prepares are kept until other settings are trained.

    Args:
        graph: gets structural features if it has none.
        device: `auto`, `cpu`, `cuda`, or a torch device; see `choose_device`.
        hierarchy: used for all settings instead of coarsening the graph.
        engine: trains the runs on other machines, if several are asked for at once; this one needs no GPU then.
        checkpoint: holds finished runs, and the state of the one in training.
    """

    def __init__(
        self,
        graph: Graph,
        device: str | torch.device = "auto",
        hierarchy: Hierarchy | None = None,
        engine: Engine | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.checkpoint, self.engine, self.given = checkpoint, engine, hierarchy
        self.graph = with_structural_features(graph)
        entries = graph.adjacency.nnz + (0 if graph.features is None else graph.features.size)  # of sparse ones, stored
        here = device if engine is None else "cpu"
        self.device = choose_device(here, entries) if isinstance(here, str) else here
        self.trains_on = str(self.device) if engine is None else engine.device(str(device))
        self.coarsen_seconds = 0.0
        self.hierarchies: dict[tuple[CoarsenConfig, int], Hierarchy] = {}
        self._prepared: tuple[object, tuple[Method, Prepared]] | None = None
        self.task: Callable[[Split], Task] = cache(partial(Task.of, self.graph))
        """Return the task of a split, always the same value, for which columns of labels are made once."""
        self._sees_whole: dict[Settings, bool] = {}

    def hierarchy(self, settings: Settings) -> Hierarchy | None:
        """Return the hierarchy with the levels that the settings ask for; None for methods that use none."""
        return self.coarsen(settings.model.levels, settings.coarsen) if settings.model.uses_hierarchy else None

    def coarsen(self, levels: int, config: CoarsenConfig) -> Hierarchy:
        """Return the graph coarsened up to `levels` times, from an earlier result if one goes deep enough."""
        if self.given is not None:
            return self.given.truncated(levels)
        key = (config, levels)
        if key not in self.hierarchies:
            hierarchy = self.cached_hierarchy(levels, config)
            if hierarchy is None:
                what = f"{levels} coarser levels of {self.graph.n_edges:,} edges"
                require_memory(coarsening_memory(self.graph, levels), what=what, remedy="take fewer levels")
                began = time.perf_counter()
                hierarchy = coarsen(self.graph.adjacency, levels, config)
                self.coarsen_seconds += time.perf_counter() - began
            self.hierarchies[key] = hierarchy
        return self.hierarchies[key]

    def cached_hierarchy(self, levels: int, config: CoarsenConfig) -> Hierarchy | None:
        """Return the graph coarsened up to `levels` times if an earlier result goes deep enough."""
        for (other, _), hierarchy in self.hierarchies.items():
            if other == config and (hierarchy.requested >= levels or hierarchy.depth < hierarchy.requested):
                return hierarchy.truncated(levels)
        return None

    def plan(self, settings: Settings) -> MemoryPlan:
        """Return the memory plan of one seed; raise an `InputError` if there is not enough memory for it here."""
        if self.engine is not None:
            return plan_memory(self.graph, settings, self.hierarchy(settings))
        return planned_to_fit(self.graph, settings, self.hierarchy(settings), self.device)

    def sees_whole(self, settings: Settings) -> bool:
        """Return whether training or validation is full-batch. It is decided once, before the graph takes memory."""
        if settings.train.batches == 1:
            return True
        if settings not in self._sees_whole:
            self._sees_whole[settings] = bool(Ranks.current().from_rank0(self.plan(settings).full_validation))
        return self._sees_whole[settings]

    def prepare(self, settings: Settings, split: Split) -> tuple[Method, Prepared]:
        """Return the method and its inputs; they depend on the split only if the method `uses_labels`."""
        method = build_method(settings.method, settings.model)
        if self.graph.targets is not None and not settings.model.predicts_numbers:
            able = ", ".join(name for name in method_names() if config_class(name).predicts_numbers)
            raise InputError(f"{settings.method} predicts classes only; for numbers choose one of {able}.")
        key = (settings.method, settings.model, settings.coarsen, split if method.uses_labels else None)
        if self._prepared is None or self._prepared[0] != key:
            self._prepared = None  # frees its memory before more is taken
            task = self.task(split) if method.uses_labels else Task.to_predict(self.graph, self.graph.n_outputs)
            hierarchy = self.hierarchy(settings)
            with kernels_if_worthwhile(task.adjacency):
                self._prepared = (key, (method, method.prepare(task, hierarchy, self.device)))
        return self._prepared[1]

    def restore(self, settings: Settings, split: Split, weights: Weights) -> tuple[NodeModel, Features]:
        """Return a model with these weights, which were trained on this graph, and the features that it takes."""
        method, prepared = self.prepare(settings, split)
        return with_weights(method, prepared, weights, self.graph.n_outputs, self.device), prepared.features

    def train(
        self, settings: Settings, runs: Sequence[tuple[Split, int]], on_epoch: OnEpoch | None = None, workers: int = 1
    ) -> Iterator[SeedOutcome]:
        """Train a model for each split and seed, and yield the outcomes in that order.

        A GPU trains them side by side if the method can. On a CPU, `workers` processes share the runs after the first
        if these would take long. With a checkpoint, runs that an earlier process finished are read from it.
        """
        runs = list(runs)
        while runs and (outcome := self._read(settings, *runs[0])) is not None:
            yield outcome
            runs.pop(0)
        if not runs:
            return
        method = build_method(settings.method, settings.model)
        if self.engine is not None and not settings.model.closed_form:
            outcomes = self._train_on(self.engine, settings, runs, on_epoch)
        else:
            groups = groupby(runs, key=lambda run: id(run[0])) if method.uses_labels else [(0, iter(runs))]
            outcomes = chain.from_iterable(self._train(settings, list(group), on_epoch, workers) for _, group in groups)
        for run in runs:
            with plain_torch():  # the caller has its own in between
                outcome = next(outcomes)
            if self.checkpoint is not None:
                about = {name: getattr(outcome, name) for name in ("seed", "best_epoch", "seconds", "failure")}
                tensors = {"history": torch.tensor(outcome.history)}
                if outcome.probabilities is not None:
                    tensors["outputs"] = torch.tensor(outcome.probabilities)
                tensors |= {f"weights.{name}": weight for name, weight in (outcome.weights or {}).items()}
                self.checkpoint.write(f"{_name(settings, *run)}-finished", about, tensors)
                self.checkpoint.remove(_name(settings, *run))
            yield outcome

    def _read(self, settings: Settings, split: Split, seed: int) -> SeedOutcome | None:
        """Return the outcome of a run that an earlier process finished."""
        if self.checkpoint is None:
            return None
        saved = self.checkpoint.read(f"{_name(settings, split, seed)}-finished")
        if saved is None:
            return None
        about, tensors = saved
        history, outputs = tensors.pop("history").numpy(), tensors.pop("outputs", None)
        if outputs is None:
            return SeedOutcome(history=history, probabilities=None, weights=None, **about)
        weights = {name.removeprefix("weights."): weight for name, weight in tensors.items()}
        return SeedOutcome(history=history, probabilities=outputs.numpy(), weights=weights, **about)

    def _train(
        self, settings: Settings, runs: Sequence[tuple[Split, int]], on_epoch: OnEpoch | None, workers: int
    ) -> Iterator[SeedOutcome]:
        """Train runs that share their prepared inputs."""
        with_tasks = [(self.task(split), seed) for split, seed in runs]
        method = build_method(settings.method, settings.model)
        train = partial(train_runs, method, config=settings.train, device=self.device, on_epoch=on_epoch)
        if self.checkpoint is not None:
            checkpoint = self.checkpoint
            train = partial(train, checkpoints=(SeedCheckpoint(checkpoint, _name(settings, *run)) for run in runs))
        if settings.train.batches > 1:
            if method.needs_whole:
                *others, last = dict.fromkeys(kind.called for kind in INPUTS if kind.needs_whole)
                named = f"{', '.join(others)} and {last}"
                raise InputError(
                    f"{named[0].upper()}{named[1:]} need the whole graph, which a batch does not have. Leave batches "
                    "at 1, or these settings at false."
                )
            from hiergcn.train.batches import Batches

            whole = self.prepare(settings, runs[0][0])[1] if self.sees_whole(settings) else None
            for task, group in groupby(with_tasks, key=lambda run: run[0]):
                batches = Batches(method, whole, task, self._cut_along(settings), settings.train.batches, self.device)
                yield from train(batches.model_inputs, list(group), batches=batches)
            return
        train = partial(train, self.prepare(settings, runs[0][0])[1])
        if workers > 1 and self.device.type == "cpu" and len(runs) > 2:
            (first,) = train(runs=with_tasks[:1])
            yield first
            with_tasks = with_tasks[1:]
            if first.seconds * len(with_tasks) > _WORTH_PROCESSES:
                yield from self._train_on(Engine(workers), settings, runs[1:], on_epoch)
                return
        yield from train(runs=with_tasks)

    def _cut_along(self, settings: Settings) -> Hierarchy:
        """Return the hierarchy that batches are cut along."""
        return self.hierarchy(settings) or self.coarsen(BATCH_LEVELS, settings.coarsen)

    def _train_on(
        self, engine: Engine, settings: Settings, runs: Sequence[tuple[Split, int]], on_epoch: OnEpoch | None
    ) -> Iterator[SeedOutcome]:
        """Train runs in the workers of an engine, each by itself, or as many at once as give every GPU its share."""
        hierarchy = self._cut_along(settings) if settings.train.batches > 1 else self.hierarchy(settings)
        request = unit_request(self.graph, settings, hierarchy, self.trains_on)
        splits = list(dict.fromkeys(split for split, _ in runs))
        numbered = [(splits.index(split), seed) for split, seed in runs]
        size = -(-len(runs) // engine.workers(request)) if request.gpus else 1
        jobs = [numbered[k : k + size] for k in range(0, len(runs), size)]

        def lost(number: int, reason: str) -> list[SeedOutcome]:
            if not engine.spreads:
                raise WorkerDiedError("A worker process died, probably out of memory. Try --workers 1.")
            nothing = np.empty((0, len(HISTORY)))  # of seeds whose workers were lost again and again
            return [SeedOutcome(seed, nothing, None, None, None, 0.0, reason) for _, seed in jobs[number]]

        with engine.pool(_training, self.graph, hierarchy, settings, splits, self.trains_on) as pool:
            yield from chain.from_iterable(pool.results(((job, request) for job in jobs), on_epoch, lost))


def _name(settings: Settings, split: Split, seed: int) -> str:
    """Return the name of a run in a checkpoint."""
    return digest(settings.to_dict(), split.train, split.validation, seed)


def _training(
    graph: Graph, hierarchy: Hierarchy | None, settings: Settings, splits: Sequence[Split], device: str
) -> Work:
    """Prepare training in a worker: return what trains the runs of a job and sends its progress now and then."""
    torch.set_num_threads(1)
    trainer = Trainer(graph, device, hierarchy)

    def train(send: Send, job: Sequence[tuple[int, int]]) -> list[SeedOutcome]:
        runs = [(splits[k], seed) for k, seed in job]
        return list(trainer.train(settings, runs, now_and_then(send, _PAUSE)))

    return train


FOLDS = 4


def fold_splits(split: Split, labels: NDArray[np.int64], count: int = FOLDS) -> tuple[Split, ...]:
    """Return `count` splits in which each training and validation label validates once; fewer if labels are too few.

    A class with a single label trains in all of them. If every class has, the split itself is the only one.
    """
    for few in range(count, 1, -1):
        nodes, fold = fold_of(split, labels, few)
        if np.isin(np.arange(few), fold).all():
            return tuple(replace(split, train=nodes[fold != k], validation=nodes[fold == k]) for k in range(few))
    return (split,)


def fold_of(
    split: Split, labels: NDArray[np.int64], count: int = FOLDS, order: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the training and validation nodes, and in which fold each validates, or -1 for never.

    Folds are those of the nodes as they are listed in `order`, by default as they are.
    """
    nodes = np.union1d(split.train, split.validation)
    if order is not None:
        nodes = order[np.isin(order, nodes)]
    classes = labels[nodes]
    return nodes, np.where(np.bincount(classes)[classes] > 1, stratified_folds(classes, count), -1)


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
        """Of each fold, by seed."""
        self.interrupted = False
        self.seconds = 0.0

    @property
    def seeds(self) -> list[int]:
        return [outcome.seed for outcome in self.outcomes]

    @property
    def best(self) -> int | None:
        """The seed with the highest validation accuracy; of equal ones, that with the lowest validation loss."""
        done = [outcome for outcome in self.outcomes if outcome.seed in self.probabilities]
        ranks = {each.seed: (each.validation_accuracy or 0.0, -(each.validation_loss or 0.0)) for each in done}
        return max(ranks, key=lambda seed: ranks[seed], default=None)

    def add(self, outcomes: Sequence[SeedOutcome], folds: Sequence[Split]) -> SeedOutcome:
        """Add a finished seed, one outcome for each fold, and return the first, with the seconds of all.

        The outcome comes last, so that Ctrl-C leaves none without its probabilities. A seed fails if a fold does.
        """
        seconds = sum(outcome.seconds for outcome in outcomes)
        first = replace(next((each for each in outcomes if each.failure), outcomes[0]), seconds=seconds)
        outputs = [outcome.probabilities for outcome in outcomes if outcome.probabilities is not None]
        if len(outputs) == len(folds):
            self.weights[first.seed] = [outcome.weights for outcome in outcomes if outcome.weights is not None]
            mean = outputs[0]
            if len(outputs) > 1:  # a node that validates in a fold gets the output of that fold
                mean = sum(outputs) / np.float32(len(outputs))  # type: ignore[assignment]
                for output, fold in zip(outputs, folds, strict=True):
                    mean[fold.validation] = output[fold.validation]
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
        histories = [outcome.history for outcome in self.outcomes]
        frames = [pd.DataFrame(rows, range(1, len(rows) + 1), list(HISTORY)) for rows in histories]
        return pd.concat(frames, keys=self.seeds, names=["seed", "epoch"]).reset_index()


def train_seeds(
    trainer: Trainer,
    folds: Sequence[Split],
    settings: Settings,
    seeds: Sequence[int],
    emit: OnFitEvent,
    workers: int = 1,
    on_epoch: OnEpoch | None = None,
    into: SeedResults | None = None,
) -> SeedResults:
    """Train every seed; raise an error if none gives a model. Ctrl-C keeps the seeds that are finished, if any.

    Args:
        folds: the split, or those of cross-validation, see `fold_splits`.
        on_epoch: called instead of `emit` after each epoch.
        into: results of earlier seeds, which are added to.
    """
    if trainer.sees_whole(settings):
        trainer.prepare(settings, folds[0])
    results = into or SeedResults()
    began = time.perf_counter()
    runs = [(fold, seed) for seed in seeds for fold in folds]
    trained: list[SeedOutcome] = []  # folds of the seed at hand
    try:
        for outcome in trainer.train(settings, runs, on_epoch or emit, workers):
            trained.append(outcome)
            if len(trained) == len(folds):
                emit(SeedDone(results.add(trained, folds)))
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
