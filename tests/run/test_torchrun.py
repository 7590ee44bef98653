"""Ranks of torchrun over gloo: the bits of one process, though a rank is killed."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import distributed

from hiergcn.datasets import planted_graph
from hiergcn.graph import Split

pytestmark = pytest.mark.skipif(
    not distributed.is_available() or not distributed.is_gloo_available(), reason="this torch has no gloo"
)
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--max-restarts", "1", "--nproc-per-node"]
SETTINGS = ["--model", "hgcn-plus", "--seeds", "2", "--no-baselines", "--no-advice", "--checkpoint-every", "0"]
CHANGES = {"batches": 4, "levels": 2, "epochs": 120, "batch_validation": True, "input_dropout_on": "propagated"}
FILES = ("model.safetensors", "predictions.csv", "history.csv")


def start(folder: Path, out: str, *launcher: str, device: str = "cpu") -> "subprocess.Popen[str]":
    given = [part for name, value in CHANGES.items() for part in ("--set", f"{name}={value}")]
    command = [sys.executable, *launcher, "-m", "hiergcn", "fit", "g.npz", *SETTINGS, *given]
    return subprocess.Popen(
        [*command, "--device", device, "--out", out],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(process: "subprocess.Popen[str]") -> str:
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    return out


def ranks_of(torchrun: int) -> dict[str, int]:
    """Return the processes that torchrun has started, by rank."""
    found: dict[str, int] = {}
    for child in Path(f"/proc/{torchrun}/task/{torchrun}/children").read_text().split():
        variables = Path("/proc", child, "environ").read_bytes().split(b"\0")
        found |= {one.decode()[5:]: int(child) for one in variables if one.startswith(b"RANK=")}
    return found


def in_training(checkpoint: Path) -> list[Path]:
    return [file for file in checkpoint.glob("*.safetensors") if not file.stem.endswith("-finished")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    graph = planted_graph(150, classes=3, degree=6, features=7, seed=1)
    split = Split.random(graph.truth, per_class=6, validation=30, seed=0)
    replace(graph, split=split).to_npz(tmp_path / "g.npz")
    return tmp_path


def check_same_bits(folder: Path, one: str, other: str) -> None:
    for name in FILES:
        assert (folder / one / name).read_bytes() == (folder / other / name).read_bytes(), name
    assert sorted(path.name for path in folder.iterdir()) == sorted(["g.npz", one, other])


@pytest.mark.skipif(sys.platform != "linux", reason="finds the ranks in /proc")
def test_two_ranks_give_the_bits_of_one_process_though_one_is_killed(folder: Path) -> None:
    ended(start(folder, "one"))
    torchrun = start(folder, "two", *TORCHRUN, "2")
    checkpoint = folder / "two.checkpoint"
    while torchrun.poll() is None and not (list(checkpoint.glob("*-finished*")) and in_training(checkpoint)):
        time.sleep(0.005)
    os.kill(ranks_of(torchrun.pid)["1"], signal.SIGKILL)  # in the middle of the second seed
    out = ended(torchrun)
    assert "failed (exitcode: " in out  # torchrun has seen it, or that rank 0 cannot go on without the other
    assert out.count("Reading g.npz") == 2  # and has started both ranks again
    assert out.count("Predictions:") == 1  # only rank 0 prints
    check_same_bits(folder, "one", "two")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="nccl needs a GPU")
def test_a_rank_over_nccl_gives_the_bits_of_a_process_without_it(folder: Path) -> None:
    ended(start(folder, "alone", device="cuda"))
    ended(start(folder, "rank", *TORCHRUN, "1", device="cuda"))
    check_same_bits(folder, "alone", "rank")
