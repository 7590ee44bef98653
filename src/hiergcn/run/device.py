"""Where to compute."""

import torch

from hiergcn.errors import InputError


def choose_device(name: str = "auto") -> torch.device:
    """`auto` is the first GPU that CUDA knows, else the CPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f"There is no device named {name!r}; give auto, cpu or cuda.") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError("torch finds no CUDA device here; give --device cpu, or install a CUDA build of torch.")
    return device
