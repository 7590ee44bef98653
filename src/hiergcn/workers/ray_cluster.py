"""A Ray cluster as an engine: the user's, which is neither started nor stopped, or one that is started for a command.

Jobs are tasks of the cluster. A job whose worker or node is lost is submitted again here, a few times: Ray itself would
try one that needs too much memory without end. Messages go through a queue on the head node, the one that is not lost.
A job that no node could ever do is told at once, and ends the command after a while.
"""

import importlib
import logging
import math
import os
import platform
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, lru_cache
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from hiergcn.errors import InputError, MissingPackageError
from hiergcn.version import __version__
from hiergcn.workers.machine import reset_peak_memory
from hiergcn.workers.pool import RAY_ADDRESS, STOPPING, Engine, Pool, Reply, Request, Work, do_job

TRIES = 4
"""Times that a job is started, if its worker or node is lost each time."""
GIVE_UP = 600.0
"""Seconds after which a request that no node could ever meet is an error; a cluster may be growing meanwhile."""
CONNECT_SECONDS = 5.0
"""Seconds to wait until a host answers. Ray would try for ten minutes if nothing listens at an address."""

_TICK = 0.2  # seconds between two looks at the queue
_LOOK = 1.0  # seconds between two looks at the nodes
_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
_SAME_VERSIONS = "Install the same versions of hiergcn, Python and torch on every node."
_SET = (
    "Set RAY_AUTH_MODE=token here, and RAY_AUTH_TOKEN to the token that `ray get-auth-token` prints on the head node."
)
_REASONS = {  # by words of Ray's error
    **dict.fromkeys(("InvalidAuthToken", "no authentication token"), f"It asks for its token. {_SET}"),
    "ray client connection timeout": (
        "Something listens there, but not as Ray Client, or it asks for its token. See that the port is that of "
        f"`ray start --ray-client-server-port`, by default 10001. {_SET}"
    ),
    "Method not found": (
        "Another service listens there. The port is that of `ray start --port`, by default 6379; with that of Ray "
        "Client, by default 10001, the address begins with ray://."
    ),
}
_LOST = {  # by the name of Ray's error
    "OutOfMemoryError": "its node ran out of memory",
    "NodeDiedError": "its node was lost",
    "WorkerCrashedError": "its worker process died",
}


