"""Ray as an engine: units are tasks of a cluster, which hiergcn neither starts nor stops if it is the user's.

Ray retries nothing here, and says little about tasks that wait. So a unit whose worker or node is lost is submitted
again by this module, a few times; and an actor, the inbox, gets the messages of units, the first of which says that
the unit has started. From these it is known how many units run, and when none can.
"""

import asyncio
import importlib
import logging
import math
import os
import platform
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import version
from itertools import count
from typing import Any, Self

from hiergcn.errors import InputError, MissingPackageError
from hiergcn.run.engine import RAY_ADDRESS, Request
from hiergcn.run.process import STOPPING, Reply, Work, do_job, reset_peak_memory
from hiergcn.version import __version__

TRIES = 4
"""Times that a unit is started, if its worker or node is lost each time."""
PATIENCE = 30.0
"""Seconds without a running unit, after which a note says what is missing."""
GIVE_UP = 600.0
"""Seconds after which a request that no node could ever meet is an error; a cluster may be growing meanwhile."""

_TICK = 1.0  # seconds between two looks at the cluster
_WORDS = {  # by the name of Ray's error
    "OutOfMemoryError": "its node ran out of memory",
    "NodeDiedError": "its node was lost",
    "WorkerCrashedError": "its worker process died",
}


class RayEngine:
    """Connects to a cluster, or starts one on this machine. Use it as a context.

    Args:
        address: such as `ray://HOST:10001`; None for that of RAY_ADDRESS, one on this machine, or a new one.
        workers: CPUs of a new one; by default all.
    """

    spreads = True

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self.on_note: Callable[[str], None] = lambda _: None
        """Gets sentences about the cluster: what is missing, what is tried again."""
        self.running: set[int] = set()  # numbers of units that have started
        self._ray = _import_ray()
        self._owns = _connect(self._ray, address, workers)
        self._sent: dict[int, tuple[Any, Any]] = {}  # by identity: an object and its reference in the cluster
        self._numbers = count()
        self._nodes: list[dict[str, float]] = []
        self._looked = -math.inf
        remote = self._ray.remote
        on_head = {"node:__internal_head__": 0.001}  # the node that is not lost
        self.inbox = remote(_Inbox).options(num_cpus=0, resources=on_head, max_restarts=-1).remote()
        self.task = remote(_unit_function())
        self.mail = self.inbox.take.remote()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._owns:
            self._ray.shutdown()
        else:
            self._ray.kill(self.inbox)

    def pool(self, make: Callable[..., Work], *arguments: Any) -> "RayPool":
        return RayPool(self, [self._put(one) for one in (make, *arguments)])

    def device(self, name: str) -> str:
        has_gpu = self._ray.cluster_resources().get("GPU", 0) >= 1
        if name.startswith("cuda") and not has_gpu:
            raise InputError("No node of the Ray cluster has a GPU; give --device cpu.")
        return "cuda" if has_gpu and name != "cpu" else "cpu"

    def workers(self, request: Request) -> int:
        return max(sum(_times(node, request) for node in self.nodes()), 1)

    def nodes(self) -> list[dict[str, float]]:
        """Return the resources of each node that is alive."""
        if time.monotonic() - self._looked > _TICK:
            self._nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
            self._looked = time.monotonic()
        return self._nodes

    def status(self) -> str:
        """Return the size of the cluster and the number of running units, in words."""
        nodes = self.nodes()
        gpus = sum(int(node.get("GPU", 0)) for node in nodes)
        at_work = [node for node in nodes if node.get("CPU", 0) >= 1]
        sizes = ((len(at_work), "node"), (gpus, "GPU"), (len(self.running), "unit"))
        return f"Ray: {', '.join(_counted(*size) for size in sizes)} running"

    def receive(self) -> list[tuple[int, Any]]:
        """Return the messages that have come, each with the number of its unit, and ask for more."""
        messages: list[tuple[int, Any]] = []
        with suppress(self._ray.exceptions.RayError):  # of an inbox that was lost, and is started again
            messages = self._ray.get(self.mail)
        self.mail = self.inbox.take.remote()
        return messages

    def submit(self, shared: list[Any], job: Any, request: Request) -> tuple[Any, int]:
        """Submit a unit; return the reference of its reply and its number."""
        number = next(self._numbers)
        task = self.task.options(num_cpus=request.cpus, num_gpus=request.gpus, memory=request.memory, max_retries=0)
        return task.remote(self.inbox, number, versions(), shared, job), number

    def wait(self, references: list[Any]) -> list[Any]:
        """Wait a moment; return the references that are ready, and that of the mail if there is some."""
        every = [*references, self.mail]
        self._ray.wait(every, num_returns=1, timeout=_TICK)
        ready: list[Any] = self._ray.wait(every, num_returns=len(every), timeout=0)[0]
        return ready

    def reply(self, reference: Any) -> Reply:
        """Return the reply of a unit; one without a reply from its worker is a death, for a reason in words."""
        errors = self._ray.exceptions
        try:
            found: Reply | tuple[str, str] = self._ray.get(reference)
        except errors.RayTaskError as error:  # outside of the job: the worker could not read it
            cause = str(error.cause or error).strip().splitlines()[-1]
            raise InputError(f"A Ray worker could not begin a unit ({cause:.200}). {_SAME}") from None
        except errors.RayError as error:
            name = type(error).__name__
            return Reply("death", _WORDS.get(name, f"{name}: {str(error).strip().splitlines()[0]:.200}"))
        if found[0] == "refused":
            raise InputError(str(found[1]))
        return Reply(*found)

    def cancel(self, references: list[Any]) -> None:
        for reference in references:
            with suppress(self._ray.exceptions.RayError, ValueError):
                self._ray.cancel(reference, force=True)

    def missing(self, request: Request) -> tuple[str, bool]:
        """Return what keeps a unit from being started, in a sentence, and whether it could be on some node."""
        needs = _needs(request)
        nodes = self.nodes()
        needed = f"A unit needs {_amounts(needs)}"
        if any(_times(node, request) for node in nodes):
            free = self._ray.available_resources()
            return (
                f"{needed}; the Ray cluster is busy: {_amounts({name: free.get(name, 0) for name in needs})} free.",
                True,
            )
        best = {name: max((node.get(name, 0) for node in nodes), default=0) for name in needs}
        short = [name for name in needs if best[name] < needs[name]]
        if not short:
            return f"{needed}, and no single node of the Ray cluster has all of it.", False
        largest = _amounts({name: best[name] for name in short})
        return f"{needed}, and no node of the Ray cluster has that: the largest has {largest}.", False

    def _put(self, value: Any) -> Any:
        """Return the reference of a value in the cluster, to which it travels once."""
        if id(value) not in self._sent:
            self._sent[id(value)] = (value, self._ray.put(value))
        return self._sent[id(value)][1]


