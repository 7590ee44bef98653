"""Connection to a Ray cluster: the user's, or one that is started for a command.

If nothing listens at an address, Ray tries for ten minutes. So the address is tried first. Ray's C++ code repeats its
warnings on standard error; one sentence is given in their place.
"""

import importlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hiergcn.errors import InputError, MissingPackageError
from hiergcn.workers.engine import RAY_ADDRESS
from hiergcn.workers.process import STOPPING

CONNECT_SECONDS = 5.0
"""Seconds to wait until a host answers."""

_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
_FORK_FAILED, _TRIES = "Starting Ray client server failed", 3
_SAME = (
    "Set RAY_AUTH_MODE=token here, and RAY_AUTH_TOKEN to the token that `ray get-auth-token` prints on the head node."
)
_REASONS = {  # by words of Ray's error
    "InvalidAuthToken": f"It asks for its token. {_SAME}",
    "no authentication token": f"It asks for its token. {_SAME}",
    "ray client connection timeout": (
        "Something listens there, but not as Ray Client, or it asks for its token. See that the port is that of "
        f"`ray start --ray-client-server-port`, by default 10001. {_SAME}"
    ),
    "Method not found": (
        "Another service listens there. The port is that of `ray start --port`, by default 6379; with that of Ray "
        "Client, by default 10001, the address begins with ray://."
    ),
}


def import_ray() -> Any:
    """Return the module of Ray."""
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise MissingPackageError(
            "This engine needs Ray, which is not installed; run pip install 'ray[client]'."
        ) from None


def connect(ray: Any, address: str | None, workers: int | None, on_note: Callable[[str], None]) -> bool:
    """Connect to a cluster unless this process has a connection; return whether this was the case.

    Args:
        address: None for that of RAY_ADDRESS, the one that `ray start` has made this machine a node of, or a new one.
        workers: CPUs of a new one; by default all.
        on_note: gets a sentence if a cluster is started.
    """
    if ray.is_initialized():
        return False
    named = address or os.environ.get(RAY_ADDRESS) or ""
    with _signals_kept(), _reports_off():
        if named not in ("", "auto", "local"):
            _check_listening(named)
            _join(ray, named, named)
            return True
        here = None if named == "local" else _cluster_here()
        why = "No Ray cluster found; started"
        if here is not None:
            try:
                _check_listening(here)
            except InputError:  # it has died without `ray stop`
                why, here = f"Nothing answers at {here}, the last Ray cluster of this machine; started", None
        if here is not None:
            _join(ray, None, here)
        elif named == "auto":
            raise InputError(
                "RAY_ADDRESS is auto, and no Ray cluster runs on this machine. Start one with `ray start --head`, or "
                "unset RAY_ADDRESS."
            )
        else:
            _start(ray, workers)
            cpus = int(ray.cluster_resources().get("CPU", 0))
            on_note(f"{why} one on this machine, {cpus} CPU{'' if cpus == 1 else 's'}.")
    return True


def _join(ray: Any, address: str | None, place: str) -> None:
    """Connect to a cluster; `place` is its address in words.

    Ray Client forks a process with threads for each connection. On a busy machine this fails now and then, so it is
    tried again.
    """
    for left in reversed(range(_TRIES)):
        try:
            with _standard_error_discarded():
                ray.init(address=address, **_QUIET)
            return
        except (OSError, RuntimeError, ValueError, ImportError, ray.exceptions.RayError) as error:
            if not left or _FORK_FAILED not in str(error):
                raise InputError(f"No connection to the Ray cluster at {place}. {_reason(error)}") from None


def _start(ray: Any, workers: int | None) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray.init(address="local", num_cpus=workers, include_dashboard=False, **_QUIET)
    except Exception as error:  # Ray raises plain exceptions
        raise InputError(f"Ray could not be started on this machine ({str(error).strip():.300}).") from None


def _cluster_here() -> str | None:
    """Return the address of the cluster that this machine is a node of by `ray start`, as `ray.init()` finds it."""
    services = importlib.import_module("ray._private.services")
    try:
        found: str | None = services.canonicalize_bootstrap_address(None)
    except ConnectionError:  # if RAY_ADDRESS is auto
        return None
    return found


def _check_listening(address: str) -> None:
    """Raise an error unless something listens at HOST:PORT or ray://HOST:PORT."""
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if host is None or port is None or parts.scheme not in ("", "ray"):
        raise InputError(f"{address} is not the address of a Ray cluster; give HOST:PORT or ray://HOST:PORT.")
    try:
        socket.create_connection((host, port), CONNECT_SECONDS).close()
    except OSError as error:
        raise InputError(
            f"Nothing answers at {address} ({error.strerror or error}). See that the Ray cluster runs, and that this "
            "machine can reach it."
        ) from None


def _reason(error: BaseException) -> str:
    """Return why there is no connection and what to do, in sentences."""
    text = f"{error} {error.__cause__ or ''}"
    if "Version mismatch" in text:
        have = " ".join(str(error).partition("Version mismatch:")[2].split())
        return f"It has other versions than this machine: {have}. Install the same versions of Ray and Python."
    found = next((meaning for words, meaning in _REASONS.items() if words in text), None)
    return found or f"Ray says: {' '.join(str(error).split()):.300}"


@contextmanager
def _standard_error_discarded() -> Iterator[None]:
    """Discard everything written to standard error, also by C++ code."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def _reports_off() -> Iterator[None]:
    """Keep Ray from writing some fifty lines of its log to standard output for each lost node; a note says it in one.

    The thread that would do so starts with the connection, whatever `log_to_driver` is.
    """
    worker = importlib.import_module("ray._private.worker")
    listen = getattr(worker, "listen_error_messages", None)
    worker.listen_error_messages = lambda *_: None  # type: ignore[attr-defined]
    try:
        yield
    finally:
        worker.listen_error_messages = listen  # type: ignore[attr-defined]


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Keep the handlers of signals, which Ray replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
