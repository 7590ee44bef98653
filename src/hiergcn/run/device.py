"""Where to compute."""

import os

import torch

from hiergcn.errors import InputError


def choose_device(name: str = "auto") -> torch.device:
    """`auto` is the first GPU that CUDA knows, else the CPU.

    On a CPU the products are small: threads would wait for each other longer than they work, so there is one, unless
    the environment says otherwise (OMP_NUM_THREADS). A GPU that is named (`cuda:1`) becomes the one that streams and
    kernels are made for.
    """
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    unknown = InputError(f"There is no device named {name!r} here; give auto, cpu or cuda.")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise unknown from None
    if device.type not in ("cpu", "cuda"):
        raise unknown
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError("torch finds no CUDA device here; give --device cpu, or install a CUDA build of torch.")
    if device.type == "cuda" and device.index is not None:
        if device.index >= torch.cuda.device_count():
            raise unknown
        torch.cuda.set_device(device)
    return device


def cores() -> int:
    """The cores of the CPU that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
