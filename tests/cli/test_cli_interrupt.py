"""Ctrl-C keeps what is finished, and so do SIGTERM and a closed terminal; no process is left behind."""

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

COMMAND = [sys.executable, "-m", "hiergcn", "fit", "edges.csv", "nodes.csv", "--label", "topic", "--id", "paper"]
OPTIONS = ["--model", "gcn", "--set", "hidden=8", "--out", "run", "--no-baselines", "--no-advice"]
MANY = ["--seeds", "100000", "--set", "epochs=100"]


def start(folder: Path, *words: str, **given: Any) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*COMMAND, *OPTIONS, *words],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        text=True,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "preexec_fn": heed_interrupts, **given},
    )


def heed_interrupts() -> None:
    """Where a shell runs the tests in the background, they and all they start are deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def take_terminal() -> None:
    """Make standard input the terminal of the process, as a shell's window is."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whatever the tests were started by
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def wait_until(condition: Callable[[], object], process: "subprocess.Popen[str]") -> None:
    end = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(("end", "workers"), [(signal.SIGINT, "2"), (signal.SIGTERM, "1"), ("closed terminal", "1")])
def test_finished_seeds_are_kept(own_files: Path, end: signal.Signals | str, workers: str) -> None:
    """SIGTERM, which schedulers send, once lost them."""
    master, slave = pty.openpty()
    window = dict.fromkeys(("stdin", "stdout", "stderr"), slave) | {"preexec_fn": take_terminal}
    given = {"start_new_session": True, **window} if end == "closed terminal" else {}
    process = start(own_files, *MANY, "--workers", workers, **given)
    os.close(slave)
    try:
        wait_until(lambda: len(list(own_files.glob("run.checkpoint/*-finished.safetensors"))) > 1, process)
        os.close(master)  # a terminal that is closed sends SIGHUP, and takes nothing any more
        if isinstance(end, signal.Signals):
            process.send_signal(end)
        out, err = process.communicate(timeout=100)
    finally:
        process.kill()
    assert process.returncode == 130, err
    metrics = json.loads((own_files / "run" / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["interrupted"] is True
    assert metrics["seeds"] == list(range(len(metrics["seeds"])))
    assert "stopped early" in (own_files / "run" / "report.html").read_text(encoding="utf-8")
    if isinstance(end, signal.Signals):
        assert "Traceback" not in err
        assert f"that of {len(metrics['seeds'])} of 100000 seeds" in out


def test_before_the_first_seed_only_a_checkpoint_is_written(own_files: Path) -> None:
    before = set(own_files.iterdir())
    process = start(own_files, "--seeds", "3", "--set", "epochs=1000000")
    try:
        wait_until((own_files / "run.checkpoint" / "run.json").exists, process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=100)
    finally:
        process.kill()
    assert process.returncode == 130
    assert err == "Stopped before the first seed was finished: the same command goes on with --resume.\n"
    assert {path.name for path in set(own_files.iterdir()) - before} == {"run.checkpoint"}


def children(parent: int) -> set[int]:
    """The processes that a process has started and that are still there."""
    lines = subprocess.run(["ps", "-eo", "pid=,ppid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in lines.splitlines()]
    return {int(pid) for pid, ppid, stat in rows if int(ppid) == parent and not stat.startswith("Z")}


def gone(processes: set[int]) -> bool:
    lines = subprocess.run(["ps", "-eo", "pid=,stat="], capture_output=True, text=True, check=True).stdout
    left = {int(pid) for pid, stat in map(str.split, lines.splitlines()) if not stat.startswith("Z")}
    return not processes & left


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_no_worker_is_left_behind(own_files: Path, end: signal.Signals) -> None:
    """Two workers of half a gigabyte once stayed when their parent was ended."""
    process = start(own_files, *MANY, "--workers", "2")
    try:
        wait_until(lambda: len(children(process.pid)) >= 3, process)  # two workers, and Python's tracker of resources
        started = children(process.pid)
        process.send_signal(end)
        process.communicate(timeout=100)
        for _ in range(300):
            if gone(started):
                return
            time.sleep(0.1)
        pytest.fail("a worker outlived its parent")
    finally:
        process.kill()
