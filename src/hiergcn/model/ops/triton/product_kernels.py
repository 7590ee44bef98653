"""Sparse products, and the sums over many rows that gradients by weights are."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from hiergcn.model.ops.row_chunks import Pieces
from hiergcn.model.ops.triton.layout import PRECISION, row_by_row

_NEAR = 2**17  # bytes that fit into the cache of one multiprocessor
_FEW = 256  # programs that leave most of a GPU idle: then each has to wait for less
_AT_ONCE = tl.constexpr(4)  # rows that are on their way to a program of a thinned product


@triton.jit
def _csr_product(
    start,
    end,
    target,
    column,
    order,
    values,
    dense,
    out,
    width,
    values_replica,
    dense_replica,
    dense_row,
    out_replica,
    out_row,
    plus,
    plus_row,
    rows,
    ORDERED: tl.constexpr,
    PLUS: tl.constexpr,
    ENTRIES: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """The sum of a piece, as many of its columns as a program takes: entries in their order, so that sums repeat."""
    piece = tl.program_id(0)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    replica = tl.program_id(2).to(tl.int64)
    inside = columns < width
    first, last = tl.load(start + piece).to(tl.int64), tl.load(end + piece).to(tl.int64)
    values += replica * values_replica
    dense += replica * dense_replica
    total = tl.zeros((ENTRIES, COLUMNS), dtype=tl.float32)
    for entry in range(first, last, ENTRIES):
        place = entry + tl.arange(0, ENTRIES)
        there = place < last
        source = tl.load(column + place, mask=there, other=0).to(tl.int64)
        if ORDERED:
            place = tl.load(order + place, mask=there, other=0)
        value = tl.load(values + place, mask=there, other=0.0)
        wanted = (value != 0.0)[:, None] & inside[None, :]
        address = dense + source[:, None] * dense_row + columns[None, :]
        total += value[:, None] * tl.load(address, mask=wanted, other=0.0)
    row = tl.load(target + piece).to(tl.int64)
    result = tl.sum(total, axis=0)
    if PLUS:  # once for each row: not where this is a piece of a longer one
        result += tl.load(plus + row * plus_row + columns, mask=inside & (row < rows), other=0.0)
    tl.store(out + replica * out_replica + row * out_row + columns, result, mask=inside)


@triton.jit
def _thinned_product(
    start,
    end,
    target,
    column,
    order,
    values,
    dense,
    out,
    width,
    values_replica,
    dense_replica,
    dense_row,
    out_replica,
    out_row,
    ORDERED: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """The same where most values are 0: a look at 32 of them at once, then those that are not, some at a time."""
    piece = tl.program_id(0)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    replica = tl.program_id(2).to(tl.int64)
    inside = columns < width
    values += replica * values_replica
    dense += replica * dense_replica + columns
    last = tl.load(end + piece)
    lane = tl.arange(0, 32)
    total = tl.zeros((COLUMNS,), dtype=tl.float32)
    for first in range(tl.load(start + piece), last, 32):
        place = first + lane
        there = place < last
        if ORDERED:
            place = tl.load(order + place, mask=there, other=0)
        kept = tl.load(values + place, mask=there, other=0.0) != 0.0
        left = tl.sum(kept.to(tl.uint32) << lane.to(tl.uint32), axis=0)  # a bit for each that is not 0
        while left != 0:
            for _ in tl.static_range(_AT_ONCE):  # their rows come from memory together
                others = left & (left - 1)
                lowest = left ^ others
                left = others
                one = first + _exponent(lowest)
                wanted = lowest != 0
                source = tl.load(column + one, mask=wanted, other=0).to(tl.int64)
                if ORDERED:
                    one = tl.load(order + one, mask=wanted, other=0)
                value = tl.load(values + one, mask=wanted, other=0.0)
                total += value * tl.load(dense + source * dense_row, mask=inside & wanted, other=0.0)
    row = tl.load(target + piece).to(tl.int64)
    tl.store(out + replica * out_replica + row * out_row + columns, total, mask=inside)


@triton.jit
def _exponent(power):
    """k of 2^k, as a float has it; of 0 nothing that means anything."""
    return (power.to(tl.float32).to(tl.int32, bitcast=True) >> 23) - 127


def csr_product(pieces: Pieces, column: Tensor, values: Tensor, dense: Tensor, plus: Tensor | None = None) -> Tensor:
    """A sparse matrix, (n, m), given by the pieces of its rows, times a dense one, (m, d), plus another, (n, d)."""
    return csr_product_of_replicas(pieces, column, values.unsqueeze(0), dense.unsqueeze(0), plus=plus).squeeze(0)


def csr_product_of_replicas(
    pieces: Pieces,
    column: Tensor,
    values: Tensor,
    dense: Tensor,
    order: Tensor | None = None,
    thinned: bool = False,
    plus: Tensor | None = None,
) -> Tensor:
    """Sparse matrices of one pattern, values (replicas, entries), times dense ones, (replicas, m, d).

    `values[:, order]` are taken where an order is given; `thinned` says that many are 0; `plus`, (n, d), is added where
    they are not. The result lies as (n, replicas, d) and is seen as (replicas, n, d).
    """
    replicas, _, width = dense.shape
    dense = row_by_row(dense)
    plus = None if plus is None else row_by_row(plus)
    below = 0 if pieces.sums is None else pieces.sums.column.numel()
    lying = torch.empty((pieces.rows + below, replicas, width), dtype=dense.dtype, device=dense.device)
    out = lying.transpose(0, 1)
    if out.numel():
        _add_up(pieces, column, values, dense, order, thinned, plus, out)
        if pieces.sums is not None:
            _add_up(pieces.sums.pieces, pieces.sums.column, pieces.sums.ones.unsqueeze(0), out, None, False, plus, out)
    return out[:, : pieces.rows]


def _add_up(
    pieces: Pieces,
    column: Tensor,
    values: Tensor,
    dense: Tensor,
    order: Tensor | None,
    thinned: bool,
    plus: Tensor | None,
    out: Tensor,
) -> None:
    replicas, m, width = dense.shape
    other, other_row = (dense, 0) if plus is None else (plus, plus.stride(0))
    kernel, columns = _csr_product, min(triton.next_power_of_2(width), 512)
    entries = 4 if pieces.start.numel() >= _FEW else 16
    more = {"plus": other, "plus_row": other_row, "rows": pieces.rows, "PLUS": plus is not None, "ENTRIES": entries}
    if thinned:
        kernel, columns, more = _thinned_product, min(triton.next_power_of_2(width), 256), {}
    elif 4 * 64 * m <= _NEAR:  # then a narrow strip of the dense matrix is read again and again from nearby
        columns = min(columns, 64)
    kernel[(pieces.start.numel(), triton.cdiv(width, columns), replicas)](
        pieces.start, pieces.end, pieces.target, column, column if order is None else order, values, dense, out, width,
        values.stride(0) if len(values) > 1 else 0, dense.stride(0), dense.stride(1), out.stride(0), out.stride(1),
        ORDERED=order is not None, COLUMNS=columns, num_warps=1 if thinned else max(1, columns // 128), **more,
    )  # fmt: skip


@triton.jit
def _inner_products(
    left,
    right,
    out,
    rows,
    left_width,
    right_width,
    left_replica,
    left_row,
    right_replica,
    right_row,
    share,
    LEFT: tl.constexpr,
    RIGHT: tl.constexpr,
    ROWS: tl.constexpr,
):
    """This program's share of the rows of leftᵀ right, one tile of it."""
    tiles = tl.cdiv(right_width, RIGHT)
    i = (tl.program_id(0) // tiles) * LEFT + tl.arange(0, LEFT)
    j = (tl.program_id(0) % tiles) * RIGHT + tl.arange(0, RIGHT)
    part, replica = tl.program_id(1).to(tl.int64), tl.program_id(2).to(tl.int64)
    total = tl.zeros((LEFT, RIGHT), dtype=tl.float32)
    for first in range(part * share, tl.minimum((part + 1) * share, rows), ROWS):
        row = first + tl.arange(0, ROWS).to(tl.int64)
        below = row < tl.minimum((part + 1) * share, rows)
        a = left + replica * left_replica + row[None, :] * left_row + i[:, None]
        b = right + replica * right_replica + row[:, None] * right_row + j[None, :]
        total += tl.dot(
            tl.load(a, mask=(i < left_width)[:, None] & below[None, :], other=0.0),
            tl.load(b, mask=below[:, None] & (j < right_width)[None, :], other=0.0),
            input_precision=PRECISION,
        )
    place = out + ((part * tl.num_programs(2) + replica) * left_width + i[:, None]) * right_width + j[None, :]
    tl.store(place, total, mask=(i < left_width)[:, None] & (j < right_width)[None, :])


def inner_products(left: Tensor, right: Tensor) -> Tensor:
    """leftᵀ right of tall matrices, (replicas, n, k) and (replicas, n, m): many programs share the sum over n."""
    replicas, rows, k = left.shape
    m = right.shape[2]
    left, right = row_by_row(left), row_by_row(right)
    tiles = triton.cdiv(k, 32) * triton.cdiv(m, 64)
    most = max(min(64, 1024 // tiles), 1)  # of many tiles few parts are enough, and each part is as large as the result
    share = max(512, triton.cdiv(rows, most))
    parts = max(triton.cdiv(rows, share), 1)
    out = torch.empty((parts, replicas, k, m), dtype=left.dtype, device=left.device)
    _inner_products[(tiles, parts, replicas)](
        left, right, out, rows, k, m, left.stride(0), left.stride(1), right.stride(0), right.stride(1), share,
        LEFT=32, RIGHT=64, ROWS=32,
    )  # fmt: skip
    return out.sum(dim=0) if parts > 1 else out[0]
