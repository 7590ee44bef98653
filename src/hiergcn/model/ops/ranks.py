"""Work that the processes of torchrun share.

Every rank runs the same program over the same graph. What can be shared is done in parts, and every rank gets all parts
in the same order: sums are added in that order, so any number of ranks gives the same bits. A process that torchrun did
not start is rank 0 of 1.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
from torch import Tensor, distributed

from hiergcn.errors import InputError

PATIENCE = timedelta(hours=2)
"""How long a rank waits for the others: rank 0 may write a large run meanwhile."""


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
            part = work(mine) if mine < count else torch.zeros(length, device=device)
            yield from self._gathered(part)[: count - start]

    def by_columns(self, linear: Callable[[Tensor], Tensor], dense: Tensor) -> Tensor:
        """Return `linear(dense)` of a map that treats every column alike; each rank computes some columns.

        Ranks that exchange tensors on GPUs compute all columns of a tensor in host memory.
        """
        if not self.joined or dense.device.type != _device().type:
            return linear(dense)
        width = -(-dense.shape[1] // self.size)
        part = dense[:, self.rank * width : (self.rank + 1) * width].contiguous()
        part = linear(part) if part.shape[1] else part
        padded = torch.nn.functional.pad(part, (0, width - part.shape[1])).contiguous()
        return torch.cat(self._gathered(padded), dim=1)[:, : dense.shape[1]].contiguous()

    def _gathered(self, part: Tensor) -> list[Tensor]:
        every = [torch.empty_like(part) for _ in range(self.size)]
        distributed.all_gather(every, part)
        return every

    def sum_disjoint(self, parts: Tensor) -> Tensor:
        """Return a tensor of which each rank has filled some entries and left the others 0."""
        if self.joined:
            distributed.all_reduce(parts.view(torch.int32))  # bits added to zeros, so that -0.0 stays what it is
        return parts

    def from_rank0(self, number: float) -> float:
        """Return the number of rank 0, for choices that depend on time or memory."""
        if not self.joined:
            return number
        shared = torch.tensor([number], dtype=torch.float64, device=_device())
        distributed.broadcast(shared, src=0)
        return float(shared)

    def broadcast(self, content: bytes) -> bytes:
        """Return rank 0's bytes on every rank; the others pass none."""
        if not self.joined:
            return content
        length = int(self.from_rank0(len(content)))
        if not length:
            return b""
        received = bytearray(content) if self.rank == 0 else bytearray(length)
        shared = torch.frombuffer(received, dtype=torch.uint8).to(_device())
        distributed.broadcast(shared, src=0)
        return shared.cpu().numpy().tobytes()


def _device() -> torch.device:
    """Return the device whose tensors the ranks exchange."""
    return torch.device("cuda" if distributed.get_backend() == "nccl" else "cpu")


def rank_device(name: str) -> str:
    """Return the device of this rank: the GPU of its local rank, or the CPU."""
    if "WORLD_SIZE" in os.environ and name in ("auto", "cuda") and torch.cuda.is_available():
        return f"cuda:{int(os.environ.get('LOCAL_RANK', 0)) % torch.cuda.device_count()}"
    return name


@contextmanager
def joined(device: str) -> Iterator[Ranks]:
    """Join the other ranks if WORLD_SIZE is set: by nccl on GPUs, by gloo on CPUs.

    After a restart, the store still holds the addresses of the processes that ended; a prefix keeps them apart.
    """
    if "WORLD_SIZE" not in os.environ:
        yield Ranks()
        return
    from torch.distributed.distributed_c10d import PrefixStore  # not in every build of torch
    from torch.distributed.rendezvous import rendezvous

    try:
        store, rank, size = next(rendezvous("env://", timeout=PATIENCE))
    except (ValueError, distributed.DistError) as error:
        raise InputError(
            f"WORLD_SIZE is set, but the other processes cannot be found ({error!s:.150}); start all of them by "
            "torchrun, or unset WORLD_SIZE."
        ) from None
    store = PrefixStore(f"hiergcn-{os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}", store)
    on_gpu = rank_device(device).startswith("cuda")
    if on_gpu:
        torch.cuda.set_device(rank_device(device))
    distributed.init_process_group(
        "nccl" if on_gpu else "gloo", timeout=PATIENCE, store=store, rank=rank, world_size=size
    )
    try:
        yield Ranks.current()
    finally:
        distributed.destroy_process_group()
