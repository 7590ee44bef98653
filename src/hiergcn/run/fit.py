"""From a graph to a result: coarsen once, train every seed, then look at the test labels."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd
import torch

from hiergcn.coarsen import Hierarchy, coarsen
from hiergcn.errors import HierGCNError, InputError
from hiergcn.evaluate.calibration import Temperature, fit_temperature
from hiergcn.evaluate.metrics import evaluate_model, evaluate_part, evaluate_test
from hiergcn.explain.votes import MOST_EDGES, Votes, votes
from hiergcn.graph import Graph, Split
from hiergcn.graph.structure import with_structural_features
from hiergcn.graph.task import Task
from hiergcn.model.method import Method, Prepared, Weights
from hiergcn.model.registry import build_method
from hiergcn.run.device import choose_device
from hiergcn.run.memory import available_memory, require_memory
from hiergcn.run.memory_plan import coarsening_memory, planned_to_fit
from hiergcn.run.processes import train_in_processes
from hiergcn.run.result import RunResult, SeedSummary
from hiergcn.run.settings import Settings
from hiergcn.train.batches import Batches
from hiergcn.train.loop import SeedOutcome
from hiergcn.train.runs import train_runs
from hiergcn.train.selection import HISTORY

BATCH_LEVELS = 4
"""Of the hierarchy that batches are cut along, for methods that use none."""


_WORTH_PROCESSES = 20.0  # seconds of training that are left; a process takes seconds to begin


class Listener:
    """Told what happens during a run. Does nothing by itself; the shell draws its progress from it."""

    def coarsened(self, hierarchy: Hierarchy, seconds: float) -> None: ...
    def planned(self, memory: int, available: int | None) -> None: ...
    def epoch_done(self, seed: int, epoch: int, best_validation_accuracy: float) -> None: ...
    def seed_finished(self, outcome: SeedOutcome) -> None: ...


class AllSeedsFailedError(HierGCNError):
    """No seed gave a model."""


def fit(
    graph: Graph,
    split: Split,
    settings: Settings,
    seeds: Sequence[int] = (0,),
    *,
    device: str = "auto",
    hierarchy: Hierarchy | None = None,
    listener: Listener | None = None,
    claim: float | None = None,
    notes: Sequence[str] = (),
    workers: int = 1,
) -> RunResult:
    """Train a model for each seed and evaluate them all. `notes` are kept beside those that are made here.

    On a CPU, `workers` processes share the seeds after the first if these would take long: a script that asks for more
    than one must be importable, with what it does under `if __name__ == "__main__"`.

    Ctrl-C ends the run early with the seeds that are finished; where there are none it is raised again.
    """
    listener = listener or Listener()
    require_memory(  # of what is kept of a seed: before anything is made for each of them
        len(seeds) * (4 * graph.n_nodes + 8 * len(HISTORY) * settings.train.epochs),
        what=f"{len(seeds):,} seeds of {graph.n_nodes:,} predictions each",
        remedy="give fewer seeds",
    )
    seeds = _checked_seeds(seeds)
    graph = with_structural_features(graph)
    task = Task.of(graph, split)
    where = choose_device(device)
    method = build_method(settings.method, settings.model)
    coarsen_seconds = 0.0
    if method.uses_hierarchy and hierarchy is None:
        require_memory(
            coarsening_memory(graph, settings.model.levels),
            what=f"{settings.model.levels} coarser levels of {graph.n_edges:,} edges",
            remedy="take fewer levels",
        )
        began = time.perf_counter()
        hierarchy = coarsen(graph.adjacency, settings.model.levels, settings.coarsen)
        coarsen_seconds = time.perf_counter() - began
    if hierarchy is not None:
        listener.coarsened(hierarchy, coarsen_seconds)
    plan = planned_to_fit(graph, settings, hierarchy, where)
    listener.planned(plan.on_device, available_memory(where))
    prepared = method.prepare(task, hierarchy, where)
    batches = None
    if settings.train.batches > 1:
        cut = hierarchy or coarsen(graph.adjacency, BATCH_LEVELS, settings.coarsen)
        batches = Batches(method, prepared, task, cut, settings.train.batches, where, plan.looks_at_whole)
    kept = _Kept()
    interrupted = False
    began = time.perf_counter()
    try:
        train = partial(train_runs, method, prepared, config=settings.train, device=where, batches=batches)
        several = workers if where.type == "cpu" and batches is None else 1
        share = partial(train_in_processes, settings, task, hierarchy, workers=several)
        for outcome in _outcomes(task, seeds, train, share if several > 1 else None, listener.epoch_done):
            kept.add(outcome)
            listener.seed_finished(outcome)
    except KeyboardInterrupt:
        if kept.best is None:
            raise
        interrupted = True
    train_seconds = time.perf_counter() - began
    if kept.best is None or kept.best.probabilities is None or kept.best.weights is None:
        raise AllSeedsFailedError(
            f"Every seed failed, the first one because it {kept.summaries[0].failure}; try a lower learning_rate."
        )
    epochs = sum(len(frame) for frame in kept.history)
    done = [summary.seed for summary in kept.summaries]
    probabilities = kept.best.probabilities
    temperature = fit_temperature(probabilities[split.validation], task.validation_labels)
    return RunResult(
        settings=settings,
        graph=graph,
        split=split,
        hierarchy=hierarchy,
        outcomes=tuple(kept.summaries),
        validation=evaluate_part(graph, split.validation, kept.predicted, done),
        test=evaluate_test(graph, split, kept.predicted, done),
        kept=evaluate_model(graph, split, probabilities, temperature),
        selected_seed=kept.best.seed,
        probabilities=probabilities,
        weights=kept.best.weights,
        history=pd.concat(kept.history, ignore_index=True),
        seconds={"coarsen": coarsen_seconds, "train": train_seconds, "epoch": train_seconds / max(epochs, 1)},
        device=str(where),
        notes=(*_notes(settings, hierarchy, temperature), *notes, *graph.notes),
        interrupted=interrupted,
        claim=claim,
        votes=_votes(method, prepared, task, kept.best.weights, probabilities, where),
    )


def _outcomes(
    task: Task,
    seeds: Sequence[int],
    train: Callable[..., Iterator[SeedOutcome]],
    share: Callable[..., Iterator[SeedOutcome]] | None,
    on_epoch: Callable[[int, int, float], None],
) -> Iterator[SeedOutcome]:
    """The seeds in this process, or those after the first shared among others if the first was slow enough."""
    if share is None:
        yield from train(runs=[(task, seed) for seed in seeds], on_epoch=on_epoch)
        return
    (first,) = train(runs=[(task, seeds[0])], on_epoch=on_epoch)
    yield first
    rest = seeds[1:]
    if len(rest) > 1 and first.seconds * len(rest) > _WORTH_PROCESSES:
        yield from share(seeds=rest, on_epoch=on_epoch)
    else:
        yield from train(runs=[(task, seed) for seed in rest], on_epoch=on_epoch)


def _votes(
    method: Method, prepared: Prepared, task: Task, weights: Weights, probabilities: np.ndarray, where: torch.device
) -> Votes | None:
    if task.adjacency.nnz > 2 * MOST_EDGES:
        return None
    with where:
        model = method.build(prepared, task.n_classes, torch.Generator(where)).to(where)
    model.load_state_dict(weights)
    return votes(model, prepared.features, probabilities.argmax(axis=1))


class _Kept:
    """What stays of the seeds: every one's figures and predicted classes, the whole of the best alone."""

    def __init__(self) -> None:
        self.summaries: list[SeedSummary] = []
        self.predicted: dict[int, np.ndarray] = {}
        self.history: list[pd.DataFrame] = []
        self.best: SeedOutcome | None = None

    def add(self, outcome: SeedOutcome) -> None:
        """The summary goes in after its arrays, so that Ctrl-C at any moment leaves no seed without them."""
        frame = pd.DataFrame(outcome.history, columns=list(HISTORY))
        frame.insert(0, "epoch", np.arange(1, len(frame) + 1))
        frame.insert(0, "seed", outcome.seed)
        self.history.append(frame)
        if outcome.probabilities is not None:
            self.predicted[outcome.seed] = outcome.probabilities.argmax(axis=1).astype(np.int32)
        failed = outcome.failure is not None
        self.summaries.append(
            SeedSummary(
                seed=outcome.seed,
                validation_accuracy=None if failed else outcome.validation_accuracy,
                validation_loss=None if failed else outcome.validation_loss,
                best_epoch=outcome.best_epoch,
                seconds=outcome.seconds,
                failure=outcome.failure,
            )
        )
        if outcome.probabilities is not None and (self.best is None or _rank(outcome) > _rank(self.best)):
            self.best = outcome


def _rank(outcome: SeedOutcome) -> tuple[float, float]:
    return outcome.validation_accuracy, -outcome.validation_loss


def _checked_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    if len(seeds) == 0:
        raise InputError("There are no seeds to run; give at least one.")
    if len(set(seeds)) != len(seeds):
        raise InputError("A seed is given twice; each may be run once.")
    return tuple(int(seed) for seed in seeds)


def _notes(settings: Settings, hierarchy: Hierarchy | None, temperature: Temperature) -> list[str]:
    notes = [] if temperature.note is None else [temperature.note]
    if hierarchy is not None and hierarchy.depth < settings.model.levels:
        notes.append(
            f"The graph can be coarsened {hierarchy.depth} times, not the {settings.model.levels} that were asked for; "
            f"the network has {2 * hierarchy.depth + 1} layers."
        )
    return notes
