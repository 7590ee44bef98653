"""The machine: devices, cores, memory, and the versions that a result was made with."""

import ctypes
import gc
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hiergcn.errors import InputError
from hiergcn.version import __version__

if TYPE_CHECKING:
    import torch

RESET_PEAK = Path("/proc/self/clear_refs")
_GIGABYTE = 1e9


class Peak(NamedTuple):
    """Peak memory of a process, in bytes; None if it is unknown."""

    resident: int | None = None
    gpu: int | None = None


def peak_memory() -> Peak:
    """Return the peak memory of this process so far."""
    resident = _proc_bytes("self/status", "VmHWM")
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
    free = _proc_bytes("meminfo", "MemAvailable")
    with suppress(OSError, ValueError, AttributeError):
        free = free or os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None if free is None else free // int(os.environ.get("LOCAL_WORLD_SIZE", 1))


def held_memory() -> int:
    """Return the bytes that this process holds now; 0 if the system does not say."""
    return _proc_bytes("self/status", "VmRSS") or 0


def require_memory(needed: int, what: str, remedy: str, device: "torch.device | None" = None) -> None:
    """Raise an `InputError` if fewer than `needed` bytes are free."""
    available = available_memory(device)
    if available is not None and needed > available:
        where = " of the GPU" if device is not None and device.type == "cuda" else ""
        raise InputError(
            f"{what[0].upper()}{what[1:]} need about {needed / _GIGABYTE:.1f} GB and "
            f"{available / _GIGABYTE:.1f} GB{where} are free; {remedy}."
        )


def _proc_field(file: str, name: str) -> str | None:
    """Return the first field of this name in a file of Linux's /proc; None if there is none."""
    with suppress(OSError), Path("/proc", file).open(encoding="utf-8") as lines:
        return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), None)
    return None


def _proc_bytes(file: str, name: str) -> int | None:
    """Return a field of /proc, which is in kilobytes, in bytes."""
    field = _proc_field(file, name)
    return None if field is None else int(field.split()[0]) * 1024


_PACKAGES = ("torch", "numpy", "scipy", "numba", "pandas", "scikit-learn", "safetensors", "torch_geometric")
_MANY_NODES = 200_000  # from which on several processes need too much memory

FEW_ENTRIES = 50_000
"""Entries of adjacency and features below which `auto` is the CPU. There a network trains in about a second, and a GPU
takes about as long to start, to import what it needs and to record an epoch."""


def choose_device(name: str = "auto", entries: int | None = None) -> "torch.device":
    """Return a device by its name; `auto` is the first GPU that CUDA knows, unless the graph is small, else the CPU.

    A GPU that is named (`cuda:1`) becomes the current one, for which streams and kernels are made.
    """
    import torch

    if name == "auto":
        worth_it = entries is None or entries >= FEW_ENTRIES
        return torch.device("cuda" if worth_it and torch.cuda.is_available() else "cpu")
    device = torch.device("meta")  # of no use here
    with suppress(RuntimeError):
        device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError("torch finds no CUDA device here; give --device cpu, or install a CUDA build of torch.")
    count = {"cpu": 1, "cuda": torch.cuda.device_count()}.get(device.type, 0)
    if (device.index or 0) >= count:
        raise InputError(f"There is no device named {name!r} here; give auto, cpu or cuda.")
    if device.type == "cuda" and device.index is not None:
        torch.cuda.set_device(device)
    return device


@contextmanager
def plain_torch() -> Iterator[None]:
    """Have torch compute in the same way whatever the caller has set, and leave all settings as they were.

    It uses one thread, unless OMP_NUM_THREADS says otherwise: so results keep their last digits wherever they are
    computed, and other seeds use the other cores. It uses single precision and gradients, but no automatic casts.
    """
    import torch

    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    device = torch.cuda.current_device() if torch.cuda.is_initialized() else None
    casts = {kind: torch.is_autocast_enabled(kind) for kind in ("cpu", "cuda")}
    try:
        if "OMP_NUM_THREADS" not in os.environ:
            torch.set_num_threads(1)
        torch.set_default_dtype(torch.float32)
        for kind in casts:
            torch.set_autocast_enabled(kind, False)
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)
        for kind, enabled in casts.items():
            torch.set_autocast_enabled(kind, enabled)
        if device is not None:
            torch.cuda.set_device(device)


def cores() -> int:
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def workers_for(n_nodes: int) -> int:
    """Return the processes of a fit by default: one for each core, or a single one for a large graph."""
    return cores() if n_nodes <= _MANY_NODES else 1


def environment() -> dict[str, Any]:
    """Return the versions and the hardware, as kept with every result.

    The commit is that of a source checkout, with a plus sign if files differ from it; HIERGCN_COMMIT names it for a
    copy of the checkout without its history. An installed package has none.
    """
    import torch

    packages = {}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            packages[name] = version(name)
    commit, root = os.environ.get("HIERGCN_COMMIT") or None, Path(__file__).resolve().parents[3]
    if commit is None and (root / ".git").exists():
        describe = ["git", "-C", str(root), "describe", "--always", "--exclude=*", "--abbrev=40", "--dirty=+"]
        reading = os.environ | {"GIT_OPTIONAL_LOCKS": "0"}  # nothing is written to the checkout
        with suppress(OSError, subprocess.CalledProcessError):
            commit = subprocess.check_output(describe, env=reading, text=True, stderr=subprocess.DEVNULL).strip()  # noqa: S603
    return {
        "hiergcn": __version__,
        "commit": commit,
        "python": platform.python_version(),
        "packages": packages,
        "system": platform.platform(),
        "processor": _proc_field("cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads() if "OMP_NUM_THREADS" in os.environ else 1,
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }
