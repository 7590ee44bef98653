"""Ray as an engine: units are tasks of a cluster, which hiergcn neither starts nor stops if it is the user's.

Ray retries nothing here, and says little about tasks that wait. So a unit whose worker or node is lost is submitted
again by this module, a few times. The first message of a unit says that it has started; so it is known how many units
run, and when none can.
"""

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, Self

from hiergcn.errors import InputError
from hiergcn.workers.engine import Request
from hiergcn.workers.process import Reply, Work
from hiergcn.workers.ray_connection import connect, import_ray
from hiergcn.workers.ray_worker import REFUSED, SAME_VERSIONS, Inbox, unit_function, versions

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
        on_note: gets sentences about the cluster and its workers.
    """

    spreads = True

    def __init__(
        self, address: str | None = None, workers: int | None = None, on_note: Callable[[str], None] = lambda _: None
    ) -> None:
        self.on_note = on_note
        self.running: set[int] = set()  # numbers of units that have started
        self.numbers = count()
        self.ray = import_ray()
        self._owns = connect(self.ray, address, workers, on_note)
        self._sent: dict[int, tuple[Any, Any]] = {}  # by identity: an object and its reference in the cluster
        self._nodes: list[dict[str, float]] = []
        self._looked = -math.inf
        on_head = {"node:__internal_head__": 0.001}
        self.inbox = self.ray.remote(Inbox).options(num_cpus=0, resources=on_head, max_restarts=-1).remote()
        self.mail = self.inbox.take.remote()
        self.task = self.ray.remote(unit_function())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._owns:
            self.ray.shutdown()
        else:
            self.ray.kill(self.inbox)

    def pool(self, make: Callable[..., Work], *arguments: Any) -> "RayPool":
        """Open a pool. An object that an earlier pool has sent to the cluster is not sent again."""
        given = (make, *arguments)
        self._sent |= {id(one): (one, self.ray.put(one)) for one in given if id(one) not in self._sent}
        return RayPool(self, [self._sent[id(one)][1] for one in given])

    def device(self, name: str) -> str:
        has_gpu = self.ray.cluster_resources().get("GPU", 0) >= 1
        if name.startswith("cuda") and not has_gpu:
            raise InputError("No node of the Ray cluster has a GPU; give --device cpu.")
        return "cuda" if has_gpu and name != "cpu" else "cpu"

    def workers(self, request: Request) -> int:
        return max(sum(_times(node, request) for node in self.nodes()), 1)

    def nodes(self) -> list[dict[str, float]]:
        """Return the resources of each node that is alive."""
        if time.monotonic() - self._looked > _TICK:
            self._nodes = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
            self._looked = time.monotonic()
        return self._nodes

    def status(self) -> str:
        gpus = sum(int(node.get("GPU", 0)) for node in self.nodes())
        at_work = [node for node in self.nodes() if node.get("CPU", 0) >= 1]
        sizes = ((len(at_work), "node"), (gpus, "GPU"), (len(self.running), "unit"))
        return f"Ray: {', '.join(_counted(*size) for size in sizes)} running"

    def missing(self, request: Request) -> tuple[str, bool]:
        """Return what keeps a unit from being started, in a sentence, and whether it could be on some node."""
        needs, nodes = _needs(request), self.nodes()
        needed = f"A unit needs {_amounts(needs)}"
        if any(_times(node, request) for node in nodes):
            free = self.ray.available_resources()
            left = _amounts({name: free.get(name, 0) for name in needs})
            return f"{needed}; the Ray cluster is busy: {left} free.", True
        best = {name: max((node.get(name, 0) for node in nodes), default=0) for name in needs}
        short = {name: best[name] for name in needs if best[name] < needs[name]}
        if not short:
            return f"{needed}, and no single node of the Ray cluster has all of it.", False
        return f"{needed}, and no node of the Ray cluster has that: the largest has {_amounts(short)}.", False


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
        self._engine, self._ray, self._shared = engine, engine.ray, shared
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
            every = [*self._units, self._engine.mail]
            self._ray.wait(every, num_returns=1, timeout=_TICK)
            ready = self._ray.wait(every, num_returns=len(every), timeout=0)[0]
            found = self._messages() if self._engine.mail in ready else []
            for reference in [one for one in ready if one in self._units]:
                reply = self._reply(reference)
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
        for reference, unit in self._units.items():
            with suppress(self._ray.exceptions.RayError, ValueError):
                self._ray.cancel(reference, force=True)
            self._engine.running.discard(unit.number)

    def _submit(self, unit: _Unit) -> None:
        unit.tries += 1
        unit.number = next(self._engine.numbers)
        asked = unit.request
        task = self._engine.task.options(num_cpus=asked.cpus, num_gpus=asked.gpus, memory=asked.memory, max_retries=0)
        self._units[task.remote(self._engine.inbox, unit.number, versions(), self._shared, unit.job)] = unit

    def _reply(self, reference: Any) -> Reply:
        """Return the reply of a unit; if its worker sent none, a death with the reason."""
        errors = self._ray.exceptions
        try:
            found: Reply | tuple[str, str] = self._ray.get(reference)
        except errors.RayTaskError as error:  # outside of the job: the worker could not read it
            cause = str(error.cause or error).strip().splitlines()[-1]
            raise InputError(f"A Ray worker could not begin a unit ({cause:.200}). {SAME_VERSIONS}") from None
        except errors.RayError as error:
            name = type(error).__name__
            return Reply("death", _WORDS.get(name, f"{name}: {str(error).strip().splitlines()[0]:.200}"))
        if found[0] == REFUSED:
            raise InputError(str(found[1]))
        return Reply(*found)

    def _messages(self) -> list[tuple[Any, Reply]]:
        """Return the messages of this pool's units, and ask for more; the first one of a unit reports its start."""
        messages: list[tuple[int, Any]] = []
        with suppress(self._ray.exceptions.RayError):  # of an inbox that was lost, and is started again
            messages = self._ray.get(self._engine.mail)
        self._engine.mail = self._engine.inbox.take.remote()
        keys = {unit.number: unit.key for unit in self._units.values()}  # others have ended, or been given up
        self._engine.running |= {number for number, content in messages if content is None and number in keys}
        return [
            (keys[number], Reply("message", content))
            for number, content in messages
            if content is not None and number in keys
        ]

    def _check_progress(self, any_ready: bool) -> None:
        """Report missing resources if no unit has run for a while."""
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
