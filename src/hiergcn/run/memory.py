"""Refuse what cannot fit before it starts."""

import os

import torch

from hiergcn.errors import InputError

_GIGABYTE = 1e9


def available_memory(device: torch.device | None = None) -> int | None:
    """Bytes of the device, or of this machine, that can be had without swapping, where the system tells."""
    if device is not None and device.type == "cuda":
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0]) + cached
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def held_memory() -> int:
    """Bytes that this process holds now, where the system tells; 0 elsewhere."""
    try:
        with open("/proc/self/statm", encoding="ascii") as line:  # noqa: PTH123
            return int(line.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


def require_memory(needed: int, what: str, remedy: str, device: torch.device | None = None) -> None:
    """Raise a sentence if `needed` bytes are more than there are."""
    available = available_memory(device)
    if available is not None and needed > available:
        where = " of the GPU" if device is not None and device.type == "cuda" else ""
        raise InputError(
            f"{what[0].upper()}{what[1:]} need about {needed / _GIGABYTE:.1f} GB and "
            f"{available / _GIGABYTE:.1f} GB{where} are free; {remedy}."
        )
