"""Work in other processes: workers that do jobs, send messages and report their own peak memory.

Workers start with SIGINT blocked, so that Ctrl-C in a terminal reaches the calling process alone. They end with it:
when it leaves early, closes the connection, or is killed. On Linux the kernel sees to that (PR_SET_PDEATHSIG), even if
a worker is inside a long call of compiled code; elsewhere a thread does.
"""

import ctypes
import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal, NamedTuple

from hiergcn.errors import HierGCNError

Send = Callable[[Any], None]
"""Sends a message, progress for instance, from a worker to the calling process."""
OnMessage = Callable[[Any], None]
Work = Callable[[Send, Any], Any]
"""Does a job and returns its result."""


STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals by which a user, a scheduler or a closed terminal asks a process to stop."""
_ENDED_FROM_OUTSIDE = tuple(-number for number in STOPPING[1:])  # exit codes
RESET_PEAK = Path("/proc/self/clear_refs")
_PR_SET_PDEATHSIG = 1  # of Linux's prctl


class WorkFailedError(HierGCNError):
    """A worker returned no result; the message gives the reason."""


class WorkerDiedError(WorkFailedError):
    """A worker process ended before it had a result."""


@dataclass(frozen=True)
class Peak:
    """Peak memory of a process, in bytes; None if it is unknown."""

    resident: int | None
    gpu: int | None


class Reply(NamedTuple):
    """A message of a worker, or the end of its job: a result, a failure or the death of the process."""

    kind: Literal["message", "result", "failure", "death"]
    content: Any
    """Of a failure or a death: a sentence."""
    peak: Peak = Peak(None, None)
    """Of the worker when it had finished the job."""


class Worker:
    """A process that does one job after another.

    It calls `make(*arguments)` once, which returns a function of (send, job). Both must be importable: Python starts a
    fresh interpreter, which imports the module of `make`.
    """

    def __init__(self, make: Callable[..., Work], *arguments: Any) -> None:
        # a fork would begin with the memory of this process, and with threads that do not survive it
        context = multiprocessing.get_context("spawn")
        self.job: Any = None  # None if it is idle
        self.peak = Peak(None, None)  # when it finished its last job
        self.connection: Connection
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, os.getpid()), daemon=True)
        with interrupts_blocked(), _script_hidden(make, *arguments):
            self.process.start()
        theirs.close()  # else the end of the process would go unnoticed here
        with suppress(OSError):  # of a process that died at once, which `receive` reports
            self.connection.send((make, arguments))  # after the start, because their modules may take long to import

    def start(self, job: Any) -> None:
        """Give the worker a job; it must be idle."""
        self.job = job
        with suppress(OSError):  # of a worker that died while idle, which `receive` reports
            self.connection.send(job)

    def receive(self) -> Reply:
        """Wait for the next reply. After a result or a failure the worker is idle; after its death it cannot be used.

        SIGTERM and SIGHUP are mostly sent to a whole group of processes: if a worker was ended so, Ctrl-C is raised.
        """
        try:
            reply: Reply = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            if self.process.exitcode in _ENDED_FROM_OUTSIDE:
                raise KeyboardInterrupt from None
            return Reply("death", _cause_of_death(self.process.exitcode))
        if reply.kind != "message":
            self.job, self.peak = None, reply.peak
        return reply

    def end(self) -> None:
        """End the process, whatever it is at."""
        self.connection.close()
        self.process.terminate()
        self.process.join()


@contextmanager
def _script_hidden(*given: Any) -> Iterator[None]:
    """Keep a new process from running the user's script again, unless one of these functions is defined in it.

    Python would import the script in every worker: without `if __name__ == "__main__"` it would start from the top.
    """
    main: Any = sys.modules["__main__"]
    strategies: Any = sys.modules.get("hiergcn.coarsen.strategy")  # else the script has registered none
    called = [*given, *(map(strategies.find_strategy, strategies.strategy_names()) if strategies else ())]
    if any(getattr(one, "__module__", None) == "__main__" for one in called):
        yield
        return
    kept = {name: vars(main)[name] for name in ("__spec__", "__file__") if name in vars(main)}
    main.__spec__ = None
    vars(main).pop("__file__", None)
    try:
        yield
    finally:
        vars(main).update(kept)


def in_own_process(
    work: Callable[..., Any], *arguments: Any, on_message: OnMessage | None = None, limit: float | None = None
) -> tuple[Any, Peak]:
    """Call `work(send, *arguments)` in a separate process; return its result and its peak memory.

    Work that sends nothing for `limit` seconds is ended.
    """
    worker = Worker(_one_call, work)
    try:
        worker.start(arguments)
        while worker.connection.poll(limit):
            reply = worker.receive()
            if is_result(reply, on_message):
                return reply.content, reply.peak
        raise WorkFailedError(f"The worker process was ended after {limit:g} s without a message.")
    finally:
        worker.end()


def is_result(reply: Reply, on_message: OnMessage | None) -> bool:
    """Pass on a message, raise a failure, and return whether it is neither."""
    if reply.kind in ("failure", "death"):
        raise (WorkerDiedError if reply.kind == "death" else WorkFailedError)(reply.content)
    if reply.kind == "message" and on_message:
        on_message(reply.content)
    return reply.kind == "result"


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Defer the signals that ask for a stop, and raise them at the end of the block.

    So Ctrl-C does not interrupt half of a start. Processes that are started meanwhile keep SIGINT blocked for good, so
    that it does not reach them in the same terminal.
    """
    if threading.current_thread() is not threading.main_thread():
        with _sigint_masked():  # Python interrupts the main thread alone
            yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in STOPPING}
    try:
        with _sigint_masked():
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for number in came:
        signal.raise_signal(number)


def peak_memory() -> Peak:
    """Return the peak memory of this process so far."""
    return Peak(_peak_resident(), _peak_gpu())


def reset_peak_memory() -> int | None:
    """Set the process's peak memory to what it holds now, and return it; None if the system cannot. Linux can.

    Memory that is free but still held is given back first, so that it does not hide what is taken later.
    """
    gc.collect()
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    try:
        RESET_PEAK.write_text("5", encoding="ascii")
    except OSError:
        return None
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.reset_peak_memory_stats()
    return peak_memory().resident


def do_job(work: Callable[[], Any]) -> Reply:
    """Do a job in a worker; return its result, or its failure as a sentence."""
    try:
        result = work()
    except HierGCNError as error:
        return Reply("failure", str(error), peak_memory())
    except Exception as error:
        return Reply("failure", f"It failed with {type(error).__name__}: {error!s:.300}", peak_memory())
    return Reply("result", result, peak_memory())


def proc_field(file: str, name: str) -> str | None:
    """Return the first field of this name in a file of Linux's /proc; None if there is none."""
    try:
        lines = Path("/proc", file).read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), None)


@contextmanager
def _sigint_masked() -> Iterator[None]:
    """Mask SIGINT in this thread; new processes inherit the mask. Windows has none."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _one_call(work: Callable[..., Any]) -> Work:
    return lambda send, arguments: work(send, *arguments)


def _serve(connection: Connection, parent: int) -> None:
    """Run a worker: do jobs until the caller closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_parent(parent)
    work: Work | None = None

    def send(content: Any) -> None:
        reply(Reply("message", content))

    def reply(content: Reply) -> None:
        try:
            connection.send(content)
        except OSError:
            sys.exit()  # the caller is gone

    def do(job: Any) -> Any:
        nonlocal work
        work = work or make(*arguments)
        return work(send, job)

    try:
        make, arguments = connection.recv()
        while True:
            job = connection.recv()
            reply(do_job(partial(do, job)))
    except (EOFError, OSError):
        return


def _end_with_parent(parent: int) -> None:
    """End this process when its parent ends, for whatever reason."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if parent != os.getppid():  # it died before the call
            os._exit(1)
    caller = multiprocessing.parent_process()
    assert caller is not None
    threading.Thread(target=_exit_after, args=(caller.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)  # nobody waits for the result


def _cause_of_death(code: int | None) -> str:
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        hint = ", probably out of memory" if name == "SIGKILL" else ""
        return f"The worker process was killed by {name}{hint}."
    return f"The worker process ended with exit code {code} before it had a result."


def _peak_resident() -> int | None:
    """Return Linux's VmHWM; a child inherits ru_maxrss, the portable figure, from its parent."""
    if found := proc_field("self/status", "VmHWM"):
        return int(found.split()[0]) * 1024
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _peak_gpu() -> int | None:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return None
    return int(torch.cuda.max_memory_allocated())
