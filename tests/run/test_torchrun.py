"""Ranks of torchrun over gloo: the bits of one process."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from torch import distributed

from hiergcn.datasets import planted_graph
from hiergcn.graph import Split

pytestmark = pytest.mark.skipif(
    not distributed.is_available() or not distributed.is_gloo_available(), reason="this torch has no gloo"
)
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
SETTINGS = ["--model", "hgcn-plus", "--seeds", "1", "--device", "cpu", "--no-baselines", "--no-advice"]
FILES = ("model.safetensors", "predictions.csv", "history.csv")


def start(folder: Path, out: str, *launcher: str, epochs: int, more: tuple[str, ...] = ()) -> "subprocess.Popen[str]":
    changes = {"batches": 4, "levels": 2, "epochs": epochs, "batch_validation": True, "input_dropout_on": "propagated"}
    given = [part for name, value in changes.items() for part in ("--set", f"{name}={value}")]
    command = [sys.executable, *launcher, "-m", "hiergcn", "fit", "g.npz", *SETTINGS, *given, "--out", out, *more]
    variables = os.environ | {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def ended(process: "subprocess.Popen[str]") -> str:
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    return out


def test_two_ranks_give_the_bits_of_one_process(tmp_path: Path) -> None:
    graph = planted_graph(150, classes=3, degree=6, features=7, seed=1)
    assert graph.labels is not None
    split = Split.random(graph.labels, per_class=6, validation=30, seed=0)
    replace(graph, split=split).to_npz(tmp_path / "g.npz")
    ended(start(tmp_path, "one", epochs=4))
    out = ended(start(tmp_path, "two", *TORCHRUN, epochs=4, more=("--checkpoint-every", "0")))
    assert out.count("Predictions:") == 1  # only rank 0 prints
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.npz", "one", "two"]
