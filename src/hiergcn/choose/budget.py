"""The time of the automatic choice, counted so that the same seed gives the same answer.

If a clock decided which candidates are tried, two runs on one machine would differ. So on a CPU an epoch has a price:
the seconds that it takes, estimated from the memory that it goes through. Prices decide what is tried and
for how many epochs. The clock ends a choice only if the machine is slower than that. A GPU has no prices, since there a
choice is seldom short of time.

Candidates may train side by side, in lanes. What is tried next depends on the results so far. If a lane were free again
when its worker happens to be done, two runs would differ. So a lane is busy for the price of its job, and jobs end in
the order of their prices: one that is done is kept back until every other has gone on for longer, by price. On a GPU,
where all prices are 0, jobs end as they come.
"""

import math
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from hiergcn.model.method import MemoryPlan
from hiergcn.settings.registry import method_info
from hiergcn.workers.pool import Pool, Reply, Request

LONGEST = 300.0
"""Most seconds of the automatic choice, unless the caller gives a limit."""

_SHORTEST, _SMALL, _PER_NODE = 2.0, 300, 0.08  # seconds, for up to so many nodes, and for each further one
_USUAL = 42.0  # seconds, of most graphs
_MEDIUM = 2_500  # nodes, from which on the limit grows with the square root of their number


def default_limit(n_nodes: int) -> float:
    """Return the seconds of the automatic choice: 2 for up to 300 nodes, 42 for 800, 119 for 20,000, at most 300."""
    usual = min(_SHORTEST + _PER_NODE * max(n_nodes - _SMALL, 0), _USUAL)
    return min(usual * math.sqrt(max(n_nodes / _MEDIUM, 1.0)), LONGEST)


def epoch_price(method: str, plan: MemoryPlan, on_gpu: bool) -> float:
    """Return the seconds of an epoch on a CPU; 0 on a GPU."""
    if on_gpu:
        return 0.0
    price = method_info(method).price
    return price.tiny + price.per_activation * plan.temporary + price.per_feature * plan.structure


class Budget:
    """Seconds that may be spent, by price and by the clock.

    Args:
        limit: seconds in all.
        clock: of this machine.
    """

    def __init__(self, limit: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit, self.clock = limit, clock
        self.spent = 0.0
        self.began = clock()

    def seconds(self) -> float:
        """Return the seconds since the start, by the clock."""
        return self.clock() - self.began

    def left(self, share: float = 1.0) -> float:
        """Return the seconds that are left of a share of the limit, by price."""
        return share * self.limit - self.spent

    def is_over(self, share: float = 1.0, grace: float = 0.0) -> bool:
        """Return whether the clock is past a share of the limit, and past `grace` seconds from the start."""
        return self.seconds() > max(share * self.limit, grace)


@dataclass(eq=False)
class _Running:
    began: float  # by price
    epoch: float  # price of one
    memory: int
    epochs: float = 0
    reply: Reply | None = None

    @property
    def time(self) -> float:
        return self.began + self.epoch * self.epochs


class Lanes:
    """Lanes that are free from `began` seconds on, by price.

    Jobs send the number of their epochs now and then, and at their end.
    """

    def __init__(self, pool: Pool, count: int, began: float = 0.0) -> None:
        self.count, self._pool = count, pool
        self.free = [began] * count
        """Seconds, by price, from which each free lane is free."""
        self.running: dict[Any, _Running] = {}
        """The jobs that have not ended, by their keys."""

    @property
    def now(self) -> float:
        """Seconds, by price, at which the next job begins; a lane must be free."""
        return min(self.free)

    def start(self, key: Hashable, job: Any, epoch: float, memory: int = 0) -> None:
        """Begin a job in the lane that was free first; `epoch` is the price of one of its epochs."""
        began = self.now
        self.free.remove(began)
        self.running[key] = _Running(began, epoch, memory)
        self._pool.start(key, job, Request(memory))

    def wait(self) -> tuple[Any, Reply, float]:
        """Wait for the job that ends next by price: no job without a reply may have gone on for less.

        Return its key, its reply and its price.
        """
        while True:
            jobs = self.running.values()
            done = {key: job for key, job in self.running.items() if job.reply is not None}
            first = min(done, key=lambda key: done[key].time, default=None)
            if first is not None and all(job.reply or job.time >= done[first].time for job in jobs):
                break
            for key, reply in self._pool.wait():
                if reply.kind == "message":
                    self.running[key].epochs = reply.content
                else:
                    self.running[key].reply = reply
        job = self.running.pop(first)
        assert job.reply is not None
        self.free.append(job.time)
        return first, job.reply, job.time - job.began
