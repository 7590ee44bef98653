"""Rows of a sparse matrix cut into chunks of similar work, so that a GPU is evenly loaded.

A GPU gives one program to each row. If one row has a thousand times the entries of another, all wait for the longest.
So long rows are cut, each chunk has its own sum, and a second product adds these sums in a fixed order.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class RowChunks:
    """Entries start[i]:end[i] belong to one row; their sum goes to row target[i] of the result.

    The result has `rows` rows. Targets from there on are sums of chunks of longer rows, which `sums` adds up.
    """

    start: Tensor
    end: Tensor
    target: Tensor
    rows: int
    sums: "ChunkSums | None" = None


@dataclass(frozen=True, eq=False)
class ChunkSums:
    """A product with ones that adds the chunks of each long row. A column for each chunk."""

    column: Tensor
    ones: Tensor
    chunks: RowChunks


def row_chunks(row_start: Tensor, longest: int = 64) -> RowChunks:
    """Return the chunks of a matrix whose row i has the entries row_start[i]:row_start[i + 1], at most `longest` each.

    Chunks of long rows come first, as they take longest. There is at least one chunk per row, so the index type of
    `row_start` is kept to save memory.
    """
    device, dtype, n = row_start.device, row_start.dtype, row_start.numel() - 1
    count = (row_start.diff() + longest - 1).div(longest, rounding_mode="floor").clamp(min=1)  # an empty row has one
    row = torch.repeat_interleave(torch.arange(n, device=device), count)
    number = torch.arange(row.numel(), device=device) - (count.cumsum(0) - count)[row]  # within its row
    start = row_start[row] + longest * number
    end = torch.minimum(start + longest, row_start[row + 1])
    cut = count[row] > 1
    target = torch.where(cut, n + cut.cumsum(0) - 1, row)
    order = torch.argsort(cut.to(torch.int8), descending=True, stable=True)
    chunks = RowChunks(start[order].to(dtype), end[order].to(dtype), target[order].to(dtype), n)
    long = torch.nonzero(count > 1).flatten()
    if not long.numel():
        return chunks
    last = count[long].cumsum(0)
    column = torch.arange(int(last[-1]), device=device)
    ones = torch.ones_like(column, dtype=torch.float32)
    above = RowChunks((last - count[long]).to(dtype), last.to(dtype), long.to(dtype), n)
    return replace(chunks, sums=ChunkSums(column.to(dtype), ones, above))
