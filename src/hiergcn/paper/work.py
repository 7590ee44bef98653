"""The work of a job: train and evaluate, or measure, then write the result."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from time import perf_counter
from typing import Any

import torch

from hiergcn.coarsen import CoarsenConfig, Hierarchy, coarsen
from hiergcn.datasets import Dataset, load_dataset
from hiergcn.evaluate.metrics import evaluate_test, result_key
from hiergcn.graph.task import Task
from hiergcn.model.method import Method, Prepared
from hiergcn.model.registry import build_method
from hiergcn.paper.claims import Claims
from hiergcn.paper.identity import Job, MeasureJob, TrainJob, data_digest
from hiergcn.paper.store import Record, Store, made_here
from hiergcn.run.settings import Settings
from hiergcn.train.loop import SeedOutcome
from hiergcn.train.runs import train_runs

Told = Callable[[Record], None]


@cache
def dataset_of(name: str) -> Dataset:
    """Read once in a process; its content decides the identity of jobs."""
    return load_dataset(name)


@cache
def digest_of(name: str) -> str:
    return data_digest(dataset_of(name))


class Workshop:
    """Does jobs on one device, and keeps what further jobs on the same graph can use again."""

    def __init__(self, store: Store, device: torch.device) -> None:
        self.store, self.claims, self.device = store, Claims(store.folder), device
        self.hierarchies: dict[tuple[str, CoarsenConfig], Hierarchy] = {}
        self.ready: tuple[tuple[str, Settings], tuple[Method, Prepared]] | None = None

    def do(self, jobs: Sequence[Job], told: Told, on_epoch: Callable[[], None]) -> None:
        """Do those of the jobs that are not done and that nobody else is at. `on_epoch` is called now and then.

        Trainings must share dataset, settings and numbers of labelled nodes: they may be trained side by side.
        """
        mine = [job for job in jobs if not self.store.has(job.id) and self.claims.take(job.id)]
        with self.claims.kept([job.id for job in mine]):
            # between the look at the store and the claim, its owner may have finished the job and let go of it
            mine = [job for job in mine if not self.store.has(job.id)]
            trainings = [job for job in mine if isinstance(job, TrainJob)]
            measurements = [job for job in mine if isinstance(job, MeasureJob)]
            for record in map(measured, measurements):
                self._keep(record, told)
            for record in self._trained(trainings, on_epoch):
                self._keep(record, told)

    def _keep(self, record: Record, told: Told) -> None:
        self.store.write(record)
        self.claims.release(record.id)
        told(record)

    def _trained(self, jobs: Sequence[TrainJob], on_epoch: Callable[[], None]) -> Iterator[Record]:
        if not jobs:
            return
        dataset, settings = dataset_of(jobs[0].dataset), jobs[0].settings
        graph = dataset.graph
        splits = [job.split.split(graph, dataset.split) for job in jobs]
        tasks = {job.split: Task.of(graph, split) for job, split in zip(jobs, splits, strict=True)}
        hierarchy = self._hierarchy(dataset, settings)
        method, prepared = self._prepared(dataset, settings, hierarchy, tasks[jobs[0].split])
        runs = [(tasks[job.split], job.seed) for job in jobs]
        outcomes = train_runs(method, prepared, runs, settings.train, self.device, lambda *_: on_epoch())
        together = len(jobs) if replicates(settings, self.device) else 1
        for job, split, outcome in zip(jobs, splits, outcomes, strict=True):
            report = evaluate_test(graph, split, _predicted(outcome), [outcome.seed])
            assert report is not None
            result = {
                **{result_key(name): summary.per_seed[0] for name, summary in report.items()},
                **_selected(outcome),
                "depth": None if hierarchy is None else _depth(hierarchy, settings),
            }
            yield Record(job.id, job.key(), result, made_here(outcome.seconds, str(self.device), together))

    def _hierarchy(self, dataset: Dataset, settings: Settings) -> Hierarchy | None:
        """One for all numbers of levels: going further down leaves the levels above as they are."""
        if not build_method(settings.method, settings.model).uses_hierarchy:
            return None
        key = (dataset.name, settings.coarsen)
        found = self.hierarchies.get(key)
        if found is None or found.requested < settings.model.levels:
            found = coarsen(dataset.graph.adjacency, settings.model.levels, settings.coarsen)
            self.hierarchies[key] = found
        return found

    def _prepared(
        self, dataset: Dataset, settings: Settings, hierarchy: Hierarchy | None, task: Task
    ) -> tuple[Method, Prepared]:
        key = (dataset.name, settings)
        if self.ready is None or self.ready[0] != key:
            self.ready = None  # its memory goes before more is taken
            method = build_method(settings.method, settings.model)
            self.ready = (key, (method, method.prepare(task, hierarchy, self.device)))
        return self.ready[1]


def replicates(settings: Settings, device: torch.device) -> bool:
    """Whether the runs of these settings are trained side by side."""
    method = build_method(settings.method, settings.model)
    return device.type == "cuda" and method.replicates


def measured(job: MeasureJob) -> Record:
    began = perf_counter()
    result = import_module(f"hiergcn.paper.measures.{job.name}").measure(**job.arguments)
    return Record(job.id, job.key(), result, made_here(perf_counter() - began, "cpu"))


def _predicted(outcome: SeedOutcome) -> dict[int, Any]:
    return {} if outcome.probabilities is None else {outcome.seed: outcome.probabilities.argmax(axis=1)}


def _selected(outcome: SeedOutcome) -> dict[str, Any]:
    """What is known of the epoch that was kept; a run that failed has none."""
    failed = outcome.failure is not None or outcome.best_epoch is None
    best = None if failed or outcome.best_epoch is None else outcome.history[outcome.best_epoch - 1]
    return {
        "validation_accuracy": None if best is None else float(best[3]),
        "train_accuracy": None if best is None else float(best[2]),
        "best_epoch": outcome.best_epoch,
        "epochs": len(outcome.history),
        "failure": outcome.failure,
    }


def _depth(hierarchy: Hierarchy, settings: Settings) -> int:
    """Levels that the network has, which may be fewer than were asked for."""
    if not settings.model.coarsening:
        return int(settings.model.levels)
    return int(min(hierarchy.depth, settings.model.levels))
