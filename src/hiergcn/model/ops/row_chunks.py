"""The rows of a sparse matrix cut into pieces of about the same work, known before any product.

A GPU gives a program to each row. Where one row has a thousand times the entries of another, all wait for the longest;
so long rows are cut, each piece has a sum of its own, and a second product adds these up in their order.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

LONGEST = 64
"""Entries of a piece, at most."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Entries start[i]:end[i] are of one row, and their sum is row target[i] of the result.

    The result has `rows` rows and, below them, sums of pieces of longer rows.
    """

    start: Tensor
    end: Tensor
    target: Tensor
    rows: int
    sums: "Sums | None" = None


@dataclass(frozen=True, eq=False)
class Sums:
    """A product with ones that adds up the pieces of long rows: their rows, below the others, are its columns."""

    column: Tensor
    ones: Tensor
    pieces: Pieces


def pieces_of(row_start: Tensor, longest: int = LONGEST) -> Pieces:
    """Row i has the entries row_start[i]:row_start[i + 1]. Longer rows come first, as they take longest.

    The pieces have as many bits as the starts: there is one for each row at least, of every matrix.
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
    parts = Pieces(start[order].to(dtype), end[order].to(dtype), target[order].to(dtype), n)
    long = torch.nonzero(count > 1).flatten()
    if not long.numel():
        return parts
    last = count[long].cumsum(0)
    column = n + torch.arange(int(last[-1]), device=device)
    ones = torch.ones_like(column, dtype=torch.float32)
    above = Pieces((last - count[long]).to(dtype), last.to(dtype), long.to(dtype), n)
    return replace(parts, sums=Sums(column.to(dtype), ones, above))


_KNOWN: "WeakTensorKeyDictionary" = WeakTensorKeyDictionary()


def pieces_of_matrix(matrix: Tensor) -> Pieces:
    """Of a CSR tensor; found once for as long as there is that tensor."""
    if matrix not in _KNOWN:
        _KNOWN[matrix] = pieces_of(matrix.crow_indices())
    pieces: Pieces = _KNOWN[matrix]
    return pieces
