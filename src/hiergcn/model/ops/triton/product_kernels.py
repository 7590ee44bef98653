"""Sparse products, and leftᵀ right of tall matrices, the form of gradients by weights."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from hiergcn.model.ops.row_chunks import RowChunks
from hiergcn.model.ops.triton.layout import PRECISION, contiguous_rows

_CACHE_BYTES = 2**17  # bytes that fit into the cache of one multiprocessor
_FEW_PROGRAMS = 256  # programs that leave most of a GPU idle: then each reads more entries at once, to wait less
_AT_ONCE = tl.constexpr(4)  # rows that a program of a mostly-zero product loads at once


@triton.jit
def _csr_product(
    start, end, target, column, order, values, dense, out, width, values_replica, dense_replica, dense_row,
    out_replica, out_row, plus, plus_row, rows,
    ORDERED: tl.constexpr, PLUS: tl.constexpr, ENTRIES: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Compute some columns of the sum of a chunk, entries in their order, so that sums repeat."""
    chunk = tl.program_id(0)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    replica = tl.program_id(2).to(tl.int64)
    inside = columns < width
    first, last = tl.load(start + chunk).to(tl.int64), tl.load(end + chunk).to(tl.int64)
    values += replica * values_replica
    dense += replica * dense_replica
    total = tl.zeros((ENTRIES, COLUMNS), dtype=tl.float32)
    for entry in range(first, last, ENTRIES):
        place = entry + tl.arange(0, ENTRIES)
        valid = place < last
        source = tl.load(column + place, mask=valid, other=0).to(tl.int64)
        if ORDERED:
            place = tl.load(order + place, mask=valid, other=0)
        value = tl.load(values + place, mask=valid, other=0.0)
        wanted = (value != 0.0)[:, None] & inside[None, :]
        address = dense + source[:, None] * dense_row + columns[None, :]
        total += value[:, None] * tl.load(address, mask=wanted, other=0.0)
    row = tl.load(target + chunk).to(tl.int64)
    result = tl.sum(total, axis=0)
    if PLUS:  # once per row: not for a chunk of a longer row
        result += tl.load(plus + row * plus_row + columns, mask=inside & (row < rows), other=0.0)
    tl.store(out + replica * out_replica + row * out_row + columns, result, mask=inside)


