"""Work that the processes of torchrun share.

Every rank runs the same program over the same graph. What can be shared is done in parts, and every rank gets all parts
in the same order: sums are added in that order, so any number of ranks gives the same bits. A process that torchrun did
not start is rank 0 of 1. `run/torchrun.py` joins the ranks.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, distributed


@dataclass(frozen=True)
class Ranks:
    """The place of this process among the ranks."""

    rank: int = 0
    size: int = 1
    joined: bool = False
    """Whether torchrun started this process; if so, even a single rank uses nccl or gloo, as several do."""

    @classmethod
    def current(cls) -> "Ranks":
        """Return the place of this process."""
        if not distributed.is_available() or not distributed.is_initialized():
            return cls()
        return cls(distributed.get_rank(), distributed.get_world_size(), joined=True)

    def in_order(
        self, count: int, work: Callable[[int], Tensor], length: int, device: torch.device
    ) -> Iterator[Tensor]:
        """Share `work(0)` to `work(count - 1)` among the ranks and yield all results, (length,), in this order."""
        if not self.joined:
            yield from map(work, range(count))
            return
        for start in range(0, count, self.size):
            mine = start + self.rank
            own = work(mine) if mine < count else torch.zeros(length, device=device)
            every = [torch.empty_like(own) for _ in range(self.size)]
            distributed.all_gather(every, own)
            yield from every[: count - start]

    def by_columns(self, linear: Callable[[Tensor], Tensor], dense: Tensor) -> Tensor:
        """Return `linear(dense)` of a map that treats every column alike; each rank computes some columns."""
        if not self.joined:
            return linear(dense)
        width = -(-dense.shape[1] // self.size)
        own = dense[:, self.rank * width : (self.rank + 1) * width].contiguous()
        part = linear(own) if own.shape[1] else own
        part = torch.nn.functional.pad(part, (0, width - part.shape[1])).contiguous()
        every = [torch.empty_like(part) for _ in range(self.size)]
        distributed.all_gather(every, part)
        return torch.cat(every, dim=1)[:, : dense.shape[1]].contiguous()

    def filled(self, parts: Tensor) -> Tensor:
        """Return a tensor of which each rank has filled some entries and left the others 0."""
        if self.joined:
            distributed.all_reduce(parts.view(torch.int32))  # bits added to zeros, so that -0.0 stays what it is
        return parts

    def agreed(self, number: float) -> float:
        """Return the number of rank 0, for choices that depend on time or memory."""
        if not self.joined:
            return number
        told = torch.tensor([number], dtype=torch.float64, device=_device())
        distributed.broadcast(told, src=0)
        return float(told)

    def told(self, content: bytes) -> bytes:
        """Return what rank 0 gives; the others give nothing."""
        if not self.joined:
            return content
        length = int(self.agreed(len(content)))
        told = torch.empty(length, dtype=torch.uint8)
        if self.rank == 0:
            told = torch.frombuffer(bytearray(content), dtype=torch.uint8) if content else told
        told = told.to(_device())
        if length:
            distributed.broadcast(told, src=0)
        return told.cpu().numpy().tobytes()


def _device() -> torch.device:
    """Return the device whose tensors the ranks exchange."""
    return torch.device("cuda" if distributed.get_backend() == "nccl" else "cpu")
