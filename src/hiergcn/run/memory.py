"""Refuse what cannot fit before it starts."""

import os

from hiergcn.errors import InputError

_GIGABYTE = 1e9


def available_memory() -> int | None:
    """Bytes that can be had without swapping, where the system tells."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def require_memory(needed: int, what: str, remedy: str) -> None:
    """Raise a sentence if `needed` bytes are more than there are."""
    available = available_memory()
    if available is not None and needed > available:
        raise InputError(
            f"{what[0].upper()}{what[1:]} need about {needed / _GIGABYTE:.1f} GB and "
            f"{available / _GIGABYTE:.1f} GB are free; {remedy}."
        )
