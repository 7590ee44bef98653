"""Work of the tests of Ray, in a module that a worker imports quickly."""

import os
from pathlib import Path

from hiergcn.workers.pool import Send, Work


def misbehaving(root: str) -> Work:
    """Work of which one job ends its worker the first time, and another every time."""

    def do(_: Send, job: str) -> str:
        if job == "always" or (job == "once" and not Path(root, "once tried").exists()):
            Path(root, f"{job} tried").touch()
            os._exit(1)
        if job == "fail":
            raise ValueError("no")
        return job

    return do
