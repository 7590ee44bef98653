"""Work done in a process of its own, so that its peak memory is its own too."""

import multiprocessing
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from hiergcn.errors import HierGCNError

Send = Callable[[Any], None]
"""What the work reports progress with; the other process gets each message."""


class WorkFailedError(HierGCNError):
    """The process ended without a result; the message says why."""


@dataclass(frozen=True)
class Peak:
    """Most memory that a process has held, in bytes."""

    resident: int | None
    gpu: int | None


def in_own_process(
    work: Callable[..., Any],
    *arguments: Any,
    on_message: Callable[[Any], None] | None = None,
    limit: float | None = None,
    preload: Sequence[str] = (),
) -> tuple[Any, Peak]:
    """Call `work(send, *arguments)` in a fresh interpreter; gives its result and the peak of its memory.

    Work that says nothing for `limit` seconds is ended. Modules named in `preload` are imported once for all calls, by
    a process that the interpreters are copied from; without any, each call begins from nothing.

    Ctrl-C is left to the caller: the work ignores it and is ended when KeyboardInterrupt passes through here.
    """
    # A fork of this process would begin with its memory.
    context: Any = multiprocessing.get_context("forkserver" if preload else "spawn")
    context.set_forkserver_preload(list(preload))
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(theirs, work, arguments), daemon=True)
    process.start()
    theirs.close()  # else the end of the process would not be seen here
    try:
        while True:
            if not ours.poll(limit):
                raise WorkFailedError(f"It was ended after {limit:g} s without a result.")
            kind, content = ours.recv()
            if kind == "message":
                if on_message:
                    on_message(content)
            elif kind == "failure":
                raise WorkFailedError(content)
            else:
                result, peak = content
                return result, peak
    except EOFError:
        process.join()
        raise WorkFailedError(_epitaph(process.exitcode)) from None
    finally:
        ours.close()
        process.terminate()
        process.join()


def peak_memory() -> Peak:
    """The peak of this process so far.

    Linux's VmHWM rather than ru_maxrss, which a child inherits from the parent it was started by.
    """
    return Peak(_peak_resident(), _peak_gpu())


def _run(connection: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        result = work(lambda content: connection.send(("message", content)), *arguments)
        connection.send(("result", (result, peak_memory())))
    except HierGCNError as error:
        connection.send(("failure", str(error)))
    except Exception as error:
        connection.send(("failure", f"It failed with {type(error).__name__}: {error!s:.300}"))


def _epitaph(code: int | None) -> str:
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        hint = ", probably because memory ran out" if name == "SIGKILL" else ""
        return f"Its process was ended by {name}{hint}."
    return f"Its process ended with exit code {code} before it had a result."


def _peak_resident() -> int | None:
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
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
