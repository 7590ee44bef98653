"""Code that runs on a Ray cluster: the units of work, and the inbox for their messages.

`ray_engine.py` submits the units. The inbox is an actor on the head node, the one that is not lost.
"""

import asyncio
import gc
import platform
import socket
from collections.abc import Callable
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Any

from hiergcn.version import __version__
from hiergcn.workers.process import Work, do_job, reset_peak_memory

SAME_VERSIONS = "Install the same versions of hiergcn, Python and torch on every node."
REFUSED = "refused"
"""Kind of the answer of a worker that has other versions."""


class Inbox:
    """An actor that keeps the messages of units until they are taken."""

    def __init__(self) -> None:
        self.messages: list[tuple[int, Any]] = []
        self.some = asyncio.Event()

    async def put(self, number: int, content: Any) -> None:
        self.messages.append((number, content))
        self.some.set()

    async def take(self) -> list[tuple[int, Any]]:
        """Wait for messages and return them."""
        await self.some.wait()
        self.some.clear()
        taken, self.messages = self.messages, []
        return taken


def unit_function() -> Callable[..., Any]:
    """Return the function of the tasks. It is sent as code, so that a worker without hiergcn can report it."""

    def unit(inbox: Any, number: int, expected: dict[str, str], shared: list[Any], job: Any) -> Any:
        try:
            from hiergcn.workers.ray_worker import do_unit
        except ImportError as error:
            return "refused", f"A Ray worker cannot import hiergcn ({error}); install it on every node."
        return do_unit(inbox, number, expected, shared, job)

    return unit


def do_unit(inbox: Any, number: int, expected: dict[str, str], shared: list[Any], job: Any) -> Any:
    """Do a unit on a worker; return its reply, or a refusal if versions differ. Its first message is None."""
    if (found := versions()) != expected:
        name = next(name for name in expected if found[name] != expected[name])
        have = f"Ray worker {socket.gethostname()} has {name} {found[name]}, and this machine {expected[name]}."
        return REFUSED, f"{have} {SAME_VERSIONS}"
    inbox.put.remote(number, None)
    reset_peak_memory()
    return tuple(do_job(lambda: _work(tuple(shared))(lambda content: inbox.put.remote(number, content), job)))


@lru_cache(maxsize=2)  # a worker has the graph of the last commands in memory, no more
def _work(shared: tuple[Any, ...]) -> Work:
    import ray

    make = ray.get(shared[0])
    _set_modules_apart()
    work: Work = make(*ray.get(list(shared[1:])))
    return work


@cache
def _set_modules_apart() -> None:
    """Have the garbage collector skip all imported objects; scanning them before each unit takes 0.2 s."""
    gc.collect()
    gc.freeze()


@cache
def versions() -> dict[str, str]:
    """Return the versions that must be the same everywhere for the same results."""
    python, torch = platform.python_version_tuple(), version("torch")
    return {"hiergcn": __version__, "Python": ".".join(python[:2]), "torch": torch.split("+")[0]}  # any build of torch
