"""Memory: what is free, what this process holds, and its peak."""

import ctypes
import gc
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hiergcn.errors import InputError

if TYPE_CHECKING:
    import torch

RESET_PEAK = Path("/proc/self/clear_refs")
_GIGABYTE = 1e9


@dataclass(frozen=True)
class Peak:
    """Peak memory of a process, in bytes; None if it is unknown."""

    resident: int | None
    gpu: int | None


def peak_memory() -> Peak:
    """Return the peak memory of this process so far."""
    resident = _proc_kilobytes("self/status", "VmHWM")
    with suppress(ImportError):  # on Windows
        import resource

        if resident is None:  # a child inherits this portable figure from its parent
            unit = 1 if sys.platform == "darwin" else 1024
            resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    torch = sys.modules.get("torch")
    on_gpu = torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized()
    return Peak(resident, int(torch.cuda.max_memory_allocated()) if torch is not None and on_gpu else None)


def reset_peak_memory() -> int | None:
    """Set the process's peak memory to what it holds now, and return it; None if the system cannot. Linux can.

    Memory that is free but still held is given back first, so that it does not hide what is taken later.
    """
    gc.collect()
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    try:
        RESET_PEAK.write_text("5", encoding="ascii")
    except OSError:
        return None
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.reset_peak_memory_stats()
    return peak_memory().resident


def available_memory(device: "torch.device | None" = None) -> int | None:
    """Return the free bytes of the device, or of this machine without swapping; None if the system does not say.

    The ranks of torchrun on one machine share its memory.
    """
    if device is not None and device.type == "cuda":
        import torch

        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0]) + cached
    sharing = int(os.environ.get("LOCAL_WORLD_SIZE", 1))  # ranks of torchrun on this machine
    free = _proc_kilobytes("meminfo", "MemAvailable")
    with suppress(OSError, ValueError, AttributeError):
        free = free or os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None if free is None else free // sharing


def held_memory() -> int:
    """Return the bytes that this process holds now; 0 if the system does not say."""
    return _proc_kilobytes("self/status", "VmRSS") or 0


def require_memory(needed: int, what: str, remedy: str, device: "torch.device | None" = None) -> None:
    """Raise an `InputError` if fewer than `needed` bytes are free."""
    available = available_memory(device)
    if available is not None and needed > available:
        where = " of the GPU" if device is not None and device.type == "cuda" else ""
        raise InputError(
            f"{what[0].upper()}{what[1:]} need about {needed / _GIGABYTE:.1f} GB and "
            f"{available / _GIGABYTE:.1f} GB{where} are free; {remedy}."
        )


def proc_field(file: str, name: str) -> str | None:
    """Return the first field of this name in a file of Linux's /proc; None if there is none."""
    try:
        lines = Path("/proc", file).read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), None)


def _proc_kilobytes(file: str, name: str) -> int | None:
    """Return a field of /proc in bytes."""
    field = proc_field(file, name)
    return None if field is None else int(field.split()[0]) * 1024
