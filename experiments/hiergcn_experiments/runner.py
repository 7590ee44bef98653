"""Run the jobs that the store does not have yet, in worker processes or on other machines."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from itertools import chain, zip_longest
from time import perf_counter
from typing import Any, NamedTuple

import torch

from hiergcn import Split
from hiergcn.datasets import Dataset, load_dataset
from hiergcn.research import (
    Engine,
    Pool,
    Reply,
    Request,
    Send,
    Settings,
    SplitSpec,
    Trainer,
    Work,
    build_method,
    evaluate_test,
    result_key,
    unit_request,
)
from hiergcn_experiments.experiment import Experiment, Job, Measurement, Training
from hiergcn_experiments.results import Results
from hiergcn_experiments.store import Record, Store, data_digest, identity, made_here
from hiergcn_experiments.studies import measures

SIDE_BY_SIDE = 50
"""Most runs trained at once on a GPU."""
IN_TURN = 2
"""Runs per unit if they are trained one after the other: few, so that all workers end at about the same time."""
LARGE = 10_000
"""Nodes from which on a GPU pays off even for one run at a time."""


def jobs_of(experiments: Iterable[Experiment], methods: Sequence[str] = (), datasets: Sequence[str] = ()) -> list[Job]:
    """Return every job of the experiments once, in order; only those of some methods and datasets if any are named."""
    found: dict[str, Job] = {}
    for job in (job for experiment in experiments for job in experiment.jobs()):
        method = job.settings.method if isinstance(job, Training) else None
        if (not methods or method in methods) and (not datasets or job.dataset in datasets):
            found.setdefault(identity(job.key()), job)
    return list(found.values())


@dataclass(frozen=True)
class Unit:
    """Jobs that one worker does together: trainings that differ in split and seed alone, or one measurement."""

    jobs: tuple[Job, ...]
    on_gpu: bool = False
    alone: bool = False
    shares_gpu: bool = False
    """Several workers may do such units on the GPU at the same time."""

    @property
    def about(self) -> str:
        return self.jobs[0].about


def units_of(jobs: Iterable[Job], device: torch.device) -> list[Unit]:
    """Group the jobs into units, in turn one of each group of alike jobs.

    A run that ends early thus has some runs of every figure rather than all runs of some figures.
    """
    groups: dict[Any, list[Job]] = {}
    for job in jobs:
        alike: Any = identity(job.key())
        if isinstance(job, Training):
            alike = job.dataset, job.settings, replace(job.split, number=0)
        groups.setdefault(alike, []).append(job)
    gpu = device.type == "cuda"
    by_group: list[list[Unit]] = []
    for group in groups.values():
        first = group[0]
        if isinstance(first, Measurement):
            on_gpu = first.on_device and gpu
            by_group.append([Unit((job,), on_gpu, first.alone, shares_gpu=on_gpu) for job in group])
            continue
        together = gpu and build_method(first.settings.method, first.settings.model).replicates
        size = SIDE_BY_SIDE if together else IN_TURN
        on_gpu = gpu and (together or dataset_of(first.dataset).graph.n_nodes >= LARGE)
        by_group.append([Unit(tuple(group[at : at + size]), on_gpu) for at in range(0, len(group), size)])
    return [unit for turn in zip_longest(*by_group) for unit in turn if unit is not None]


_SENT: dict[str, Dataset] = {}  # in a worker of another machine, which may not have the files


@cache
def dataset_of(name: str) -> Dataset:
    return _SENT.get(name) or load_dataset(name)


@cache
def digest_of(name: str | None) -> str | None:
    return None if name is None else data_digest(dataset_of(name))


# In a worker


def _make_work(device: str, datasets: dict[str, Dataset]) -> Work:
    """Prepare a worker; return the function that does a unit, sends each result and returns all.

    A worker of another machine gets the datasets with its work. Only some units use the device.
    """
    _SENT.update(datasets)
    torch.set_num_threads(1)

    def work(send: Send, unit: Unit) -> list[Record]:
        where = device if unit.on_gpu else "cpu"
        trainings = [job for job in unit.jobs if isinstance(job, Training)]
        measurements = (measured(job, where) for job in unit.jobs if isinstance(job, Measurement))
        records = []
        torch.set_flush_denormal(True)  # a confident softmax is full of denormals, and each costs a hundred cycles
        try:
            for record in chain(measurements, _trained(trainings, where)):
                send(record)
                records.append(record)
        finally:
            torch.set_flush_denormal(False)  # this may be the process of a caller who needs them
        return records

    return work


def _trained(jobs: Sequence[Training], device: str) -> Iterator[Record]:
    """Train runs that share dataset and settings, and evaluate each on its test nodes."""
    if not jobs:
        return
    name, settings = jobs[0].dataset, jobs[0].settings
    data, trainer = dataset_of(name), _trainer(name, device)
    splits = {job.split: _split(name, job.split) for job in jobs}
    outcomes = trainer.train(settings, [(splits[job.split], job.seed) for job in jobs])
    for job, outcome in zip(jobs, outcomes, strict=True):
        hierarchy = trainer.hierarchy(settings)
        depth = None  # levels of the network, which may be fewer than requested; None without a hierarchy
        if hierarchy is not None:
            depth = int(hierarchy.depth if getattr(settings.model, "coarsening", True) else settings.model.levels)
        outputs = {} if outcome.probabilities is None else {job.seed: outcome.probabilities}
        report = evaluate_test(data.graph, splits[job.split], outputs, [job.seed])
        assert report is not None
        result = {
            **{result_key(metric): summary.per_seed[0] for metric, summary in report.items()},
            "validation_accuracy": None if outcome.probabilities is None else outcome.validation_accuracy,
            "best_epoch": outcome.best_epoch,
            "epochs": len(outcome.history),
            "failure": outcome.failure,
            "depth": depth,
        }
        yield Record(job.key(), digest_of(name), result, made_here(outcome.seconds, device))


@cache
def _split(dataset: str, spec: SplitSpec) -> Split:
    """Return a split, always the same value, for which a trainer makes columns of labels once."""
    data = dataset_of(dataset)
    return spec.split(data.graph, data.split)


@lru_cache(maxsize=1)  # another dataset frees the memory of the last one
def _trainer(dataset: str, device: str) -> Trainer:
    return Trainer(dataset_of(dataset).graph, torch.device(device))


def measured(job: Measurement, device: str = "cpu") -> Record:
    began = perf_counter()
    where = {"device": device} if job.on_device else {}
    result = measures()[job.name](**job.arguments, **where)
    return Record(
        job.key(), digest_of(job.dataset), result, made_here(perf_counter() - began, where.get("device", "cpu"))
    )


# In the calling process


class Started(NamedTuple):
    """All jobs, and the units of those that are not in the store."""

    jobs: int
    units: list[Unit]


class JobDone(NamedTuple):
    unit: Unit
    record: Record


class UnitFailed(NamedTuple):
    unit: Unit
    reason: str


OnEvent = Callable[[Started | JobDone | UnitFailed], None]


@dataclass
class RunSummary:
    """What a run did."""

    jobs: int
    done_before: int = 0
    done: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    """Reasons by the kind of unit that gave no result: a missing package, too little memory."""
    interrupted: bool = False
    out_of_time: bool = False
    seconds: float = 0.0


def run_jobs(
    jobs: Sequence[Job],
    store: Store,
    *,
    workers: int = 1,
    device: str = "cpu",
    again: bool = False,
    on_event: OnEvent = lambda _: None,
    budget_seconds: float = math.inf,
    gpu_workers: int = 1,
    engine: Engine | None = None,
) -> RunSummary:
    """Do the jobs that the store does not have. Ctrl-C keeps finished runs.

    Args:
        jobs: in the order of their importance.
        store: holds earlier results and gets the new ones.
        workers: processes on the CPU, one thread each; as many on the GPU for units that share it.
        device: `cpu` or `cuda`; on `cuda` further processes use the GPU.
        again: do all jobs, also those that the store has.
        on_event: called as runs finish or fail.
        budget_seconds: no unit is started after this time.
        gpu_workers: processes that train on the GPU.
        engine: does the units on other machines, but for those that need an idle one.
    """
    began = time.monotonic()
    store.make()
    have = Results([] if again else store.records())
    missing = [job for job in jobs if not _is_done(job, have.find(job))]
    summary = RunSummary(len(jobs), done_before=len(jobs) - len(missing))
    units = units_of(missing, torch.device(device))
    on_event(Started(len(jobs), units))
    run = _Run(store, on_event, summary, began + budget_seconds)
    among = [unit for unit in units if not unit.alone]
    try:
        if engine is not None:
            names = {job.dataset for unit in among for job in unit.jobs if isinstance(job, Training)}
            pool = engine.pool(_make_work, device, {name: dataset_of(name) for name in names})
            run.do(pool, among, lambda _: pool.slots, partial(_request, device=device))
        else:
            cpus, sharing = max(workers, 1), [unit for unit in among if unit.shares_gpu]
            places = {True: gpu_workers, False: cpus}
            run.do(Pool(_make_work, device, {}), [unit for unit in among if not unit.shares_gpu], places.__getitem__)
            run.do(Pool(_make_work, device, {}), sharing, lambda _: cpus)
        alone = [unit for unit in units if unit.alone]  # seconds are measured on an idle machine
        run.do(Pool(_make_work, "cpu", {}), alone, lambda _: 1)
    except KeyboardInterrupt:
        summary.interrupted = True
    summary.seconds = time.monotonic() - began
    return summary


def _is_done(job: Job, record: Record | None) -> bool:
    """Return whether a job has a result on the same data; a measurement that failed is tried again."""
    failed = isinstance(job, Measurement) and record is not None and record.result.get("failure")
    return record is not None and record.data == digest_of(job.dataset) and not failed


def _request(unit: Unit, device: str) -> Request:
    """Return what a unit needs of another machine; of a measurement nothing is known but whether it uses a GPU."""
    first = unit.jobs[0]
    if isinstance(first, Training):
        return _training_request(first.dataset, first.settings, device if unit.on_gpu else "cpu")
    return Request(gpus=int(unit.on_gpu))


@cache
def _training_request(dataset: str, settings: Settings, device: str) -> Request:
    return unit_request(dataset_of(dataset).graph, settings, None, device)


@dataclass
class _Run:
    """Shares units among workers."""

    store: Store
    on_event: OnEvent
    summary: RunSummary
    deadline: float
    written: set[str] = field(default_factory=set)
    """Ids of the results so far: a unit that was started again sends some of them again."""

    def do(
        self,
        pool: Pool,
        units: Sequence[Unit],
        places: Callable[[bool], int],
        request: Callable[[Unit], Request] = lambda unit: Request(gpus=int(unit.on_gpu)),
    ) -> None:
        """Give every unit to a worker; `places` says how many may use the GPU at once, and how many may not."""
        queues = {on_gpu: deque(unit for unit in units if unit.on_gpu is on_gpu) for on_gpu in (True, False)}
        busy = {True: 0, False: 0}
        with pool:
            while True:
                for on_gpu, queue in queues.items():
                    while queue and busy[on_gpu] < places(on_gpu) and time.monotonic() < self.deadline:
                        unit = queue.popleft()
                        pool.start(unit, unit, request(unit))
                        busy[on_gpu] += 1
                if not any(busy.values()):
                    break
                for unit, reply in pool.wait():
                    busy[unit.on_gpu] -= reply.kind != "message"
                    self._handle(unit, reply)
        self.summary.out_of_time |= any(queues.values())

    def _handle(self, unit: Unit, reply: Reply) -> None:
        """Write the results of a reply to the store, or report that there are none."""
        if reply.kind in ("failure", "death"):
            self.summary.failures.setdefault(unit.about, reply.content)
            self.on_event(UnitFailed(unit, reply.content))
            return
        for record in [reply.content] if reply.kind == "message" else reply.content:
            if record.id not in self.written:
                self.store.write(record)
                self.written.add(record.id)
                self.summary.done += 1
                self.on_event(JobDone(unit, record))
