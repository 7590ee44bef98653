"""Measurements."""

import subprocess
import sys

import pytest

from hiergcn.workers import machine
from hiergcn_experiments.paper import measures


@pytest.mark.skipif(not machine.RESET_PEAK.exists(), reason="needs Linux")
def test_training_takes_some_memory_and_less_than_the_machine_has() -> None:
    """In a process of its own: one that has trained before may hold enough memory already."""
    code = "from hiergcn_experiments.paper import measures; print(measures.memory('cora', 'gcn')['bytes'])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert 0 < int(printed) < 2**32


def test_seconds_are_measured_for_every_method() -> None:
    found = measures.cost(1_000, 10)
    assert found["nodes"] == 1_000
    assert all(found[name] > 0 for name in ("coarsen", "hgcn_prepare", "hgcn_epoch", "gcn_prepare", "gcn_epoch"))
