"""Memory layout of replica tensors, and the index arithmetic that the kernels share."""

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
