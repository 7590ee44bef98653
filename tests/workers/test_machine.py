"""Devices by name."""

import pytest
import torch

from hiergcn.errors import InputError
from hiergcn.workers.machine import FEW_ENTRIES, choose_device


@pytest.mark.parametrize("name", ["abacus", "meta", "mps", "cuda:99"])
def test_a_device_that_cannot_be_used_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(InputError, match=f"no device named '{name}'"):
        choose_device(name)


def test_a_named_gpu_becomes_the_current_one(monkeypatch: pytest.MonkeyPatch) -> None:
    current: list[torch.device] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", current.append)
    assert choose_device("cuda:1") == torch.device("cuda:1")
    assert current == [torch.device("cuda:1")]
    assert choose_device("auto") == torch.device("cuda")
    assert choose_device("auto", entries=FEW_ENTRIES) == torch.device("cuda")
    assert choose_device("auto", entries=FEW_ENTRIES - 1) == torch.device("cpu")
    assert choose_device("cuda", entries=1) == torch.device("cuda")
    assert choose_device("cpu") == torch.device("cpu")
    assert len(current) == 1
