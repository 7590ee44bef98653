"""How tensors of replicas lie, and where the places of a program are in them."""

import triton
import triton.language as tl
from torch import Tensor

PRECISION = tl.constexpr("ieee")  # of products: what tensor cores do by default has three digits


def row_by_row(values: Tensor) -> Tensor:
    """With the columns of a row next to each other, as every kernel takes for granted."""
    return values if values.stride(-1) == 1 else values.contiguous()


def nodes_first(like: Tensor, width: int) -> Tensor:
    """Room for (replicas, n, width), which lies as (n, replicas, width)."""
    replicas, rows, _ = like.shape
    return like.new_empty((rows, replicas, width)).transpose(0, 1)


def is_wide(size: int) -> bool:
    """Whether places up to a little over this need 64 bits, in which a GPU divides slowly."""
    return size >= 2**30


@triton.jit
def places(size, width, BLOCK: tl.constexpr, WIDE: tl.constexpr):
    """Row and column of each place of this program's block, and whether there is such a one."""
    block = tl.program_id(0)
    if WIDE:
        block = block.to(tl.int64)
    flat = block * BLOCK + tl.arange(0, BLOCK)
    return (flat // width).to(tl.int64), flat % width, flat < size
