"""Seeds in processes of their own, a thread each: how a CPU with several cores trains them side by side."""

import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Any

import torch

from hiergcn.coarsen import Hierarchy
from hiergcn.errors import HierGCNError
from hiergcn.graph.task import Task
from hiergcn.model.method import Method, Prepared
from hiergcn.model.registry import build_method
from hiergcn.run.settings import Settings
from hiergcn.train.config import TrainConfig
from hiergcn.train.loop import SeedOutcome
from hiergcn.train.runs import train_runs

_CPU = torch.device("cpu")
_PAUSE = 0.2  # seconds between two looks at what the processes say

OnEpoch = Callable[[int, int, float], None]
"""Gets the seed, the epoch and the best validation accuracy so far."""


class ProcessDiedError(HierGCNError):
    """A process ended without a word."""


def train_in_processes(
    settings: Settings,
    task: Task,
    hierarchy: Hierarchy | None,
    seeds: Sequence[int],
    workers: int,
    on_epoch: OnEpoch | None = None,
) -> Iterator[SeedOutcome]:
    """Train every seed and give the outcomes in their order, each what it would be in this process.

    Leaving early, as Ctrl-C does, ends the processes too.
    """
    context = get_context("spawn")  # threads of torch and numba do not survive a fork
    news, leave = context.Queue(), context.Event()
    begin = (news, leave, settings, task, hierarchy)
    pool = ProcessPoolExecutor(min(workers, len(seeds)), mp_context=context, initializer=_begin, initargs=begin)
    try:
        with interrupted_later():
            running = deque(pool.submit(_train, seed) for seed in seeds)
        while running:
            wait([running[0]], timeout=_PAUSE)
            while not news.empty():
                told = news.get()
                if on_epoch:
                    on_epoch(*told)
            if running[0].done():
                outcome = running.popleft().result()
                yield replace(outcome, weights=_as_tensors(outcome.weights))
    except BrokenProcessPool:
        raise ProcessDiedError(
            "A process that trained a seed ended without a word, perhaps for want of memory; give --workers 1."
        ) from None
    finally:
        leave.set()
        pool.shutdown(cancel_futures=True)


@contextmanager
def interrupted_later() -> Iterator[None]:
    """Ctrl-C takes effect at the end: a process that was told half of what it needs would die with a traceback.

    In a terminal it reaches processes that are started here too, before they can say that it is not for them: they
    are born deaf to it.
    """
    if threading.current_thread() is not threading.main_thread():
        with _held_back():  # for the new processes; here Python interrupts the main thread alone
            yield
        return
    came = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        with _held_back():
            yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)


@contextmanager
def _held_back() -> Iterator[None]:
    """Ctrl-C waits, here and in processes that are started now; in these for ever. Windows cannot do so."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass(frozen=True, eq=False)
class _Place:
    """What a process needs for every seed."""

    news: Any
    leave: Any
    method: Method
    prepared: Prepared
    task: Task
    config: TrainConfig


_place: _Place  # of this process, which does nothing else


def _begin(news: Any, leave: Any, settings: Settings, task: Task, hierarchy: Hierarchy | None) -> None:
    global _place  # a pool gives its processes no other way to keep what they share
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits
    torch.set_num_threads(1)
    method = build_method(settings.method, settings.model)
    _place = _Place(news, leave, method, method.prepare(task, hierarchy, _CPU), task, settings.train)


def _train(seed: int) -> SeedOutcome:
    spoke = time.monotonic()

    def tell(seed: int, epoch: int, best: float) -> None:
        nonlocal spoke
        if _place.leave.is_set():
            raise KeyboardInterrupt
        if time.monotonic() - spoke > _PAUSE:
            spoke = time.monotonic()
            _place.news.put((seed, epoch, best))

    runs = [(_place.task, seed)]
    (outcome,) = train_runs(_place.method, _place.prepared, runs, _place.config, _CPU, tell)
    return replace(outcome, weights=_as_arrays(outcome.weights))


def _as_arrays(weights: Any) -> Any:
    """Tensors would be sent as files that this process must keep open."""
    return None if weights is None else {name: value.numpy() for name, value in weights.items()}


def _as_tensors(weights: Any) -> Any:
    return None if weights is None else {name: torch.from_numpy(value) for name, value in weights.items()}
