"""Ctrl-C keeps what is finished, and so do SIGTERM and a closed terminal; no process is left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from hiergcn.cli import main; main()", "fit", "edges.csv", "nodes.csv"]
OPTIONS = ["--label", "topic", "--id", "paper", "--model", "hgcn-plus", "--out", "run", "--set", "hidden=8"]


def start(folder: Path, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*COMMAND, *OPTIONS, *words],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )


def heed_interrupts() -> None:
    """Where a shell runs the tests in the background, they and all they start are deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupt_after(
    process: "subprocess.Popen[str]", words: str, number: signal.Signals = signal.SIGINT
) -> tuple[str, str]:
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith(words):
                process.send_signal(number)
                return process.communicate(timeout=100)
        raise AssertionError(f"{words!r} was never printed: {process.communicate(timeout=10)}")
    finally:
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_finished_seeds_are_kept(own_files: Path, number: signal.Signals) -> None:
    """SIGTERM, which schedulers send, once lost them."""
    process = start(own_files, "--seeds", "100000", "--set", "epochs=100", "--workers", "1", "--no-baselines")
    out, err = interrupt_after(process, "seed 0: validation", number)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    metrics = json.loads((own_files / "run" / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["interrupted"] is True
    assert metrics["seeds"] == list(range(len(metrics["seeds"])))
    assert f"the {len(metrics['seeds'])} of 100000 seeds" in out
    assert "stopped early" in (own_files / "run" / "report.html").read_text(encoding="utf-8")


def test_before_the_first_seed_only_a_checkpoint_is_written(own_files: Path) -> None:
    before = sorted(own_files.iterdir())
    process = start(own_files, "--seeds", "3", "--set", "epochs=1000000")
    _, err = interrupt_after(process, "Coarsened")
    assert process.returncode == 130
    assert err == "Stopped before the first seed was finished: the same command goes on with --resume.\n"
    left = {path.name for path in own_files.iterdir()} - {path.name for path in before}
    assert left == {"run.checkpoint"}


def children(parent: int) -> set[int]:
    """The processes that a process has started and that are still there."""
    lines = subprocess.run(["ps", "-eo", "pid=,ppid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in lines.splitlines()]
    return {int(pid) for pid, ppid, stat in rows if int(ppid) == parent and not stat.startswith("Z")}


def gone(processes: set[int]) -> bool:
    lines = subprocess.run(["ps", "-eo", "pid=,stat="], capture_output=True, text=True, check=True).stdout
    left = {int(pid) for pid, stat in map(str.split, lines.splitlines()) if not stat.startswith("Z")}
    return not processes & left


def test_no_worker_is_left_behind(own_files: Path) -> None:
    """Two workers of half a gigabyte once stayed when their parent was ended."""
    process = start(own_files, "--seeds", "100000", "--set", "epochs=100", "--workers", "2", "--no-baselines")
    try:
        for _ in range(600):
            started = children(process.pid)
            if len(started) >= 3 or process.poll() is not None:  # two workers, and Python's tracker of resources
                break
            time.sleep(0.1)
        assert process.poll() is None, process.communicate()
        process.kill()
        process.communicate(timeout=100)
        for _ in range(300):
            if gone(started):
                return
            time.sleep(0.1)
        pytest.fail("a worker outlived its parent")
    finally:
        process.kill()
