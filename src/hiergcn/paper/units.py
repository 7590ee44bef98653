"""From experiments to jobs, and from jobs to units: what one process does in one go."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import torch

from hiergcn.paper.experiment import Experiment
from hiergcn.paper.identity import Job, MeasureJob, TrainJob, measuring_code, training_code
from hiergcn.paper.work import dataset_of, digest_of, replicates

SIDE_BY_SIDE = 50
"""Most runs trained at once on a GPU."""
IN_TURN = 2
"""Runs of a unit where they are trained one after the other: few, so that all processes end at about the same time."""
LARGE = 10_000
"""Nodes of a graph from which on a GPU is worth it even for one run at a time."""


@dataclass(frozen=True)
class Unit:
    """Jobs that belong together: trainings of one dataset, settings and numbers of labelled nodes; or a measurement."""

    jobs: tuple[Job, ...]
    on_gpu: bool = False
    alone: bool = False

    @property
    def id(self) -> str:
        return self.jobs[0].id

    @property
    def what(self) -> str:
        """Which units take about as long."""
        first = self.jobs[0]
        return first.name if isinstance(first, MeasureJob) else f"{first.settings.method} {first.dataset}"


def jobs_of(
    experiments: Sequence[Experiment],
    methods: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
) -> list[Job]:
    """Every job of the experiments, once, in their order; of some methods or datasets alone where they are named."""
    found: dict[str, Job] = {}
    for experiment in experiments:
        for cell in experiment.cells():
            if (methods and cell.settings.method not in methods) or (datasets and cell.dataset not in datasets):
                continue
            data, code = digest_of(cell.dataset), training_code(cell.settings.method)
            for split, seed in cell.runs:
                job = TrainJob(cell.dataset, data, cell.settings, split, seed, code)
                found.setdefault(job.id, job)
        for one in experiment.measurements if not methods else ():
            about = one.arguments.get("dataset")
            if datasets and about not in datasets:
                continue
            digest = None if about is None else digest_of(about)
            measure = MeasureJob(one.name, one.arguments, digest, measuring_code(one.name), one.alone)
            found.setdefault(measure.id, measure)
    return list(found.values())


def units_of(jobs: Iterable[Job], device: torch.device, side_by_side: int = SIDE_BY_SIDE) -> list[Unit]:
    """The jobs in units: the first unit of each group in the order of the jobs, then the second ones, and so on.

    So a run that ends early has some runs of every figure rather than all of some.
    """
    groups: dict[object, list[Job]] = {}
    for job in jobs:
        groups.setdefault(_shared(job), []).append(job)
    by_group = [_group_units(group, device, side_by_side) for group in groups.values()]
    return [unit for turn in zip_longest(*by_group) for unit in turn if unit is not None]


def _group_units(group: list[Job], device: torch.device, side_by_side: int) -> list[Unit]:
    first = group[0]
    if isinstance(first, MeasureJob):
        return [Unit((job,), alone=first.alone) for job in group]
    together = replicates(first.settings, device)
    size = side_by_side if together else IN_TURN
    on_gpu = device.type == "cuda" and (together or dataset_of(first.dataset).graph.n_nodes >= LARGE)
    return [Unit(tuple(group[at : at + size]), on_gpu) for at in range(0, len(group), size)]


def _shared(job: Job) -> object:
    if isinstance(job, MeasureJob):
        return job.id
    split = job.split
    return job.dataset, job.settings, split.kind, split.per_class, split.small_validation
