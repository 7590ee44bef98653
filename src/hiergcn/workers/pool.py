"""Pools do jobs: in this process, in worker processes of this machine, or on a Ray cluster, with the same results.

`make(*arguments)` is called once in each worker and returns a function of (send, job). Both must be importable: Python
starts a fresh interpreter, because a fork would begin with the memory of this process, and with threads that do not
survive it.

Workers start with SIGINT blocked, so that Ctrl-C in a terminal reaches the calling process alone. They end with it:
when it leaves early, closes the connection, or is killed. On Linux the kernel sees to that (PR_SET_PDEATHSIG), even if
a worker is inside a long call of compiled code; elsewhere a thread does. joblib's loky would do neither, and if one
worker dies, it fails every job of every worker without saying which one was to blame.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache, partial
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import Any, Literal, NamedTuple, Self

from hiergcn.errors import HierGCNError, InputError
from hiergcn.settings.fields import STRATEGIES
from hiergcn.settings.registry import outside_methods, register_method
from hiergcn.workers.machine import Peak, peak_memory

Send = Callable[[Any], None]
"""Sends a message, progress for instance, from a worker to the calling process."""
OnMessage = Callable[[Any], None]
Work = Callable[[Send, Any], Any]
"""Does a job and returns its result."""

RAY_ADDRESS = "RAY_ADDRESS"
STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals by which a user, a scheduler or a closed terminal asks a process to stop."""
_PR_SET_PDEATHSIG = 1  # of Linux's prctl


class WorkFailedError(HierGCNError):
    """A worker returned no result; the message gives the reason."""


class WorkerDiedError(WorkFailedError):
    """A worker process ended before it had a result."""


class Request(NamedTuple):
    """Resources that a job needs."""

    memory: int = 0
    """Bytes of host memory."""
    gpus: int = 0


class Reply(NamedTuple):
    """A message of a worker, or the end of its job: a result, a failure or the death of the process."""

    kind: Literal["message", "result", "failure", "death"]
    content: Any
    """Of a failure or a death: a sentence."""
    peak: Peak = Peak(None, None)
    """Of the worker when it had finished the job."""


