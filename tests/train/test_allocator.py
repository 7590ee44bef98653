"""Freed memory is kept during training."""

import subprocess
import sys

import pytest

from hiergcn.train import allocator
from hiergcn.train.allocator import kept_memory

COUNT_PAGES = """
import resource, torch
from hiergcn.train.allocator import kept_memory

def new_pages(repeats):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(repeats):
        torch.ones(2**24)  # 64 MB, or 16,384 pages, which glibc would return to the system each time
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

with kept_memory():
    torch.ones(2**26)
    kept = new_pages(4)
print(kept, new_pages(4))
"""


@pytest.mark.skipif(allocator._glibc() is None, reason="needs glibc")
def test_large_tensors_reuse_memory_in_training_only() -> None:
    """In a process of its own: in one that has done much else, the heap may not be able to grow."""
    done = subprocess.run([sys.executable, "-c", COUNT_PAGES], capture_output=True, text=True, check=True)
    kept, returned = map(int, done.stdout.split())
    assert kept <= 16_384 < returned


def test_other_c_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator, "_glibc", lambda: None)
    with kept_memory():
        pass
