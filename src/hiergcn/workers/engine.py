"""Engines run units of work: in this process, in worker processes, or on a Ray cluster.

A unit is a job of a `Work`: `make(*arguments)` is called once in each worker and returns the function that does jobs.
An engine opens pools of such workers. The code that has units to do is the same for all engines, and so are its
results.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.connection import wait
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

from hiergcn.errors import InputError
from hiergcn.workers.process import OnMessage, Reply, Work, Worker, do_job, is_result

RAY_ADDRESS = "RAY_ADDRESS"


class Request(NamedTuple):
    """Resources that a unit needs."""

    memory: int = 0
    """Bytes of host memory."""
    gpus: int = 0
    cpus: int = 1


class Pool(Protocol):
    """Workers for the jobs of one `Work`. A context manager: the workers end with it, busy or not."""

    @property
    def slots(self) -> int:
        """Number of jobs to have in the pool, so that no worker is idle."""

    def start(self, key: Any, job: Any, request: Request) -> None:
        """Submit a job; its replies carry the key."""

    def wait(self) -> list[tuple[Any, Reply]]:
        """Wait for replies. The last one of a job is a result, a failure or a death; messages may come before."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Engine(Protocol):
    """Opens pools of workers."""

    spreads: bool
    """Whether units should be small, because they go to many machines."""
    on_note: Callable[[str], None]
    """Called with sentences about the workers: missing resources, retries."""

    def status(self) -> str:
        """Describe how many machines there are and how many units run."""

    def pool(self, make: Callable[..., Work], *arguments: Any) -> AbstractContextManager[Pool]:
        """Open a pool; the arguments travel to each machine once."""

    def device(self, name: str) -> str:
        """Return the device of the units for a device that a user names; `auto` is a GPU if there is one."""

    def workers(self, request: Request) -> int:
        """Return how many units can be done at the same time."""


class Processes:
    """Worker processes of this machine; a single one is this process itself if `apart` is False."""

    spreads = False

    def __init__(self, count: int = 1, apart: bool = True) -> None:
        self.count, self.apart = count, apart
        self.on_note: Callable[[str], None] = lambda _: None

    def pool(self, make: Callable[..., Work], *arguments: Any) -> "ProcessPool | InlinePool":
        return ProcessPool(self.count, make, *arguments) if self.apart else InlinePool(make, *arguments)

    def device(self, name: str) -> str:
        return name

    def workers(self, request: Request) -> int:
        return self.count

    def status(self) -> str:
        return f"{self.count} processes"


class ProcessPool:
    """Worker processes that share jobs. They start when there is a job for them; one that dies is replaced."""

    def __init__(self, count: int, make: Callable[..., Work], *arguments: Any) -> None:
        self.slots = count
        self._new: Callable[[], Worker] = lambda: Worker(make, *arguments)
        self._staff: dict[Worker, Any] = {}  # with the key of the job that each is at

    def hire(self) -> None:
        """Start all workers now, so that they are ready when there are jobs."""
        self._staff |= {self._new(): None for _ in range(self.slots - len(self._staff))}

    def start(self, key: Any, job: Any, request: Request) -> None:
        worker = next((one for one in self._staff if one.job is None), None) or self._new()
        self._staff[worker] = key
        worker.start(job)

    def wait(self) -> list[tuple[Any, Reply]]:
        busy = {one.connection: one for one in self._staff if one.job is not None}
        ready = [busy[connection] for connection in wait(list(busy)) if connection in busy]
        replies = [(self._staff[worker], worker, worker.receive()) for worker in ready]
        for _, worker, reply in replies:
            if reply.kind == "death":
                del self._staff[worker]
                worker.end()
        return [(key, reply) for key, _, reply in replies]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._staff:
            worker.end()


class InlinePool:
    """Runs jobs in this process, one per call of `wait`."""

    slots = 1

    def __init__(self, make: Callable[..., Work], *arguments: Any) -> None:
        self._make: Callable[[], Work] = lambda: make(*arguments)
        self._work: Work | None = None
        self._jobs: list[tuple[Any, Any]] = []

    def start(self, key: Any, job: Any, request: Request) -> None:
        self._jobs.append((key, job))

    def wait(self) -> list[tuple[Any, Reply]]:
        (key, job), replies = self._jobs.pop(0), []
        work = self._work = self._work or self._make()
        last = do_job(lambda: work(lambda content: replies.append(Reply("message", content)), job))
        return [(key, reply) for reply in (*replies, last)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def replies(pool: Pool, jobs: Iterable[tuple[Any, Request]]) -> Iterator[tuple[int, Reply]]:
    """Keep a pool busy; yield every reply as it comes, with the number of its job.

    The next job is taken from the iterable when there is a place for it.
    """
    queue, busy = enumerate(jobs), 0
    while True:
        while busy < pool.slots and (following := next(queue, None)) is not None:
            number, (job, request) = following
            pool.start(number, job, request)
            busy += 1
        if not busy:
            return
        for number, reply in pool.wait():
            busy -= reply.kind != "message"
            yield number, reply


def results(
    pool: Pool,
    jobs: Iterable[tuple[Any, Request]],
    on_message: OnMessage | None = None,
    on_death: Callable[[int, str], Any] | None = None,
) -> Iterator[Any]:
    """Yield the results in the order of the jobs.

    A failure is raised as a `WorkFailedError`. So is a lost worker, unless `on_death` gives a result in its place.
    """
    done: dict[int, Any] = {}
    due = 0
    for number, reply in replies(pool, jobs):
        if reply.kind == "death" and on_death:
            done[number] = on_death(number, reply.content.removeprefix("It ").rstrip("."))
        elif is_result(reply, on_message):
            done[number] = reply.content
        while due in done:
            yield done.pop(due)
            due += 1


@contextmanager
def open_engine(
    name: str | None, workers: int | None = None, on_note: Callable[[str], None] = warnings.warn
) -> Iterator[Engine | None]:
    """Open the engine that a user names: None or `local` for this machine, `ray`, or `ray://HOST:PORT`.

    `ray` is the cluster that RAY_ADDRESS names, or the one that `ray start` has made this machine a node of, or else
    one that is started here, with a note, and ends with the context. If no engine is named and RAY_ADDRESS is set, it
    is `ray`. The engine of this machine is None, because each command has its own use of processes.

    Args:
        workers: CPUs of a cluster that is started here; by default all.
        on_note: gets sentences about the engine.
    """
    name = name or ("ray" if os.environ.get(RAY_ADDRESS) else "local")
    if name == "local":
        yield None
        return
    if name != "ray" and not name.startswith("ray://"):
        raise InputError(f"There is no engine named {name!r}; give local, ray or ray://HOST:PORT.")
    from hiergcn.workers.ray_engine import RayEngine

    with RayEngine(None if name == "ray" else name, workers, on_note) as engine:
        yield engine
