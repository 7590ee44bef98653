"""Units in this process and in others: the same results, in order, and nothing left behind."""

import multiprocessing
import os
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from hiergcn.errors import InputError
from hiergcn.workers.engine import Processes, Request, open_engine, replies, results
from hiergcn.workers.process import Send, Work, WorkFailedError


def counter(first: int) -> Work:
    """Work that keeps something between jobs."""
    done = first

    def count(send: Send, job: int) -> tuple[int, int]:
        nonlocal done
        done += 1
        if job == 13:
            raise InputError("13 is not a job.")
        if job == 99:
            os._exit(1)
        send(job)
        return job, done

    return count


def requested(jobs: Iterable[int]) -> Iterator[tuple[int, Request]]:
    return ((job, Request()) for job in jobs)


@pytest.mark.parametrize("engine", [Processes(2), Processes(1, apart=False)], ids=["processes", "inline"])
def test_jobs_are_shared_and_results_come_in_their_order(engine: Processes) -> None:
    messages: list[int] = []
    with engine.pool(counter, 100) as pool:
        found = list(results(pool, requested(range(6)), messages.append))
    assert [job for job, _ in found] == list(range(6))
    assert sorted(messages) == list(range(6))
    assert max(done for _, done in found) > 101  # a worker is set up once for several jobs
    assert not multiprocessing.active_children()


def test_a_failure_and_a_death_leave_the_other_jobs() -> None:
    with Processes(2).pool(counter, 0) as pool:
        last = dict(replies(pool, requested([1, 13, 99, 4, 5])))
    assert [last[number].kind for number in range(5)] == ["result", "failure", "death", "result", "result"]
    assert last[1].content == "13 is not a job."
    assert "exit code 1" in last[2].content
    assert not multiprocessing.active_children()


def test_leaving_early_ends_the_workers() -> None:
    with pytest.raises(WorkFailedError, match=r"13 is not a job\."), Processes(2).pool(counter, 0) as pool:
        list(results(pool, requested([13, *range(100)])))
    assert not multiprocessing.active_children()


def test_the_next_job_is_taken_when_there_is_a_place() -> None:
    taken: list[int] = []

    def jobs() -> Iterator[tuple[int, Request]]:
        for job in range(3):
            taken.append(job)
            yield job, Request()

    seen: list[Any] = []
    with Processes(1, apart=False).pool(counter, 0) as pool:
        for _, reply in replies(pool, jobs()):
            if reply.kind == "result":
                seen.append(len(taken))
    assert seen == [1, 2, 3]


def test_engines_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    for name in (None, "local"):
        with open_engine(name) as engine:
            assert engine is None
    with pytest.raises(InputError, match="There is no engine named 'spark'; give local, ray or ray://HOST:PORT"):
        open_engine("spark").__enter__()
