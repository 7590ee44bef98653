"""Memory layout of replica tensors, the index arithmetic that the kernels share, and copying of the best replicas."""

import triton
import triton.language as tl
from torch import Tensor

PRECISION = tl.constexpr("ieee")  # of products: the default of tensor cores has three digits


def contiguous_rows(values: Tensor) -> Tensor:
    """Return the values with the columns of a row next to each other, as every kernel expects."""
    return values if values.stride(-1) == 1 else values.contiguous()


def nodes_first(like: Tensor, width: int) -> Tensor:
    """Allocate (replicas, n, width) in the layout (n, replicas, width)."""
    replicas, rows, _ = like.shape
    return like.new_empty((rows, replicas, width)).transpose(0, 1)


def needs_64_bits(size: int) -> bool:
    """Return whether indices a little above this size need 64 bits, in which a GPU divides slowly."""
    return size >= 2**30


@triton.jit
def block_entries(size, width, BLOCK: tl.constexpr, WIDE: tl.constexpr):
    """Return row and column of each entry of this program's block, and whether it exists."""
    block = tl.program_id(0)
    if WIDE:
        block = block.to(tl.int64)
    flat = block * BLOCK + tl.arange(0, BLOCK)
    return (flat // width).to(tl.int64), flat % width, flat < size


@triton.jit
def _keep(
    better, new, kept, size, width, new_replica, new_row, kept_replica, kept_row,
    BLOCK: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    replica = tl.program_id(1).to(tl.int64)
    if tl.load(better + replica):
        row, column, inside = block_entries(size, width, BLOCK, WIDE)
        value = tl.load(new + replica * new_replica + row * new_row + column, mask=inside)
        tl.store(kept + replica * kept_replica + row * kept_row + column, value, mask=inside)


def keep_better(better: Tensor, new: Tensor, kept: Tensor) -> None:
    """Copy the new values, (replicas, n, d), over the kept ones for each replica that is better."""
    replicas, rows, width = new.shape
    _keep[(triton.cdiv(rows * width, 4096), replicas)](
        better, new, kept, rows * width, width, new.stride(0), new.stride(1), kept.stride(0), kept.stride(1),
        BLOCK=4096, WIDE=needs_64_bits(rows * width),
    )  # fmt: skip
