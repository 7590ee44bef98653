"""Ctrl-C keeps what is finished."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

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


def interrupt_after(process: "subprocess.Popen[str]", words: str) -> tuple[str, str]:
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith(words):
                process.send_signal(signal.SIGINT)
                return process.communicate(timeout=100)
        raise AssertionError(f"{words!r} was never printed: {process.communicate(timeout=10)}")
    finally:
        process.kill()


def test_finished_seeds_are_kept(own_files: Path) -> None:
    process = start(own_files, "--seeds", "100000", "--set", "epochs=100")
    out, err = interrupt_after(process, "seed 0: validation")
    assert process.returncode == 130, err
    assert "Traceback" not in err
    metrics = json.loads((own_files / "run" / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["interrupted"] is True
    assert metrics["seeds"] == list(range(len(metrics["seeds"])))
    assert f"the {len(metrics['seeds'])} of 100000 seeds" in out
    assert "stopped early" in (own_files / "run" / "report.html").read_text(encoding="utf-8")


def test_before_the_first_seed_nothing_is_written(own_files: Path) -> None:
    before = sorted(own_files.iterdir())
    process = start(own_files, "--seeds", "3", "--set", "epochs=1000000")
    _, err = interrupt_after(process, "Coarsened")
    assert process.returncode == 130
    assert err == "Stopped before the first seed was finished: nothing was written.\n"
    assert sorted(own_files.iterdir()) == before
