"""Jobs in this process and in others: the same results, in order, and nothing left behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness import in_own_process
from hiergcn.errors import InputError
from hiergcn.workers.pool import Engine, Pool, Request, Send, Work, WorkFailedError, interrupts_blocked
from hiergcn.workers.pool import open_engine as opened


def counter(first: int) -> Work:
    """Work that keeps something between jobs."""
    done = first

    def count(send: Send, job: int) -> tuple[int, int, int]:
        nonlocal done
        done += 1
        if job == 13:
            raise InputError("13 is not a job.")
        if job == 99:
            os._exit(1)
        send(job)
        return job, done, os.getpid()

    return count


def requested(jobs: Iterable[int]) -> Iterator[tuple[int, Request]]:
    return ((job, Request()) for job in jobs)


@pytest.mark.parametrize("processes", [2, 0])
def test_jobs_are_shared_and_results_come_in_their_order(processes: int) -> None:
    messages: list[int] = []
    with Engine(processes).pool(counter, 100) as pool:
        found = list(pool.results(requested(range(6)), messages.append))
    assert [job for job, _, _ in found] == list(range(6))
    assert sorted(messages) == list(range(6))
    assert max(done for _, done, _ in found) > 101  # a worker is set up once for several jobs
    assert not multiprocessing.active_children()


def test_a_failure_and_a_death_leave_the_other_jobs() -> None:
    with Pool(counter, 0, processes=2) as pool:
        last = dict(pool.replies(requested([1, 13, 99, 4, 5])))
    assert [last[number].kind for number in range(5)] == ["result", "failure", "death", "result", "result"]
    assert last[1].content == "13 is not a job."
    assert last[1].peak.resident is not None
    assert last[2].content == "The worker process ended with exit code 1 before it had a result."
    assert not multiprocessing.active_children()


def test_leaving_early_ends_the_workers() -> None:
    with pytest.raises(WorkFailedError, match=r"13 is not a job\."), Pool(counter, 0, processes=2) as pool:
        list(pool.results(requested([13, *range(100)])))
    assert not multiprocessing.active_children()


def test_the_next_job_is_taken_when_there_is_a_place() -> None:
    taken: list[int] = []

    def jobs() -> Iterator[tuple[int, Request]]:
        for job in range(3):
            taken.append(job)
            yield job, Request()

    with Pool(counter, 0, processes=0) as pool:
        seen = [len(taken) for _, reply in pool.replies(jobs()) if reply.kind == "result"]
    assert seen == [1, 2, 3]


def test_jobs_with_a_gpu_have_processes_of_their_own() -> None:
    """So that only those hold memory of a GPU."""
    found: dict[int, set[int]] = {0: set(), 1: set()}
    with Pool(counter, 0, processes=2) as pool:
        for gpus in (0, 1, 0, 1):
            pool.start(gpus, 1, Request(gpus=gpus))
            while (reply := pool.wait()[-1][1]).kind == "message":
                pass
            found[gpus].add(reply.content[2])
    assert len(found[0]) == len(found[1]) == 1
    assert found[0] != found[1]


def test_engines_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    for name in (None, "local"):
        with opened(name) as engine:
            assert engine is None
    with pytest.raises(InputError, match="There is no engine named 'spark'; give local, ray or ray://HOST:PORT"):
        opened("spark").__enter__()


def hold(megabytes: int) -> int:
    return int(np.ones(megabytes * 2**17).sum())


def test_peak_memory_is_that_of_the_work_alone() -> None:
    ballast = np.ones(400 * 2**17)  # 400 MB here must not count there
    _, small = in_own_process(hold, 1)
    _, large = in_own_process(hold, 200)
    assert ballast.size
    assert small.resident is not None
    assert large.resident is not None
    assert 190 * 2**20 < large.resident - small.resident < 215 * 2**20


def kill_itself(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(60)


def complain() -> None:
    raise InputError("The pot is empty; fill it.")


def sleep() -> None:
    time.sleep(60)


def test_work_without_a_result_gives_the_reason() -> None:
    with pytest.raises(WorkFailedError, match="killed by SIGKILL, probably out of memory"):
        in_own_process(kill_itself, signal.SIGKILL)
    with pytest.raises(WorkFailedError, match="The pot is empty; fill it"):
        in_own_process(complain)
    with pytest.raises(WorkFailedError, match=r"ended after 0\.5 s"):
        in_own_process(sleep, limit=0.5)
    assert not multiprocessing.active_children()


def test_a_worker_ended_by_a_scheduler_stops_the_caller_as_ctrl_c_does() -> None:
    """Signals go to a whole group: finished seeds are kept although the workers die first."""
    with pytest.raises(KeyboardInterrupt):
        in_own_process(kill_itself, signal.SIGTERM)


@pytest.mark.parametrize("handler", [signal.default_int_handler, signal.SIG_IGN])
def test_an_interrupt_waits_until_processes_are_started(handler: Any) -> None:
    before, reached = signal.signal(signal.SIGINT, handler), []
    try:
        with interrupts_blocked():
            signal.raise_signal(signal.SIGINT)
            reached.append("end")
        reached.append("after")
    except KeyboardInterrupt:
        reached.append("interrupt")
    finally:
        assert signal.signal(signal.SIGINT, before) is handler
    assert reached == ["end", "after" if handler is signal.SIG_IGN else "interrupt"]


@pytest.mark.parametrize("in_thread", [False, True])
def test_processes_that_are_started_meanwhile_ignore_it(in_thread: bool) -> None:
    """As in a terminal, where Ctrl-C goes to all of them. Python would refuse a handler in another thread."""
    waits = "import time; print('started', flush=True); time.sleep(0.5); print('still here')"

    def started() -> "subprocess.Popen[str]":
        with interrupts_blocked():
            assert (threading.current_thread() is threading.main_thread()) is not in_thread
            return subprocess.Popen([sys.executable, "-c", waits], stdout=subprocess.PIPE, text=True)

    with ThreadPoolExecutor(1) as threads, threads.submit(started).result() if in_thread else started() as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "still here\n"
    assert process.returncode == 0
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())


BUSY = "re.match('(a+)+$', 'a' * 60 + 'b')"  # does not let other threads of the process run
"""A worker that cannot run Python code for years: only the kernel ends it in time."""


@pytest.mark.parametrize("doing", ["time.sleep(600)", BUSY])
def test_workers_end_when_their_parent_is_killed(tmp_path: Path, doing: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, re, time\n"
        "from hiergcn.workers.pool import Pool, Request\n"
        "def work():\n"
        "    def do(send, job):\n"
        "        send(os.getpid())\n"
        f"        {doing}\n"
        "    return do\n"
        "if __name__ == '__main__':\n"
        "    list(Pool(work).results([(1, Request())], lambda pid: print(pid, flush=True)))\n",
        encoding="utf-8",
    )
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
    for _ in range(100):
        if not Path(f"/proc/{child}/cmdline").exists() or not Path(f"/proc/{child}/cmdline").read_bytes():
            return  # gone, or waiting for its parent's successor
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the worker outlived its parent")
