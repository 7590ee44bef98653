"""Copy logits and weights of the replicas whose validation score improved."""

import triton
import triton.language as tl
from torch import Tensor

from hiergcn.model.ops.triton.layout import block_entries, needs_64_bits


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
