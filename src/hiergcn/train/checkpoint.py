"""Checkpoints, from which a killed run continues and ends with the same bits.

A folder of safetensors files, each written whole or not at all: one for each finished seed, and one for the seed in
training, with weights, optimiser, random generator, history and best epoch. Of the ranks of torchrun, the first one
reads and writes; the others are told.
"""

import hashlib
import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from hiergcn.errors import InputError, UnwritableError
from hiergcn.files import written_whole
from hiergcn.graph import Graph
from hiergcn.model.ops.ranks import Ranks

EVERY = 30.0
"""Seconds between two checkpoints of a seed in training."""
_ABOUT, _RUN = "about", "run.json"


class Checkpoint:
    """The checkpoint of a run.

    Args:
        folder: made if it is not there.
        run: what the run is of, such as digests and versions; a folder of another run is refused.
        every: seconds between two checkpoints of a seed in training.
    """

    def __init__(self, folder: Path, run: dict[str, Any] | None = None, every: float = EVERY) -> None:
        self.folder, self.every = folder, every
        self.is_whole = True  # whether everything could be written
        if Ranks.current().rank > 0:
            return
        folder.mkdir(parents=True, exist_ok=True)
        file, run = folder / _RUN, run or {}
        if not file.exists():
            with written_whole(file) as part:
                part.write_text(json.dumps(run) + "\n", encoding="utf-8")
        saved = json.loads(file.read_text(encoding="utf-8"))
        for name in run:
            if saved.get(name) != run[name]:
                raise InputError(f"{folder} is of a run with another {name}; go on as it began, or remove the folder.")

    def remove_if_empty(self) -> None:
        """Remove the folder if no seed has written to it."""
        if [path.name for path in self.folder.glob("*")] == [_RUN]:
            shutil.rmtree(self.folder)

    def read(self, name: str) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
        """Return the arrays and fields saved under a name; None if there are none."""
        path, ranks = self._path(name), Ranks.current()
        content = ranks.broadcast(path.read_bytes() if ranks.rank == 0 and path.exists() else b"")
        if not content:
            return None
        try:
            tensors = load(content)
        except SafetensorError as error:
            raise InputError(f"{path} is damaged ({error!s:.100}); remove it, and its seed starts again.") from None
        return json.loads(tensors.pop(_ABOUT).numpy().tobytes()), tensors

    def write(self, name: str, about: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """Write numbers and tensors under a name. Training goes on if the disk is full, as there may be room later."""
        if Ranks.current().rank > 0:
            return
        copies = {key: value.detach().cpu().contiguous().clone() for key, value in tensors.items()}
        copies[_ABOUT] = torch.frombuffer(bytearray(json.dumps(about).encode()), dtype=torch.uint8)
        try:
            with written_whole(self._path(name)) as part:
                part.write_bytes(save(copies))
        except UnwritableError:
            self.is_whole = False

    def remove(self, name: str) -> None:
        """Remove the files saved under a name."""
        if Ranks.current().rank == 0:
            self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.safetensors"


class SeedCheckpoint:
    """The checkpoint of one seed in training."""

    def __init__(self, checkpoint: Checkpoint, name: str) -> None:
        self.checkpoint, self.name = checkpoint, name
        self.written = self.began = time.monotonic()
        self.earlier = 0.0
        """Seconds of training before this process."""

    def read(self) -> tuple[int, dict[str, Tensor]] | None:
        """Return the last epoch that is done and its state."""
        saved = self.checkpoint.read(self.name)
        if saved is None:
            return None
        about, state = saved
        self.earlier = float(about["seconds"])
        return int(about["epoch"]), state

    @property
    def is_due(self) -> bool:
        return Ranks.current().rank == 0 and time.monotonic() - self.written >= self.checkpoint.every

    def write(self, epoch: int, state: dict[str, Tensor]) -> None:
        """Write the state after an epoch."""
        seconds = self.earlier + time.monotonic() - self.began
        self.checkpoint.write(self.name, {"epoch": epoch, "seconds": seconds}, state)
        self.written = time.monotonic()


def graph_arrays(graph: Graph) -> list[np.ndarray]:
    """Return the arrays of edges and features, which tell whether a graph is the same."""
    A, X = graph.adjacency, graph.features
    features = [] if X is None else [X] if isinstance(X, np.ndarray) else [X.indptr, X.indices, X.data]
    return [A.indptr, A.indices, A.data, *features]


def data_digests(graph: Graph) -> dict[str, str]:
    """Return digests of edges and features in single precision: sums in another order differ in the last digits."""
    arrays = [part.astype(np.float32) if part.dtype.kind == "f" else part for part in graph_arrays(graph)]
    return {"edges": digest(*arrays[:3]), "features": digest(*arrays[3:])}


def digest(*parts: Any) -> str:
    """Return a digest of arrays, and of what JSON can hold."""
    total = hashlib.sha256()
    for part in parts:
        is_array = isinstance(part, np.ndarray)
        total.update(np.ascontiguousarray(part).tobytes() if is_array else json.dumps(part, default=str).encode())
    return total.hexdigest()[:32]
