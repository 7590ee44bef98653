"""Work in a process of its own: its memory is measured, its end is noticed."""

import os
import time

import numpy as np
import pytest

from hiergcn.errors import InputError
from hiergcn.run.process import Send, WorkFailedError, in_own_process


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


def test_a_killed_process_is_a_sentence() -> None:
    with pytest.raises(WorkFailedError, match="ended by SIGKILL, probably because memory ran out"):
        in_own_process(die)


def test_an_error_of_the_work_keeps_its_sentence() -> None:
    with pytest.raises(WorkFailedError, match="The pot is empty; fill it"):
        in_own_process(complain)


def sleep(send: Send) -> None:
    time.sleep(60)


def test_silent_work_is_ended_at_the_limit() -> None:
    began = time.monotonic()
    with pytest.raises(WorkFailedError, match=r"ended after 0\.5 s"):
        in_own_process(sleep, limit=0.5)
    assert time.monotonic() - began < 30
