"""The machine and the versions that a result was made with."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from hiergcn.version import __version__

_PACKAGES = ("torch", "numpy", "scipy", "numba", "pandas", "scikit-learn", "safetensors", "torch_geometric")


def environment() -> dict[str, Any]:
    return {
        "hiergcn": __version__,
        "commit": source_commit(),
        "python": platform.python_version(),
        "packages": {name: found for name in _PACKAGES if (found := _version(name))},
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def source_commit() -> str | None:
    """The commit of a source checkout, with a plus sign where files differ from it; None for an installed package.

    HIERGCN_COMMIT names it for a copy of the checkout that left its history behind.
    """
    if named := os.environ.get("HIERGCN_COMMIT"):
        return named
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None
    try:
        commit = _git(root, "rev-parse", "HEAD")
        return commit + ("+" if _git(root, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603, S607


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
