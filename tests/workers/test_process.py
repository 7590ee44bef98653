"""Work in a process of its own: its memory is measured, its end is noticed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hiergcn.errors import InputError
from hiergcn.workers.process import Send, Work, Worker, WorkFailedError, in_own_process, interrupts_blocked


def hold(send: Send, megabytes: int) -> int:
    send("holding")
    return int(np.ones(megabytes * 2**17).sum())


def die(send: Send) -> None:
    os.kill(os.getpid(), 9)


def complain(send: Send) -> None:
    raise InputError("The pot is empty; fill it.")


def test_peak_memory_is_that_of_the_work_alone() -> None:
    ballast = np.ones(400 * 2**17)  # 400 MB here must not count there
    messages: list[str] = []
    _, small = in_own_process(hold, 1, on_message=messages.append)
    _, large = in_own_process(hold, 200)
    assert ballast.size
    assert messages == ["holding"]
    assert small.resident is not None
    assert large.resident is not None
    assert 190 * 2**20 < large.resident - small.resident < 215 * 2**20


def test_a_killed_process_is_an_error() -> None:
    with pytest.raises(WorkFailedError, match="killed by SIGKILL, probably out of memory"):
        in_own_process(die)


def test_an_error_of_the_work_keeps_its_message() -> None:
    with pytest.raises(WorkFailedError, match="The pot is empty; fill it"):
        in_own_process(complain)


def sleep(send: Send) -> None:
    time.sleep(60)


def test_silent_work_is_ended_at_the_limit() -> None:
    began = time.monotonic()
    with pytest.raises(WorkFailedError, match=r"ended after 0\.5 s"):
        in_own_process(sleep, limit=0.5)
    assert time.monotonic() - began < 30


@pytest.fixture
def at_interrupt() -> Iterator[Callable[[Any], Any]]:
    """Sets the handler of SIGINT, and restores the old one."""
    before = signal.getsignal(signal.SIGINT)
    yield lambda handler: signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_until_processes_are_started(at_interrupt: Callable[[Any], Any]) -> None:
    at_interrupt(signal.default_int_handler)
    reached = []

    def disturbed() -> None:
        with interrupts_blocked():
            signal.raise_signal(signal.SIGINT)
            reached.append("end")

    with pytest.raises(KeyboardInterrupt):
        disturbed()
    assert reached == ["end"]


@pytest.mark.parametrize("in_thread", [False, True])
def test_processes_that_are_started_meanwhile_ignore_it(in_thread: bool) -> None:
    """As in a terminal, where Ctrl-C goes to all of them. Python would refuse a handler in another thread."""
    waits = "import time; print('started', flush=True); time.sleep(0.5); print('still here')"

    def started() -> "subprocess.Popen[str]":
        with interrupts_blocked():
            return subprocess.Popen([sys.executable, "-c", waits], stdout=subprocess.PIPE, text=True)

    if in_thread:
        with ThreadPoolExecutor(1) as pool:
            process = pool.submit(started).result()
    else:
        process = started()
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "still here\n"
    assert process.returncode == 0
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())


def test_ignored_interrupts_stay_ignored(at_interrupt: Callable[[Any], Any]) -> None:
    at_interrupt(signal.SIG_IGN)
    with interrupts_blocked():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def counter(first: int) -> Work:
    """Work that keeps something between jobs."""
    done = first

    def count(send: Send, job: int) -> tuple[int, int]:
        nonlocal done
        done += 1
        if job == 13:
            raise InputError("13 is not a job.")
        send(job)
        return job, done

    return count


def test_a_worker_goes_on_after_a_failure() -> None:
    worker = Worker(counter, 0)
    worker.start(13)
    assert worker.receive()[:2] == ("failure", "13 is not a job.")
    worker.start(5)
    message, result = worker.receive(), worker.receive()
    assert message[:2] == ("message", 5)
    assert result[:2] == ("result", (5, 2))
    assert result.peak.resident is not None
    worker.process.kill()
    assert worker.receive().kind == "death"
    worker.end()


BUSY = "re.match('(a+)+$', 'a' * 60 + 'b')"  # does not let other threads of the process run
"""A worker that cannot run Python code for years: only the kernel ends it in time."""


@pytest.mark.parametrize("doing", ["time.sleep(600)", BUSY])
def test_workers_end_when_their_parent_is_killed(tmp_path: Path, doing: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, re, time\n"
        "from hiergcn.workers.process import in_own_process\n"
        "def work(send):\n"
        "    send(os.getpid())\n"
        f"    {doing}\n"
        "if __name__ == '__main__':\n"
        "    in_own_process(work, on_message=lambda pid: print(pid, flush=True))\n",
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


def ended_from_outside(send: Send) -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)


def test_a_worker_ended_by_a_scheduler_stops_the_caller_as_ctrl_c_does() -> None:
    """Signals go to a whole group: finished seeds are kept although the workers die first."""
    with pytest.raises(KeyboardInterrupt):
        in_own_process(ended_from_outside)