@triton.jit
def _mostly_zero_product(
    start, end, target, column, order, values, dense, out, width, values_replica, dense_replica, dense_row,
    out_replica, out_row, ORDERED: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """The same for values that are mostly 0: test 32 at once, then load the others, a few at a time."""
    chunk = tl.program_id(0)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    replica = tl.program_id(2).to(tl.int64)
    inside = columns < width
    values += replica * values_replica
    dense += replica * dense_replica + columns
    last = tl.load(end + chunk)
    lane = tl.arange(0, 32)
    total = tl.zeros((COLUMNS,), dtype=tl.float32)
    for first in range(tl.load(start + chunk), last, 32):
        place = first + lane
        valid = place < last
        if ORDERED:
            place = tl.load(order + place, mask=valid, other=0)
        kept = tl.load(values + place, mask=valid, other=0.0) != 0.0
        left = tl.sum(kept.to(tl.uint32) << lane.to(tl.uint32), axis=0)  # a bit per value that is not 0
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
    row = tl.load(target + chunk).to(tl.int64)
    tl.store(out + replica * out_replica + row * out_row + columns, total, mask=inside)


@triton.jit
def _exponent(power):
    """Return k of 2^k, the exponent of a float; meaningless for 0."""
    return (power.to(tl.float32).to(tl.int32, bitcast=True) >> 23) - 127


def csr_product(chunks: RowChunks, column: Tensor, values: Tensor, dense: Tensor, plus: Tensor | None = None) -> Tensor:
    """Return matrix @ dense (+ plus): the sparse matrix (n, m) is given by its chunks, dense is (m, d), plus (n, d)."""
    return csr_product_of_replicas(chunks, column, values.unsqueeze(0), dense.unsqueeze(0), plus=plus).squeeze(0)


def csr_product_of_replicas(
    chunks: RowChunks,
    column: Tensor,
    values: Tensor,
    dense: Tensor,
    order: Tensor | None = None,
    mostly_zero: bool = False,
    plus: Tensor | None = None,
) -> Tensor:
    """Return the products of sparse matrices of one pattern, values (replicas, entries), and dense (replicas, m, d).

    An `order` takes `values[:, order]`. `mostly_zero` values have a kernel of their own, without `plus`, which is
    (n, d). The result is (replicas, n, d) in the layout (n, replicas, d).
    """
    replicas, _, width = dense.shape
    dense = contiguous_rows(dense)
    plus = None if plus is None else contiguous_rows(plus)
    below = 0 if chunks.sums is None else chunks.sums.column.numel()
    rows_first = torch.empty((chunks.rows + below, replicas, width), dtype=dense.dtype, device=dense.device)
    out = rows_first.transpose(0, 1)
    if out.numel():
        _add_up(chunks, column, values, dense, order, mostly_zero, plus, out)
        if chunks.sums is not None:
            _add_up(chunks.sums.chunks, chunks.sums.column, chunks.sums.ones.unsqueeze(0), out, None, False, plus, out)
    return out[:, : chunks.rows]


def _add_up(
    chunks: RowChunks,
    column: Tensor,
    values: Tensor,
    dense: Tensor,
    order: Tensor | None,
    mostly_zero: bool,
    plus: Tensor | None,
    out: Tensor,
) -> None:
    replicas, m, width = dense.shape
    other, other_row = (dense, 0) if plus is None else (plus, plus.stride(0))
    kernel, columns = _csr_product, min(triton.next_power_of_2(width), 512)
    entries = 4 if chunks.start.numel() >= _FEW_PROGRAMS else 16
    more = {"plus": other, "plus_row": other_row, "rows": chunks.rows, "PLUS": plus is not None, "ENTRIES": entries}
    if mostly_zero:
        kernel, columns, more = _mostly_zero_product, min(triton.next_power_of_2(width), 256), {}
    elif 4 * 64 * m <= _CACHE_BYTES:  # then a narrow strip of the dense matrix stays in the cache
        columns = min(columns, 64)
    kernel[(chunks.start.numel(), triton.cdiv(width, columns), replicas)](
        chunks.start, chunks.end, chunks.target, column, column if order is None else order, values, dense, out, width,
        values.stride(0) if len(values) > 1 else 0, dense.stride(0), dense.stride(1), out.stride(0), out.stride(1),
        ORDERED=order is not None, COLUMNS=columns, num_warps=1 if mostly_zero else max(1, columns // 128), **more,
    )  # fmt: skip


@triton.jit
def _inner_products(
    left, right, out, rows, left_width, right_width, left_replica, left_row, right_replica, right_row, share,
    LEFT: tl.constexpr, RIGHT: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Compute one tile of leftᵀ right, summed over this program's share of the rows."""
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
    """Return leftᵀ right of tall matrices, (replicas, n, k) and (replicas, n, m); programs share the sum over n."""
    replicas, rows, k = left.shape
    m = right.shape[2]
    left, right = contiguous_rows(left), contiguous_rows(right)
    tiles = triton.cdiv(k, 32) * triton.cdiv(m, 64)
    most = max(min(64, 1024 // tiles), 1)  # with many tiles few parts are enough; each part is as large as the result
    share = max(512, triton.cdiv(rows, most))
    parts = max(triton.cdiv(rows, share), 1)
    out = torch.empty((parts, replicas, k, m), dtype=left.dtype, device=left.device)
    _inner_products[(tiles, parts, replicas)](
        left, right, out, rows, k, m, left.stride(0), left.stride(1), right.stride(0), right.stride(1), share,
        LEFT=32, RIGHT=64, ROWS=32,
    )  # fmt: skip
    return out.sum(dim=0) if parts > 1 else out[0]