class Pool:
    """Workers for the jobs of one work. A context manager: the workers end with it, busy or not.

    Worker processes start when there is a job for them, and one that dies is replaced.

    Args:
        make: called with the arguments in each worker; returns what does a job.
        processes: workers; 0 does the jobs in this process, one per call of `wait`.
    """

    def __init__(self, make: Callable[..., Work], *arguments: Any, processes: int = 1) -> None:
        self._make, self._processes = partial(make, *arguments), processes
        self._workers: list[_Worker] = []
        self._work: Work | None = None  # of this process
        self._jobs: list[tuple[Any, Any]] = []

    @property
    def slots(self) -> int:
        """Number of jobs to have in the pool, so that no worker is idle."""
        return max(self._processes, 1)

    def start_workers(self) -> None:
        """Start all worker processes now, so that they are ready when there are jobs."""
        self._workers += [_Worker(self._make) for _ in range(self._processes - len(self._workers))]

    def start(self, key: Any, job: Any, request: Request = Request()) -> None:  # noqa: B008
        """Submit a job; its replies carry the key. A process does either jobs with a GPU or jobs without."""
        if self._processes == 0:
            self._jobs.append((key, job))
            return
        idle = [worker for worker in self._workers if not worker.is_busy and worker.gpus == request.gpus]
        if not idle:
            idle = [_Worker(self._make, request.gpus)]
            self._workers += idle
        idle[0].start(key, job)

    def wait(self, timeout: float | None = None) -> list[tuple[Any, Reply]]:
        """Wait for replies; after so many seconds return none.

        The last reply of a job is a result, a failure or a death; messages may come before.
        """
        if self._processes == 0:
            key, job = self._jobs.pop(0)
            work = self._work = self._work or self._make()
            replies: list[Reply] = []
            last = do_job(lambda: work(lambda content: replies.append(Reply("message", content)), job))
            return [(key, reply) for reply in (*replies, last)]
        busy: dict[Any, _Worker] = {worker.connection: worker for worker in self._workers if worker.is_busy}
        replied = [(busy[connection], busy[connection].receive()) for connection in wait(list(busy), timeout)]
        for worker, reply in replied:
            if reply.kind == "death":
                self._workers.remove(worker)
                worker.end()
        return [(worker.key, reply) for worker, reply in replied]

    def replies(self, jobs: Iterable[tuple[Any, Request]]) -> Iterator[tuple[int, Reply]]:
        """Keep the pool busy; yield every reply as it comes, with the number of its job.

        The next job is taken from the iterable when there is a place for it.
        """
        queue, busy = enumerate(jobs), 0
        while True:
            for number, (job, request) in islice(queue, max(self.slots - busy, 0)):
                self.start(number, job, request)
                busy += 1
            if not busy:
                return
            for number, reply in self.wait():
                busy -= reply.kind != "message"
                yield number, reply

    def results(
        self,
        jobs: Iterable[tuple[Any, Request]],
        on_message: OnMessage | None = None,
        on_death: Callable[[int, str], Any] | None = None,
    ) -> Iterator[Any]:
        """Yield the results in the order of the jobs.

        A failure is raised as a `WorkFailedError`. So is a lost worker, unless `on_death` gives a result in its place.
        """
        done: dict[int, Any] = {}
        due = 0
        for number, (kind, content, _) in self.replies(jobs):
            if kind == "death" and on_death:
                done[number] = on_death(number, content.removeprefix("It ").rstrip("."))
            elif kind == "result":
                done[number] = content
            elif kind != "message":
                raise (WorkerDiedError if kind == "death" else WorkFailedError)(content)
            elif on_message:
                on_message(content)
            while due in done:
                yield done.pop(due)
                due += 1

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers:
            worker.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def now_and_then(send: Send, pause: float) -> Send:
    """Return `send` for a worker's progress: messages that come within `pause` seconds of one are dropped."""
    sent = time.monotonic()

    def send_seldom(content: Any) -> None:
        nonlocal sent
        if time.monotonic() - sent > pause:
            sent = time.monotonic()
            send(content)

    return send_seldom


def do_job(work: Callable[[], Any]) -> Reply:
    """Do a job; return its result, or its failure as a sentence."""
    try:
        return Reply("result", work(), peak_memory())
    except Exception as error:
        unforeseen = "" if isinstance(error, HierGCNError) else f"It failed with {type(error).__name__}: "
        return Reply("failure", f"{unforeseen}{error!s:.300}" if unforeseen else str(error), peak_memory())


