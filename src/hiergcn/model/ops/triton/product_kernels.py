"""Sparse products, and leftᵀ right of tall matrices, the form of gradients by weights."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from hiergcn.model.ops.row_chunks import RowChunks
from hiergcn.model.ops.triton.entry_kernels import PRECISION, contiguous_rows

_CACHE_BYTES = 2**17  # bytes that fit into the cache of one multiprocessor
_FEW_PROGRAMS = 256  # programs that leave most of a GPU idle: then each reads more entries at once, to wait less
_AT_ONCE = tl.constexpr(4)  # rows that a program of a mostly-zero product loads at once


@triton.jit
def chunk_sum(
    chunk, start, end, column, order, values, dense, dense_row, columns, inside,
    ORDERED: tl.constexpr, ENTRIES: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Return some columns of the sum of a chunk, entries in their order, so that sums repeat."""
    first, last = tl.load(start + chunk).to(tl.int64), tl.load(end + chunk).to(tl.int64)
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
    return tl.sum(total, axis=0)


@triton.jit
def _csr_product(
    start, end, target, column, order, values, dense, out, width, values_replica, dense_replica, dense_row,
    out_replica, out_row, long, long_replica, long_row, plus, plus_row, rows,
    ORDERED: tl.constexpr, PLUS: tl.constexpr, ENTRIES: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Write some columns of the sum of a chunk to its row, or to `long` if it is a part of a longer row."""
    chunk = tl.program_id(0)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    replica = tl.program_id(2).to(tl.int64)
    inside = columns < width
    result = chunk_sum(
        chunk, start, end, column, order, values + replica * values_replica, dense + replica * dense_replica,
        dense_row, columns, inside, ORDERED, ENTRIES, COLUMNS,
    )  # fmt: skip
    row = tl.load(target + chunk).to(tl.int64)
    if row < rows:
        if PLUS:
            result += tl.load(plus + row * plus_row + columns, mask=inside, other=0.0)
        tl.store(out + replica * out_replica + row * out_row + columns, result, mask=inside)
    else:
        tl.store(long + replica * long_replica + (row - rows) * long_row + columns, result, mask=inside)


@triton.jit
def _mostly_zero_product(
    start, end, target, column, order, values, dense, out, width, values_replica, dense_replica, dense_row,
    out_replica, out_row, long, long_replica, long_row, rows, ORDERED: tl.constexpr, COLUMNS: tl.constexpr,
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
    if row < rows:
        tl.store(out + replica * out_replica + row * out_row + columns, total, mask=inside)
    else:
        tl.store(long + replica * long_replica + (row - rows) * long_row + columns, total, mask=inside)


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
    out: Tensor | None = None,
) -> Tensor:
    """Return the products of sparse matrices of one pattern, values (replicas, entries), and dense (replicas, m, d).

    An `order` takes `values[:, order]`. `mostly_zero` values have a kernel of their own, without `plus`, which is
    (n, d). The result is (replicas, n, d), `out` or in the layout (n, replicas, d).
    """
    replicas, _, width = dense.shape
    dense = contiguous_rows(dense)
    plus = None if plus is None else contiguous_rows(plus)
    if out is None:
        out = dense.new_empty((chunks.rows, replicas, width)).transpose(0, 1)
    if out.numel():
        long = sums_of_long_rows(chunks, dense)
        _add_up(chunks, column, values, dense, order, mostly_zero, plus, out, long)
        if chunks.sums is not None:
            ones = chunks.sums.ones.unsqueeze(0)
            _add_up(chunks.sums.chunks, chunks.sums.column, ones, long, None, False, plus, out, long)
    return out


def sums_of_long_rows(chunks: RowChunks, like: Tensor) -> Tensor:
    """Allocate the sums of the chunks of long rows, (replicas, chunks, d); empty without long rows."""
    count = 0 if chunks.sums is None else chunks.sums.column.numel()
    return like.new_empty((count, like.shape[0], like.shape[2])).transpose(0, 1)


def _add_up(
    chunks: RowChunks,
    column: Tensor,
    values: Tensor,
    dense: Tensor,
    order: Tensor | None,
    mostly_zero: bool,
    plus: Tensor | None,
    out: Tensor,
    long: Tensor,
) -> None:
    replicas, m, width = dense.shape
    other, other_row = (dense, 0) if plus is None else (plus, plus.stride(0))
    kernel, columns, entries = _csr_product, 32 if width <= 32 else 256, entries_at_once(chunks)
    more = {"plus": other, "plus_row": other_row, "PLUS": plus is not None, "ENTRIES": entries}
    if mostly_zero:
        kernel, more = _mostly_zero_product, {}
    elif 4 * 64 * m <= _CACHE_BYTES:  # then a narrow strip of the dense matrix stays in the cache
        columns = min(columns, 64)
    kernel[(chunks.start.numel(), triton.cdiv(width, columns), replicas)](
        chunks.start, chunks.end, chunks.target, column, column if order is None else order, values, dense, out, width,
        values.stride(0) if len(values) > 1 else 0, dense.stride(0), dense.stride(1), out.stride(0), out.stride(1),
        long, long.stride(0), long.stride(1), rows=chunks.rows, ORDERED=order is not None, COLUMNS=columns, num_warps=1,
        **more,
    )  # fmt: skip


def entries_at_once(chunks: RowChunks) -> int:
    """Return how many entries of a chunk a program reads at once: few, since most rows are short."""
    return 2 if chunks.start.numel() >= _FEW_PROGRAMS else 16


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
        total = tl.dot(
            tl.load(a, mask=(i < left_width)[:, None] & below[None, :], other=0.0),
            tl.load(b, mask=below[:, None] & (j < right_width)[None, :], other=0.0),
            total,
            input_precision=PRECISION,
        )
    place = out + ((part * tl.num_programs(2) + replica) * left_width + i[:, None]) * right_width + j[None, :]
    tl.store(place, total, mask=(i < left_width)[:, None] & (j < right_width)[None, :])


def inner_products(left: Tensor, right: Tensor) -> Tensor:
    """Return leftᵀ right of tall matrices, (replicas, n, k) and (replicas, n, m); programs share the sum over n."""
    replicas, rows, k = left.shape
    m = right.shape[2]
    left, right = contiguous_rows(left), contiguous_rows(right)
    width = min(max(triton.next_power_of_2(m), 16), 256)  # long and thin tiles read the wider side once
    tiles = triton.cdiv(k, 16) * triton.cdiv(m, width)
    most = max(min(64, 1024 // tiles), 1)  # with many tiles few parts are enough; each part is as large as the result
    share = max(512, triton.cdiv(rows, most))
    parts = max(triton.cdiv(rows, share), 1)
    out = torch.empty((parts, replicas, k, m), dtype=left.dtype, device=left.device)
    _inner_products[(tiles, parts, replicas)](
        left, right, out, rows, k, m, left.stride(0), left.stride(1), right.stride(0), right.stride(1), share,
        LEFT=16, RIGHT=width, ROWS=16,
    )  # fmt: skip
    return out.sum(dim=0) if parts > 1 else out[0]
