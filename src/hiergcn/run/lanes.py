"""Lanes: workers in which candidates train side by side, and the order in which they count as done.

What is tried next depends on the results so far. If a lane were free again when its worker happens to be done, two runs
would differ. So a lane is busy for the price of its job (see `budget`), and jobs end in the order of their prices: one
that is done is kept back until every other has gone on for longer, by price. On a GPU, where all prices are 0, jobs end
as they come.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

from hiergcn.run.engine import Pool, Request
from hiergcn.run.process import Reply


class Ended(NamedTuple):
    """A job that has ended."""

    key: Any
    reply: Reply
    price: float


@dataclass(eq=False)
class _Running:
    began: float  # by price
    epoch: float  # price of one
    memory: int
    epochs: int = 0
    reply: Reply | None = None

    @property
    def time(self) -> float:
        return self.began + self.epoch * self.epochs


class Lanes:
    """Lanes that are free from `began` seconds on, by price.

    Jobs send the number of their epochs now and then; their results and failures have it as `epochs`.
    """

    def __init__(self, pool: Pool, count: int, began: float = 0.0) -> None:
        self.count, self._pool = count, pool
        self._free = [began] * count
        self._running: dict[Hashable, _Running] = {}

    @property
    def is_free(self) -> bool:
        return bool(self._free)

    @property
    def is_busy(self) -> bool:
        return bool(self._running)

    @property
    def running(self) -> list[Any]:
        """The keys of the jobs that have not ended."""
        return list(self._running)

    @property
    def memory(self) -> int:
        """Bytes planned for the jobs that have not ended."""
        return sum(one.memory for one in self._running.values())

    @property
    def now(self) -> float:
        """Seconds, by price, at which the next job begins; a lane must be free."""
        return min(self._free)

    def start(self, key: Hashable, job: Any, epoch: float, memory: int = 0) -> None:
        """Begin a job in the lane that was free first; `epoch` is the price of one of its epochs."""
        began = self.now
        self._free.remove(began)
        self._running[key] = _Running(began, epoch, memory)
        self._pool.start(key, job, Request(memory))

    def meet(self) -> None:
        """Have all lanes free at the same time: when the last of them was; no job must be running."""
        self._free = [max(self._free)] * self.count

    def wait(self) -> Ended:
        """Wait for the job that ends next."""
        while (key := self._next()) is None:
            for told, reply in self._pool.wait():
                one = self._running[told]
                if reply.kind == "message":
                    one.epochs = reply.content
                else:
                    one.reply = reply
                    one.epochs = getattr(reply.content, "epochs", one.epochs)
        one = self._running.pop(key)
        assert one.reply is not None
        self._free.append(one.time)
        return Ended(key, one.reply, one.time - one.began)

    def _next(self) -> Hashable | None:
        """Return the job that ends first by price, if it is known by now."""
        done = [key for key, one in self._running.items() if one.reply is not None]
        first = min(done, key=lambda key: self._running[key].time, default=None)
        if first is None or any(
            one.reply is None and one.time < self._running[first].time for one in self._running.values()
        ):
            return None
        return first
