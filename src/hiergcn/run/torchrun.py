"""Joining the processes that torchrun starts, see `model/ops/ranks.py`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
from torch import distributed
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from hiergcn.errors import InputError
from hiergcn.model.ops.ranks import Ranks

PATIENCE = timedelta(hours=2)
"""How long a rank waits for the others: rank 0 may write a large run meanwhile."""


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
