"""A process that does units, one after the other, as the runner hands them out."""

import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from hiergcn.errors import HierGCNError


class _OrphanedError(Exception):
    """The runner is gone."""


def serve(connection: Connection, store: Path, device: str, parent: int) -> None:
    """Do every unit that comes, telling each result; ends when the runner hangs up or is gone.

    Ctrl-C is left to the runner, which ends its workers. A worker whose runner was killed stops at the next epoch, so
    that nothing goes on in the background that nobody waits for.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import torch

    from hiergcn.paper.store import Store
    from hiergcn.paper.work import Workshop

    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # the softmax of a sure network is full of them, and each costs a hundred cycles
    shop = Workshop(Store(store), torch.device(device))

    def orphaned() -> None:
        if os.getppid() != parent:
            raise _OrphanedError

    try:
        while True:
            unit = connection.recv()
            try:
                shop.do(unit.jobs, lambda record: _send(connection, ("done", record)), orphaned)
                _send(connection, ("idle", None))
            except HierGCNError as error:
                _send(connection, ("failed", str(error)))
            except _OrphanedError:
                return
            except Exception as error:
                _send(connection, ("failed", f"it failed with {type(error).__name__}: {error!s:.300}"))
    except (EOFError, OSError):
        return


def _send(connection: Connection, message: tuple[str, Any]) -> None:
    try:
        connection.send(message)
    except OSError:
        raise _OrphanedError from None
