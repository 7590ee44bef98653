"""Freed memory is kept during training."""

import resource

import pytest
import torch

from hiergcn.train import allocator
from hiergcn.train.allocator import kept_memory


def new_pages(repeats: int) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(repeats):
        torch.ones(2**24)  # 64 MB, or 16,384 pages, which glibc would return to the system each time
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.skipif(allocator._glibc() is None, reason="needs glibc")
def test_large_tensors_reuse_memory_in_training_only() -> None:
    with kept_memory():
        torch.ones(2**26)
        kept = new_pages(4)
    assert kept <= 16_384 < new_pages(4)


def test_other_c_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator, "_glibc", lambda: None)
    with kept_memory():
        pass
