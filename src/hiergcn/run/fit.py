"""From a graph to a result: coarsen once, train every seed, then look at the test labels."""

import time
from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from hiergcn.coarsen import Hierarchy
from hiergcn.errors import HierGCNError, InputError
from hiergcn.evaluate.calibration import Temperature, fit_temperature
from hiergcn.evaluate.metrics import evaluate_model, evaluate_part, evaluate_test
from hiergcn.explain.votes import MOST_EDGES, Votes, votes
from hiergcn.graph import Graph, Split
from hiergcn.graph.task import Task
from hiergcn.model.method import Method, Prepared, Weights
from hiergcn.run.events import Coarsened, EpochDone, MemoryPlanned, OnFitEvent, SeedDone
from hiergcn.run.memory import available_memory, require_memory
from hiergcn.run.result import RunResult, SeedSummary
from hiergcn.run.settings import Settings
from hiergcn.run.trainer import Trainer
from hiergcn.train.loop import SeedOutcome
from hiergcn.train.selection import HISTORY


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
    on_event: OnFitEvent | None = None,
    claim: float | None = None,
    notes: Sequence[str] = (),
    workers: int = 1,
) -> RunResult:
    """Train a model for each seed and evaluate them all. `notes` are kept beside those that are made here.

    `on_event` gets every step: see `events`.

    On a CPU, `workers` processes share the seeds after the first if these would take long: a script that asks for more
    than one must be importable, with what it does under `if __name__ == "__main__"`.

    Ctrl-C ends the run early with the seeds that are finished; where there are none it is raised again.
    """
    emit = on_event or (lambda _: None)

    def on_epoch(seed: int, epoch: int, best: float) -> None:
        emit(EpochDone(seed, epoch, best))

    require_memory(  # of what is kept of a seed: before anything is made for each of them
        len(seeds) * (4 * graph.n_nodes + 8 * len(HISTORY) * settings.train.epochs),
        what=f"{len(seeds):,} seeds of {graph.n_nodes:,} predictions each",
        remedy="give fewer seeds",
    )
    seeds = _checked_seeds(seeds)
    trainer = Trainer(graph, device, hierarchy)
    graph, where = trainer.graph, trainer.device
    task = Task.of(graph, split)
    hierarchy = trainer.hierarchy(settings)
    if hierarchy is not None:
        emit(Coarsened(hierarchy, trainer.coarsen_seconds))
    emit(MemoryPlanned(trainer.plan(settings).on_device, available_memory(where)))
    method, prepared = trainer.prepared(settings, task)
    kept = _Kept()
    interrupted = False
    began = time.perf_counter()
    try:
        for outcome in trainer.train(settings, [(split, seed) for seed in seeds], on_epoch, workers):
            kept.add(outcome)
            emit(SeedDone(outcome))
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
        seconds={"coarsen": trainer.coarsen_seconds, "train": train_seconds, "epoch": train_seconds / max(epochs, 1)},
        device=str(where),
        notes=(*_notes(settings, hierarchy, temperature), *notes, *graph.notes),
        interrupted=interrupted,
        claim=claim,
        votes=_votes(method, prepared, task, kept.best.weights, probabilities, where),
    )


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