class _Worker:
    """A process that does one job after another."""

    def __init__(self, make: Any, gpus: int = 0) -> None:
        context = multiprocessing.get_context("spawn")
        self.gpus = gpus
        self.is_busy, self.key = False, None  # of its job
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, os.getpid()), daemon=True)
        with interrupts_blocked(), _script_hidden(make):
            self.process.start()
        theirs.close()  # else the end of the process would go unnoticed here
        self.send((outside_methods(), make))  # after the start, because its modules may take long to import

    def start(self, key: Any, job: Any) -> None:
        self.is_busy, self.key = True, key
        self.send(job)

    def send(self, content: Any) -> None:
        with suppress(OSError):  # of a process that has died, which `receive` reports
            self.connection.send(content)

    def receive(self) -> Reply:
        """Wait for the next reply. After a result or a failure the worker is idle; after its death it cannot be used.

        SIGTERM and SIGHUP are mostly sent to a whole group of processes: if a worker was ended so, Ctrl-C is raised.
        """
        try:
            reply: Reply = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            code = self.process.exitcode or 0
            if -code in STOPPING:
                raise KeyboardInterrupt from None
            if code >= 0:
                return Reply("death", f"The worker process ended with exit code {code} before it had a result.")
            name = signal.Signals(-code).name
            hint = ", probably out of memory" if name == "SIGKILL" else ""
            return Reply("death", f"The worker process was killed by {name}{hint}.")
        self.is_busy = reply.kind == "message"
        return reply

    def end(self) -> None:
        """End the process, whatever it is at."""
        self.connection.close()
        self.process.terminate()
        self.process.join()


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Defer the signals that ask for a stop, and raise them at the end of the block.

    So Ctrl-C does not interrupt half of a start. Processes that are started meanwhile keep SIGINT blocked for good, so
    that it does not reach them in the same terminal.
    """
    came: list[int] = []
    in_main = threading.current_thread() is threading.main_thread()  # Python interrupts the main thread alone
    handlers = {n: signal.signal(n, lambda number, _: came.append(number)) for n in STOPPING} if in_main else {}
    has_mask = sys.platform != "win32"
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if has_mask else set()  # new processes inherit it
    try:
        yield
    finally:
        if has_mask:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for number in came:
        signal.raise_signal(number)


@contextmanager
def _script_hidden(make: Any) -> Iterator[None]:
    """Keep a new process from running the user's script again, unless something of it is needed there.

    Python would import the script in every process: without `if __name__ == "__main__"` it would start from the top.
    """
    classes = (part for info in outside_methods() for part in (info.config, info.method))
    registered = (*STRATEGIES.values(), *classes)
    needed = "__main__" in {getattr(part, "__module__", None) for part in (make.func, *make.args, *registered)}
    script = vars(sys.modules["__main__"])
    hidden: dict[str, Any] = {name: script[name] for name in ("__spec__", "__file__") if name in script and not needed}
    script |= dict.fromkeys(hidden)
    try:
        yield
    finally:
        script |= hidden


def _serve(connection: Connection, parent: int) -> None:
    """Run a worker: do jobs until the caller closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if parent != os.getppid():  # it died before the call
            os._exit(1)
    else:
        sentinel = multiprocessing.parent_process().sentinel  # type: ignore[union-attr]
        threading.Thread(target=lambda: wait([sentinel]) and os._exit(1), daemon=True).start()

    def send(content: Any) -> None:
        connection.send(Reply("message", content))

    import torch

    # torch would send tensors as files that this process keeps open
    ForkingPickler.register(torch.Tensor, lambda tensor: (torch.from_numpy, (tensor.numpy(force=True),)))
    with suppress(EOFError, OSError):  # the caller is gone
        methods, make = connection.recv()
        for info in methods:
            register_method(**vars(info))
        work = cache(make)  # in the first job, whose failure is then told
        while True:
            job = connection.recv()
            connection.send(do_job(lambda: work()(send, job)))  # noqa: B023  (called at once)


class Engine:
    """Opens pools of workers on this machine.

    Args:
        processes: of each pool; 0 does the jobs in this process.
    """

    spreads = False
    """Whether jobs should be small, because they go to many machines."""

    def __init__(self, processes: int = 1) -> None:
        self.processes = processes
        self.on_note: Callable[[str], None] = lambda _: None
        """Called with sentences about the workers: missing resources, retries."""

    def pool(self, make: Callable[..., Work], *arguments: Any) -> Pool:
        """Open a pool; the arguments travel to each machine once."""
        return Pool(make, *arguments, processes=self.processes)

    def device(self, name: str) -> str:
        """Return the device of the jobs for a device that a user names; `auto` is a GPU if there is one."""
        return name

    def workers(self, request: Request) -> int:
        """Return how many jobs can be done at the same time."""
        return max(self.processes, 1)

    def status(self) -> str:
        """Describe how many machines there are and how many jobs run."""
        return f"{self.processes} processes"


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
    from hiergcn.workers.ray_cluster import RayEngine

    with closing(RayEngine(None if name == "ray" else name, workers, on_note)) as engine:
        yield engine