class RayEngine(Engine):
    """Connects to a cluster, or starts one here, until it is closed; `open_engine` explains the arguments."""

    spreads = True

    def __init__(
        self, address: str | None = None, workers: int | None = None, on_note: Callable[[str], None] = lambda _: None
    ) -> None:
        super().__init__()
        self.on_note = on_note
        self.running: set[int] = set()  # numbers of jobs in flight
        self.numbers = count()
        self.ray = import_ray()
        self._owns = connect(self.ray, address, workers, on_note)
        self._sent: dict[int, tuple[Any, Any]] = {}  # by identity: an object and its reference in the cluster
        self._nodes: tuple[float, list[dict[str, float]]] = (-math.inf, [])  # when it looked, and what it saw
        on_head = {"num_cpus": 0, "resources": {"node:__internal_head__": 0.001}, "max_restarts": -1}
        self.queue = importlib.import_module("ray.util.queue").Queue(actor_options=on_head)
        self.task = self.ray.remote(do_unit)

    def close(self) -> None:
        if self._owns:
            self.ray.shutdown()
        else:
            self.queue.shutdown(force=True)

    def pool(self, make: Callable[..., Work], *arguments: Any) -> "RayPool":
        """Open a pool. An object that an earlier pool has sent to the cluster is not sent again."""
        shared = (make, *arguments)
        self._sent |= {id(part): (part, self.ray.put(part)) for part in shared if id(part) not in self._sent}
        return RayPool(self, [self._sent[id(part)][1] for part in shared])

    def device(self, name: str) -> str:
        has_gpu = self.ray.cluster_resources().get("GPU", 0) >= 1
        if name.startswith("cuda") and not has_gpu:
            raise InputError("No node of the Ray cluster has a GPU; give --device cpu.")
        return "cuda" if has_gpu and name != "cpu" else "cpu"

    def workers(self, request: Request) -> int:
        return max(sum(_times(node, _needs(request)) for node in self.nodes()), 1)

    def nodes(self) -> list[dict[str, float]]:
        """Return the resources of each node that is alive."""
        if time.monotonic() - self._nodes[0] > _LOOK:
            self._nodes = time.monotonic(), [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        return self._nodes[1]

    def status(self) -> str:
        nodes = self.nodes()
        at_work, gpus = sum(node.get("CPU", 0) >= 1 for node in nodes), sum(node.get("GPU", 0) for node in nodes)
        return f"Ray: {_amounts({'node': at_work, 'GPU': gpus, 'unit': len(self.running)}, ', ')}"


class _Unit(NamedTuple):
    """A job in flight."""

    key: Any
    job: Any
    request: Request
    tries: int
    number: int


class RayPool(Pool):
    def __init__(self, engine: RayEngine, shared: list[Any]) -> None:
        self._engine, self._ray, self._shared = engine, engine.ray, shared
        self._units: dict[Any, _Unit] = {}  # by the reference of the reply
        self._impossible: tuple[float, str] | None = None  # since when, and why

    @property
    def slots(self) -> int:
        """One job more than CPUs: it is there when another ends, and shows a cluster that grows that it may."""
        return int(sum(node.get("CPU", 0) for node in self._engine.nodes())) + 1

    def start(self, key: Any, job: Any, request: Request = Request(), tries: int = 1) -> None:  # noqa: B008
        unit = _Unit(key, job, request, tries, next(self._engine.numbers))
        task = self._engine.task.options(num_cpus=1, num_gpus=request.gpus, memory=request.memory, max_retries=0)
        reference = task.remote(self._engine.queue.actor, unit.number, versions(), self._shared, job)
        self._units[reference] = unit
        self._engine.running.add(unit.number)

    def wait(self, timeout: float | None = None) -> list[tuple[Any, Reply]]:
        until = math.inf if timeout is None else time.monotonic() + timeout
        replies: list[tuple[Any, Reply]] = []
        while not replies and time.monotonic() < until:
            ready = self._ray.wait(list(self._units), num_returns=1, timeout=_TICK)[0]
            messages: list[tuple[int, Any]] = []
            with suppress(self._ray.exceptions.RayError):  # of a queue that was lost, and is started again
                messages = self._engine.queue.get_nowait_batch(self._engine.queue.qsize())
            keys = {unit.number: unit.key for unit in self._units.values()}
            # jobs with other numbers have ended, or been given up
            replies = [(keys[n], Reply("message", content)) for n, content in messages if n in keys]
            for reference in ready:
                reply, unit = self._reply(reference), self._units.pop(reference)
                self._engine.running.discard(unit.number)
                if reply.kind == "death" and unit.tries < TRIES:
                    self._engine.on_note(f"A unit is started again, because {reply.content}.")
                    self.start(unit.key, unit.job, unit.request, unit.tries + 1)
                    continue
                lost = f"It was started {TRIES} times; {reply.content}."
                replies.append((unit.key, Reply("death", lost) if reply.kind == "death" else reply))
            self._check_possible()
        return replies

    def close(self) -> None:
        for reference, unit in self._units.items():
            with suppress(self._ray.exceptions.RayError, ValueError):
                self._ray.cancel(reference, force=True)
            self._engine.running.discard(unit.number)

    def _reply(self, reference: Any) -> Reply:
        """Return the reply of a job; if its worker sent none, a death with the reason."""
        errors = self._ray.exceptions
        try:
            reply: Reply | str = self._ray.get(reference)
        except errors.RayTaskError as error:  # outside of the job: the worker could not read it
            cause = str(error.cause or error).strip().splitlines()[-1]
            raise InputError(f"A Ray worker could not begin a unit ({cause:.200}). {_SAME_VERSIONS}") from None
        except errors.RayError as error:
            name = type(error).__name__
            return Reply("death", _LOST.get(name, f"{name}: {str(error).strip().splitlines()[0]:.200}"))
        if isinstance(reply, str):
            raise InputError(reply)
        return Reply(*reply)

    def _check_possible(self) -> None:
        """Say if no node could ever do the next job, and what is missing; raise it after a while."""
        needs, nodes = [_needs(unit.request) for unit in self._units.values()][:1], self._engine.nodes()
        if not needs or any(_times(node, needs[0]) for node in nodes):
            self._impossible = None
            return
        most = {name: max((node.get(name, 0) for node in nodes), default=0) for name in needs[0]}
        short = {name: amount for name, amount in most.items() if amount < needs[0][name]} or most
        largest = f"no node of the Ray cluster has that: the largest has {_amounts(short)}"
        if self._impossible is None:
            self._impossible = time.monotonic(), f"A unit needs {_amounts(needs[0])}, and {largest}."
            self._engine.on_note(self._impossible[1])
        since, sentence = self._impossible
        if time.monotonic() - since > GIVE_UP:
            raise InputError(sentence)


def _needs(request: Request) -> dict[str, float]:
    """Return the resources of a request by Ray's names."""
    amounts = {"CPU": 1, "GPU": request.gpus, "memory": request.memory}
    return {name: amount for name, amount in amounts.items() if amount}


def _times(node: dict[str, float], needs: dict[str, float]) -> int:
    """Return how many jobs with these needs a node could do at the same time."""
    return min(int(node.get(name, 0) // amount) for name, amount in needs.items())


def _amounts(resources: dict[str, float], last: str = " and ") -> str:
    """Return resources in words: 1 CPU and 2.5 GB of memory."""
    words = [
        f"{amount / 1e9:.1f} GB of memory" if name == "memory" else f"{amount:g} {name}{'s' * (amount != 1)}"
        for name, amount in resources.items()
    ]
    return last.join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


# On a worker


def do_unit(inbox: Any, number: int, expected: dict[str, str], shared: list[Any], job: Any) -> Any:
    """Do a job; return its reply, or a sentence if versions differ."""
    differs = next((name for name, here in versions().items() if here != expected[name]), None)
    if differs is not None:
        worker = f"Ray worker {socket.gethostname()} has {differs} {versions()[differs]}"
        return f"{worker}, and this machine {expected[differs]}. {_SAME_VERSIONS}"
    reset_peak_memory()
    return tuple(do_job(lambda: _work(tuple(shared))(lambda content: inbox.put_nowait.remote((number, content)), job)))


@lru_cache(maxsize=2)  # a worker has the graph of the last commands in memory, no more
def _work(shared: tuple[Any, ...]) -> Any:
    make, *arguments = import_ray().get(list(shared))
    return make(*arguments)


@cache
def versions() -> dict[str, str]:
    """Return the versions that must be the same everywhere for the same results."""
    python, torch = platform.python_version_tuple(), version("torch")
    return {"hiergcn": __version__, "Python": ".".join(python[:2]), "torch": torch.split("+")[0]}  # any build of torch


# The connection


def import_ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise MissingPackageError(
            "This engine needs Ray, which is not installed; run pip install 'ray[client]'."
        ) from None


def connect(ray: Any, address: str | None, workers: int | None, on_note: Callable[[str], None]) -> bool:
    """Connect to a cluster, or start one, unless this process has a connection; return whether this was the case."""
    if ray.is_initialized():
        return False
    address = address or os.environ.get(RAY_ADDRESS)
    address = None if address in ("", "auto") else address
    cluster, why = address, "No Ray cluster found; started"
    if address is None:  # where Ray itself looks
        file = Path(os.environ.get("RAY_TMPDIR") or tempfile.gettempdir(), "ray", "ray_current_cluster")
        cluster = (file.read_text(encoding="utf-8").strip() or None) if file.exists() else None
    if cluster not in (None, "local"):
        try:
            _check_listening(cluster)
        except InputError:
            if address is not None:
                raise
            why, cluster = f"Nothing answers at {cluster}, the last Ray cluster of this machine; started", None
    in_main = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in STOPPING} if in_main else {}  # Ray replaces them
    unset = "RAY_USAGE_STATS_ENABLED" not in os.environ
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        if cluster in (None, "local"):
            ray.init(address="local", num_cpus=workers, include_dashboard=False, **_QUIET)
            on_note(f"{why} one on this machine, {_amounts({'CPU': ray.cluster_resources().get('CPU', 0)})}.")
            return True
        for left in (2, 1, 0):
            try:
                ray.init(address=address, **_QUIET)
                break
            except (OSError, RuntimeError) as error:
                if not left or "Starting Ray client server failed" not in str(error):  # on a busy machine, now and then
                    raise
        return True
    except Exception as error:  # Ray raises plain exceptions
        said = " ".join(str(error).split())
        reasons = [meaning for words, meaning in _REASONS.items() if words in f"{error} {error.__cause__ or ''}"]
        if "Version mismatch:" in said:
            have = said.partition("Version mismatch: ")[2]
            reasons = [f"It has other versions than this machine: {have}. Install the same versions of Ray and Python."]
        reason = reasons[0] if reasons else f"Ray says: {said:.300}"
        failed = f"No connection to the Ray cluster at {cluster}." if cluster else "Ray could not be started here."
        raise InputError(f"{failed} {reason}") from None
    finally:
        if unset:
            os.environ.pop("RAY_USAGE_STATS_ENABLED", None)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _check_listening(address: str) -> None:
    """Raise an error unless something listens at HOST:PORT or ray://HOST:PORT."""
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if host is None or port is None or parts.scheme not in ("", "ray"):
        raise InputError(f"{address} is not the address of a Ray cluster; give HOST:PORT or ray://HOST:PORT.")
    try:
        socket.create_connection((host, port), CONNECT_SECONDS).close()
    except OSError as error:
        raise InputError(
            f"Nothing answers at {address} ({error.strerror or error}). See that the Ray cluster runs, and that this "
            "machine can reach it."
        ) from None