@dataclass
class _Unit:
    """A unit in flight."""

    key: Any
    job: Any
    request: Request
    number: int = -1
    tries: int = 0


class RayPool:
    """Units of one `Work` on a cluster."""

    def __init__(self, engine: RayEngine, shared: list[Any]) -> None:
        self._engine, self._shared = engine, shared
        self._units: dict[Any, _Unit] = {}  # by the reference of the reply
        self._idle_since: float | None = None
        self._said = False

    @property
    def slots(self) -> int:
        """One unit more than CPUs: it is there when another ends, and shows a cluster that grows that it may."""
        return int(sum(node.get("CPU", 0) for node in self._engine.nodes())) + 1

    def start(self, key: Any, job: Any, request: Request) -> None:
        self._submit(_Unit(key, job, request))

    def wait(self) -> list[tuple[Any, Reply]]:
        while True:
            ready = self._engine.wait(list(self._units))
            found = self._messages() if self._engine.mail in ready else []
            for reference in [one for one in ready if one in self._units]:
                reply = self._engine.reply(reference)
                unit = self._units.pop(reference)
                self._engine.running.discard(unit.number)
                if reply.kind == "death" and unit.tries < TRIES:
                    self._engine.on_note(f"A unit is started again, because {reply.content}.")
                    self._submit(unit)
                elif reply.kind == "death":
                    found.append((unit.key, Reply("death", f"It was started {TRIES} times; {reply.content}.")))
                else:
                    found.append((unit.key, reply))
            self._check_progress(bool(ready))
            if found:
                return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.cancel(list(self._units))
        self._engine.running -= {unit.number for unit in self._units.values()}

    def _submit(self, unit: _Unit) -> None:
        unit.tries += 1
        reference, unit.number = self._engine.submit(self._shared, unit.job, unit.request)
        self._units[reference] = unit

    def _messages(self) -> list[tuple[Any, Reply]]:
        """Return the messages of this pool's units; the first of each says that it has started."""
        keys = {unit.number: unit.key for unit in self._units.values()}
        found = []
        for number, content in self._engine.receive():
            if number not in keys:  # it has ended, or been given up
                continue
            if content is None:
                self._engine.running.add(number)
            else:
                found.append((keys[number], Reply("message", content)))
        return found

    def _check_progress(self, any_ready: bool) -> None:
        """Say what is missing if no unit has run for a while."""
        if any_ready or self._engine.running or not self._units:
            self._idle_since, self._said = None, False
            return
        self._idle_since = self._idle_since or time.monotonic()
        waited = time.monotonic() - self._idle_since
        if waited < PATIENCE:
            return
        sentence, possible = self._engine.missing(next(iter(self._units.values())).request)
        if not self._said:
            self._engine.on_note(f"No unit has been running for {waited:.0f} s. {sentence}")
            self._said = True
        if not possible and waited > GIVE_UP:
            raise InputError(sentence)


class _Inbox:
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


# In a worker


def _unit_function() -> Callable[..., Any]:
    """Return the function of the tasks. It travels as code, so that a worker without hiergcn can say so."""

    def unit(inbox: Any, number: int, expected: dict[str, str], shared: list[Any], job: Any) -> Any:
        try:
            from hiergcn.run.ray_engine import do_unit
        except ImportError as error:
            return "refused", f"A Ray worker cannot import hiergcn ({error}); install it on every node."
        return do_unit(inbox, number, expected, shared, job)

    return unit


def do_unit(inbox: Any, number: int, expected: dict[str, str], shared: list[Any], job: Any) -> Any:
    """Do a unit on a worker; return its reply, or a refusal if versions differ."""
    if (found := versions()) != expected:
        name = next(name for name in expected if found[name] != expected[name])
        return "refused", (
            f"Ray worker {socket.gethostname()} has {name} {found[name]}, and this machine {expected[name]}. {_SAME}"
        )
    inbox.put.remote(number, None)
    reset_peak_memory()
    return tuple(do_job(lambda: _work(tuple(shared))(lambda content: inbox.put.remote(number, content), job)))


@lru_cache(maxsize=2)  # a worker has the graph of the last commands in memory, no more
def _work(shared: tuple[Any, ...]) -> Work:
    make, *arguments = _import_ray().get(list(shared))
    work: Work = make(*arguments)
    return work


@cache
def versions() -> dict[str, str]:
    """Return the versions that must be the same everywhere for the same results."""
    python, torch = platform.python_version_tuple(), version("torch")
    return {"hiergcn": __version__, "Python": ".".join(python[:2]), "torch": torch.split("+")[0]}  # any build of torch


# Resources


def _needs(request: Request) -> dict[str, float]:
    """Return the resources of a request by Ray's names."""
    named = {"CPU": request.cpus, "GPU": request.gpus, "memory": request.memory}
    return {name: amount for name, amount in named.items() if amount}


def _times(node: dict[str, float], request: Request) -> int:
    """Return how many units with this request a node could do at the same time."""
    return min(int(node.get(name, 0) // amount) for name, amount in _needs(request).items())


def _counted(amount: float, name: str) -> str:
    return f"{amount:g} {name}{'' if amount == 1 else 's'}"


def _amounts(resources: dict[str, float]) -> str:
    """Return resources in words: 1 CPU and 2.5 GB of memory."""
    words = [
        f"{amount / 1e9:.1f} GB of memory" if name == "memory" else _counted(amount, name)
        for name, amount in resources.items()
    ]
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


# The connection


def _import_ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise MissingPackageError(
            "This engine needs Ray, which is not installed; install it with pip install 'hiergcn[ray]'."
        ) from None


def _connect(ray: Any, address: str | None, workers: int | None) -> bool:
    """Connect to a cluster unless this process has a connection; return whether this was the case."""
    if ray.is_initialized():
        return False
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    named = address or os.environ.get(RAY_ADDRESS)
    with _signals_kept():
        try:
            ray.init(address=named or "auto", **quiet)
            return True
        except (ConnectionError, RuntimeError, ValueError, ImportError) as error:
            if named:
                why = " ".join(str(error).split())
                raise InputError(
                    f"No connection to the Ray cluster at {named} ({why:.300}). See that it runs and, if it asks for a "
                    "token, that RAY_AUTH_TOKEN is set here."
                ) from None
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            ray.init(address="local", num_cpus=workers, include_dashboard=False, **quiet)
        except Exception as error:  # Ray raises plain exceptions
            raise InputError(f"Ray could not be started on this machine ({str(error).strip():.300}).") from None
    return True


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Keep the handlers of signals, which Ray replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_SAME = "Install the same versions of hiergcn, Python and torch on every node."
