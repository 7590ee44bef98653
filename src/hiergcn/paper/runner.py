"""Does what is missing: hands units to worker processes until all are done, time is up or Ctrl-C is pressed."""

import os
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import torch

from hiergcn.paper.claims import Claims
from hiergcn.paper.identity import Job
from hiergcn.paper.store import Record, Store
from hiergcn.paper.units import SIDE_BY_SIDE, Unit, units_of
from hiergcn.paper.worker import serve

POLL = 1.0
"""Seconds between two looks at jobs that another runner has in hand."""


class RunListener:
    """Told what happens. Does nothing by itself; the shell draws its progress from it."""

    def began(self, jobs: int, units: Sequence[Unit]) -> None: ...
    def job_done(self, unit: Unit, record: Record) -> None: ...
    def unit_failed(self, unit: Unit, reason: str) -> None: ...
    def waiting(self, jobs: int) -> None: ...


@dataclass(frozen=True)
class Hands:
    """Who does the work."""

    workers: int = 1
    """Processes on the CPU, one thread each."""
    device: str = "cpu"
    """cpu, or cuda."""
    gpu_workers: int = 1
    """Processes on the GPU, where the device is cuda; more than one want NVIDIA's MPS to share it well."""
    side_by_side: int = SIDE_BY_SIDE


@dataclass
class RunSummary:
    """What a run did."""

    jobs: int
    done_before: int = 0
    done: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    """Reasons by the kind of unit that gave nothing: a package that is not there, memory that ran out."""
    interrupted: bool = False
    out_of_time: bool = False
    seconds: float = 0.0


def run_jobs(
    jobs: Sequence[Job],
    store: Store,
    hands: Hands,
    *,
    listener: RunListener | None = None,
    budget_seconds: float | None = None,
) -> RunSummary:
    """Do the jobs that the store does not have. Ctrl-C keeps what is finished.

    Args:
        jobs: in the order in which they are worth doing.
        store: where results are and go; other runners may use it at the same time.
        hands: processes and device.
        listener: told of the progress.
        budget_seconds: no unit is begun after that many seconds.
    """
    began = time.monotonic()
    listener = listener or RunListener()
    store.make()
    Claims(store.folder).sweep()
    have = store.done()
    missing = [job for job in jobs if job.id not in have]
    summary = RunSummary(len(jobs), done_before=len(jobs) - len(missing))
    deadline = None if budget_seconds is None else began + budget_seconds
    units = units_of(missing, torch.device(hands.device), hands.side_by_side)
    listener.began(len(jobs), units)
    if units:
        _Crew(store, hands, listener, summary, deadline).work(units)
    Claims(store.folder).sweep()
    summary.seconds = time.monotonic() - began
    return summary


class _Worker:
    """A worker process and the unit that it is at."""

    def __init__(self, store: Store, device: str) -> None:
        context = get_context("spawn")
        self.device = device
        self.unit: Unit | None = None
        self.connection: Connection
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(
            target=serve, args=(theirs, store.folder, device, os.getpid()), daemon=True
        )
        self.process.start()
        theirs.close()

    def give(self, unit: Unit) -> None:
        self.unit = unit
        self.connection.send(unit)

    def end(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.join()


class _Crew:
    """The workers of a run, and the units that wait for them."""

    def __init__(
        self, store: Store, hands: Hands, listener: RunListener, summary: RunSummary, deadline: float | None
    ) -> None:
        self.store, self.hands, self.listener, self.summary, self.deadline = store, hands, listener, summary, deadline
        self.workers: list[_Worker] = []

    def work(self, units: Sequence[Unit]) -> None:
        try:
            self._rounds([unit for unit in units if not unit.alone])
            self._end_all()  # timings want the machine for themselves
            self._rounds([unit for unit in units if unit.alone], hands=Hands(1))
        except KeyboardInterrupt:
            self.summary.interrupted = True
        finally:
            self._end_all()

    def _rounds(self, units: Sequence[Unit], hands: Hands | None = None) -> None:
        """Do the units; then, as long as other runners have some of them in hand, look whether they finish."""
        left = list(units)
        while left and not self._late():
            failed = self._round(left, hands or self.hands)
            done = self.store.done()
            left = [unit for unit in left if unit.id not in failed and any(job.id not in done for job in unit.jobs)]
            if left and not self._late():
                self.listener.waiting(sum(job.id not in done for unit in left for job in unit.jobs))
                time.sleep(POLL)
        self.summary.out_of_time |= bool(left)

    def _round(self, units: Sequence[Unit], hands: Hands) -> set[str]:
        """Give every unit to a worker once; the ids of those that failed."""
        for_gpu = deque(unit for unit in units if unit.on_gpu)
        for_cpu = deque(unit for unit in units if not unit.on_gpu)
        failed: set[str] = set()
        self._hire(hands, len(for_gpu), len(for_cpu))
        while True:
            for worker in list(self.workers):
                queue = for_gpu if worker.device != "cpu" and for_gpu else for_cpu
                if worker.unit is None and queue and not self._late():
                    self._give(worker, queue.popleft())
            busy = {worker.connection: worker for worker in self.workers if worker.unit is not None}
            if not busy:
                return failed
            for connection in wait(list(busy)):
                assert isinstance(connection, Connection)
                self._hear(busy[connection], failed)

    def _hire(self, hands: Hands, gpu_units: int, cpu_units: int) -> None:
        """As many as there is work for; those that are there stay."""
        for_gpu = gpu_units if hands.workers else gpu_units + cpu_units
        on_gpu = hands.device != "cpu"
        wanted = {hands.device: min(hands.gpu_workers, for_gpu)} if on_gpu else {}
        wanted["cpu"] = min(hands.workers, cpu_units)
        for device, count in wanted.items():
            here = sum(worker.device == device for worker in self.workers)
            self.workers += [_Worker(self.store, device) for _ in range(count - here)]

    def _give(self, worker: _Worker, unit: Unit) -> None:
        try:
            worker.give(unit)
        except OSError:  # it died while idle: what comes from its connection says so
            worker.unit = unit

    def _hear(self, worker: _Worker, failed: set[str]) -> None:
        unit = worker.unit
        assert unit is not None
        try:
            kind, content = worker.connection.recv()
        except (EOFError, OSError):
            worker.process.join()
            kind, content = "failed", f"its process ended with code {worker.process.exitcode}"
            self.workers[self.workers.index(worker)] = _Worker(self.store, worker.device)
            worker.connection.close()
        if kind == "done":
            self.summary.done += 1
            self.listener.job_done(unit, content)
            return
        worker.unit = None
        if kind == "failed":
            failed.add(unit.id)
            self.summary.failures.setdefault(unit.what, content)
            self.listener.unit_failed(unit, content)

    def _late(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def _end_all(self) -> None:
        while self.workers:
            self.workers.pop().end()
