"""The machine: devices, cores, and the versions that a result was made with."""

import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from hiergcn.errors import InputError
from hiergcn.version import __version__
from hiergcn.workers.memory import proc_field

_PACKAGES = ("torch", "numpy", "scipy", "numba", "pandas", "scikit-learn", "safetensors", "torch_geometric")
_MANY_NODES = 200_000  # from which on several processes need too much memory

FEW_ENTRIES = 50_000
"""Entries of adjacency and features below which `auto` is the CPU. There a network trains in about a second, and a GPU
takes about as long to start, to import what it needs and to record an epoch."""


def choose_device(name: str = "auto", entries: int | None = None) -> torch.device:
    """Return a device by its name; `auto` is the first GPU that CUDA knows, unless the graph is small, else the CPU.

    A GPU that is named (`cuda:1`) becomes the current one, for which streams and kernels are made.
    """
    if name == "auto":
        worth_it = entries is None or entries >= FEW_ENTRIES
        return torch.device("cuda" if worth_it and torch.cuda.is_available() else "cpu")
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


@contextmanager
def one_thread() -> Iterator[None]:
    """Have torch use one thread, unless OMP_NUM_THREADS says otherwise; leave its threads and current GPU as they were.

    So results keep their last digits wherever they are computed, and other seeds use the other cores.
    """
    threads, device = torch.get_num_threads(), torch.cuda.current_device() if torch.cuda.is_initialized() else None
    try:
        if "OMP_NUM_THREADS" not in os.environ:
            torch.set_num_threads(1)
        yield
    finally:
        torch.set_num_threads(threads)
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
    packages = {}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            packages[name] = version(name)
    commit, root = os.environ.get("HIERGCN_COMMIT") or None, Path(__file__).resolve().parents[3]
    if commit is None and (root / ".git").exists():
        describe = ["git", "describe", "--always", "--exclude=*", "--abbrev=40", "--dirty=+"]
        reading = os.environ | {"GIT_OPTIONAL_LOCKS": "0"}  # nothing is written to the checkout
        with suppress(OSError, subprocess.CalledProcessError):
            commit = subprocess.run(  # noqa: S603
                describe, cwd=root, capture_output=True, text=True, check=True, env=reading
            ).stdout.strip()
    return {
        "hiergcn": __version__,
        "commit": commit,
        "python": platform.python_version(),
        "packages": packages,
        "system": platform.platform(),
        "processor": proc_field("cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads() if "OMP_NUM_THREADS" in os.environ else 1,
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }
