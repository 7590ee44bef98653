"""Kernels for a GPU, written in Triton: sparse products that repeat bit for bit, dropout and channels in one pass.

The libraries' sparse product adds in an order that changes from run to run and multiplies by the zeros that dropout
leaves, and the steps around it each read and write everything once more. Tensors of replicas lie as (n, replicas, d),
so that a product sees `replicas * d` columns. A number that is handed to a kernel has 32 bits if it fits, and so has
what is made of two such: where that might not fit, one is made wider, or the product is handed over.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from hiergcn.model.pieces import Pieces

_NEAR = 2**17  # bytes that fit into the cache of one multiprocessor
_PRECISION = tl.constexpr("ieee")  # of products: what tensor cores do by default has three digits
_FEW = 256  # programs that leave most of a GPU idle: then each has to wait for less
_AT_ONCE = tl.constexpr(4)  # rows that are on their way to a program of a thinned product


def _row_by_row(values: Tensor) -> Tensor:
    """With the columns of a row next to each other, as every kernel takes for granted."""
    return values if values.stride(-1) == 1 else values.contiguous()


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
    dense = _row_by_row(dense)
    plus = None if plus is None else _row_by_row(plus)
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
            input_precision=_PRECISION,
        )
    place = out + ((part * tl.num_programs(2) + replica) * left_width + i[:, None]) * right_width + j[None, :]
    tl.store(place, total, mask=(i < left_width)[:, None] & (j < right_width)[None, :])


def inner_products(left: Tensor, right: Tensor) -> Tensor:
    """leftᵀ right of tall matrices, (replicas, n, k) and (replicas, n, m): many programs share the sum over n."""
    replicas, rows, k = left.shape
    m = right.shape[2]
    left, right = _row_by_row(left), _row_by_row(right)
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


@triton.jit
def _dropout(
    values,
    right,
    seed,
    offset,
    out,
    right_out,
    size,
    width,
    cut,
    value_replica,
    value_row,
    right_replica,
    right_row,
    out_replica,
    out_row,
    right_out_replica,
    right_out_row,
    kept,
    scale,
    DROP: tl.constexpr,
    JOIN: tl.constexpr,
    CUT: tl.constexpr,
    BLOCK: tl.constexpr,
    WIDE: tl.constexpr,
):
    """Dropout on this program's places; columns from `cut` on come from the right, or go there."""
    replica, block = tl.program_id(1).to(tl.int64), tl.program_id(0)
    if WIDE:
        block = block.to(tl.int64)
    row, column, inside = _places(size, width, BLOCK, WIDE)
    here = inside
    if DROP:
        draw = tl.load(offset + replica) // 4  # as torch's kernels count: four words of a thread make one
        thread = block * (BLOCK // 8) + tl.arange(0, BLOCK // 8)
        first, second, third, fourth = tl.philox(
            tl.load(seed + replica), draw.to(tl.uint32), (draw >> 32).to(tl.uint32),
            thread.to(tl.uint32), (thread.to(tl.int64) >> 32).to(tl.uint32),
        )  # fmt: skip
        word = tl.interleave(tl.interleave(first, third), tl.interleave(second, fourth))  # in their order
        here = inside & (tl.interleave(word & 0xFFFF, word >> 16).to(tl.int32) < kept)
    left = column < cut
    values += replica * value_replica + row * value_row + column
    if JOIN:
        right += replica * right_replica + row * right_row + (column - cut)
        value = tl.load(values, mask=here & left, other=0.0) + tl.load(right, mask=here & ~left, other=0.0)
    else:
        value = tl.load(values, mask=here, other=0.0)
    if DROP:
        value *= scale
    out += replica * out_replica + row * out_row + column
    if CUT:
        right_out += replica * right_out_replica + row * right_out_row + (column - cut)
        tl.store(out, value, mask=inside & left)
        tl.store(right_out, value, mask=inside & ~left)
    else:
        tl.store(out, value, mask=inside)


def dropout(values: Tensor, seed: Tensor, offset: Tensor, kept: int) -> Tensor:
    """Each of the values with a chance of kept / 2^16, divided by that, else 0.

    Values are (replicas, n, d), those of one replica also for all of them (a stride of 0). The bits of a replica follow
    from its seed and its offset, both (replicas,), and from nothing else: an entry has 16 bits of what Philox makes of
    them at its place, counted row by row. The result lies as (n, replicas, d), seen as the values are.
    """
    out = _nodes_first(values, values.shape[2])
    _drop((values,), (out,), (seed, offset, kept))
    return out


Bits = tuple[Tensor, Tensor, int]
"""Seed, offset and how many of 2^16 are kept, as `dropout` has them."""


def dropped_join(left: Tensor, right: Tensor, bits: Bits | None) -> Tensor:
    """[left ‖ right], (replicas, n, d) and (replicas, n, e), with dropout if there are bits for it."""
    out = _nodes_first(left, left.shape[2] + right.shape[2])
    _drop((left, right), (out,), bits)
    return out


def dropped_parts(values: Tensor, cut: int, bits: Bits | None) -> tuple[Tensor, Tensor]:
    """The columns before the cut and those from it on, with dropout if there are bits for it."""
    left, right = _nodes_first(values, cut), _nodes_first(values, values.shape[2] - cut)
    _drop((values,), (left, right), bits)
    return left, right


def _nodes_first(like: Tensor, width: int) -> Tensor:
    """Room for (replicas, n, width), which lies as (n, replicas, width)."""
    replicas, rows, _ = like.shape
    return like.new_empty((rows, replicas, width)).transpose(0, 1)


def _drop(sources: tuple[Tensor, ...], targets: tuple[Tensor, ...], bits: Bits | None) -> None:
    replicas, rows, cut = (sources[0] if len(sources) > 1 else targets[0]).shape
    width = sum(source.shape[2] for source in sources)
    values, right = (_row_by_row(part) for part in (sources[0], sources[-1]))
    out, right_out = targets[0], targets[-1]
    seed, offset, kept = (values, values, 2**16) if bits is None else bits
    if rows * width:
        _dropout[(triton.cdiv(rows * width, 1024), replicas)](
            values, right, seed, offset, out, right_out, rows * width, width, cut, values.stride(0), values.stride(1),
            right.stride(0), right.stride(1), out.stride(0), out.stride(1), right_out.stride(0), right_out.stride(1),
            kept, 2**16 / kept, DROP=bits is not None, JOIN=len(sources) > 1, CUT=len(targets) > 1, BLOCK=1024,
            WIDE=_is_wide(rows * width),
        )  # fmt: skip


def _is_wide(size: int) -> bool:
    """Whether places up to a little over this need 64 bits, in which a GPU divides slowly."""
    return size >= 2**30


@triton.jit
def _rectified(z):
    """ReLU that leaves what is not a number as it is, as `tl.maximum` does not: a network that diverges shows it."""
    return tl.where(z < 0.0, 0.0, z)


@triton.jit
def _places(size, width, BLOCK: tl.constexpr, WIDE: tl.constexpr):
    """Row and column of each place of this program's block, and whether there is such a one."""
    block = tl.program_id(0)
    if WIDE:
        block = block.to(tl.int64)
    flat = block * BLOCK + tl.arange(0, BLOCK)
    return (flat // width).to(tl.int64), flat % width, flat < size


@triton.jit
def _mix(
    Z,
    w,
    out,
    size,
    width,
    z_replica,
    z_row,
    out_replica,
    out_row,
    CHANNELS: tl.constexpr,
    PADDED: tl.constexpr,
    BLOCK: tl.constexpr,
    WIDE: tl.constexpr,
):
    replica = tl.program_id(1).to(tl.int64)
    row, column, inside = _places(size, width, BLOCK, WIDE)
    channel = tl.arange(0, PADDED)
    place = replica * z_replica + row[:, None] * z_row + column[:, None] * CHANNELS + channel[None, :]
    there = inside[:, None] & (channel < CHANNELS)[None, :]
    weight = tl.load(w + replica * CHANNELS + channel, mask=channel < CHANNELS, other=0.0)
    mixed = tl.sum(_rectified(tl.load(Z + place, mask=there, other=0.0)) * weight[None, :], axis=1)
    tl.store(out + replica * out_replica + row * out_row + column, mixed, mask=inside)


@triton.jit
def _mix_backward(
    grad,
    Z,
    w,
    grad_Z,
    partial_w,
    size,
    width,
    grad_replica,
    grad_row,
    z_replica,
    z_row,
    CHANNELS: tl.constexpr,
    PADDED: tl.constexpr,
    BLOCK: tl.constexpr,
    WIDE: tl.constexpr,
):
    """The gradient by Z, which lies as Z does, and this program's share of the gradient by w."""
    replica = tl.program_id(1).to(tl.int64)
    row, column, inside = _places(size, width, BLOCK, WIDE)
    channel = tl.arange(0, PADDED)
    place = replica * z_replica + row[:, None] * z_row + column[:, None] * CHANNELS + channel[None, :]
    there = inside[:, None] & (channel < CHANNELS)[None, :]
    weight = tl.load(w + replica * CHANNELS + channel, mask=channel < CHANNELS, other=0.0)
    incoming = tl.load(grad + replica * grad_replica + row * grad_row + column, mask=inside, other=0.0)
    z = tl.load(Z + place, mask=there, other=0.0)
    tl.store(grad_Z + place, tl.where(z > 0.0, incoming[:, None] * weight[None, :], 0.0), mask=there)
    share = partial_w + (replica * tl.num_programs(0) + tl.program_id(0)) * CHANNELS + channel
    tl.store(share, tl.sum(incoming[:, None] * _rectified(z), axis=0), mask=channel < CHANNELS)


def mixed_channels(Z: Tensor, w: Tensor) -> Tensor:
    """Sum over j of w_j ReLU(Z_j); Z is (replicas, n, d * c), w (replicas, c), the result lies as (n, replicas, d)."""
    replicas, rows, _ = Z.shape
    Z, width = _row_by_row(Z), Z.shape[2] // w.shape[1]
    out = torch.empty((rows, replicas, width), dtype=Z.dtype, device=Z.device).transpose(0, 1)
    if out.numel():
        _mix[(triton.cdiv(rows * width, 512), replicas)](
            Z, w.contiguous(), out, rows * width, width, Z.stride(0), Z.stride(1), out.stride(0), out.stride(1),
            CHANNELS=w.shape[1], PADDED=triton.next_power_of_2(w.shape[1]), BLOCK=512,
            WIDE=_is_wide(rows * width),
        )  # fmt: skip
    return out


def mixed_channels_backward(grad: Tensor, Z: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients by Z and w."""
    replicas, rows, width = grad.shape
    grad, Z = _row_by_row(grad), _row_by_row(Z)
    grad_Z = torch.empty_strided(Z.shape, Z.stride(), dtype=Z.dtype, device=Z.device)
    programs = triton.cdiv(rows * width, 512)
    partial_w = torch.empty((replicas, programs, w.shape[1]), dtype=Z.dtype, device=Z.device)
    if grad.numel():
        _mix_backward[(programs, replicas)](
            grad, Z, w.contiguous(), grad_Z, partial_w, rows * width, width, grad.stride(0), grad.stride(1),
            Z.stride(0), Z.stride(1), CHANNELS=w.shape[1], PADDED=triton.next_power_of_2(w.shape[1]), BLOCK=512,
            WIDE=_is_wide(rows * width),
        )  # fmt: skip
    return grad_Z, partial_w.sum(dim=1)


@triton.jit
def _mixed_product(
    H,
    theta,
    onto,
    w,
    Z,
    out,
    rows,
    depth,
    width,
    h_replica,
    h_row,
    theta_replica,
    theta_row,
    onto_replica,
    onto_row,
    z_replica,
    z_row,
    out_replica,
    out_row,
    ONTO: tl.constexpr,
    KEEP: tl.constexpr,
    CHANNELS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """All columns of some rows of Z = H θ, added onto what is there, and of its channels' sum."""
    replica, part = tl.program_id(1).to(tl.int64), tl.program_id(0).to(tl.int64)
    row, column, k = part * ROWS + tl.arange(0, ROWS), tl.arange(0, COLUMNS), tl.arange(0, DEPTH)
    below, inside = (row < rows)[:, None], (column < width)[None, :]
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for first in range(0, depth, DEPTH):
        there = first + k < depth
        a = H + replica * h_replica + row[:, None] * h_row + (first + k)[None, :]
        b = theta + replica * theta_replica + (first + k)[:, None] * theta_row + column[None, :]
        total = tl.dot(
            tl.load(a, mask=below & there[None, :], other=0.0),
            tl.load(b, mask=there[:, None] & inside, other=0.0),
            total,
            input_precision=_PRECISION,
        )
    if ONTO:
        place = onto + replica * onto_replica + row[:, None] * onto_row + column[None, :]
        total += tl.load(place, mask=below & inside, other=0.0)
    if KEEP:
        tl.store(Z + replica * z_replica + row[:, None] * z_row + column[None, :], total, mask=below & inside)
    weight = tl.load(w + replica * CHANNELS + tl.arange(0, CHANNELS))
    each = tl.reshape(_rectified(total), (ROWS, COLUMNS // CHANNELS, CHANNELS))
    mixed, narrow = tl.sum(each * weight[None, None, :], axis=2), tl.arange(0, COLUMNS // CHANNELS)
    place = out + replica * out_replica + row[:, None] * out_row + narrow[None, :]
    tl.store(place, mixed, mask=below & (narrow < width // CHANNELS)[None, :])


def mixes_products(width: int, channels: int) -> bool:
    """Whether `mixed_product` can: channels are told apart by halving, and a program takes whole rows."""
    return channels & (channels - 1) == 0 and width <= 512


def mixed_product(H: Tensor, theta: Tensor, w: Tensor, onto: Tensor | None, keep: bool) -> tuple[Tensor, Tensor | None]:
    """`mixed_channels` of Z = H θ, H (replicas, n, k), or of onto + H θ; and Z, if it is to be kept, in its place."""
    replicas, rows, depth = H.shape
    width, channels = theta.shape[2], w.shape[1]
    H, theta, onto = _row_by_row(H), _row_by_row(theta), None if onto is None else _row_by_row(onto)
    out = H.new_empty((rows, replicas, width // channels)).transpose(0, 1)
    Z = onto
    if keep and Z is None:
        Z = H.new_empty((rows, replicas, width)).transpose(0, 1)
    columns = max(triton.next_power_of_2(width), 16)
    block = max(min(2**13 // columns, 64), 16)
    any_Z = out if Z is None else Z
    if out.numel():
        _mixed_product[(triton.cdiv(rows, block), replicas)](
            H, theta, any_Z, w.contiguous(), any_Z, out, rows, depth, width, H.stride(0), H.stride(1),
            theta.stride(0), theta.stride(1), any_Z.stride(0), any_Z.stride(1), any_Z.stride(0), any_Z.stride(1),
            out.stride(0), out.stride(1), ONTO=onto is not None, KEEP=keep, CHANNELS=channels, ROWS=block,
            COLUMNS=columns, DEPTH=16,
        )  # fmt: skip
    return out, Z if keep else None


@triton.jit
def _keep(
    better,
    new,
    kept,
    size,
    width,
    new_replica,
    new_row,
    kept_replica,
    kept_row,
    BLOCK: tl.constexpr,
    WIDE: tl.constexpr,
):
    replica = tl.program_id(1).to(tl.int64)
    if tl.load(better + replica):
        row, column, inside = _places(size, width, BLOCK, WIDE)
        value = tl.load(new + replica * new_replica + row * new_row + column, mask=inside)
        tl.store(kept + replica * kept_replica + row * kept_row + column, value, mask=inside)


def keep(better: Tensor, new: Tensor, kept: Tensor) -> None:
    """Copy the new values, (replicas, n, d), over those that are kept where a replica is better; else touch nothing."""
    replicas, rows, width = new.shape
    _keep[(triton.cdiv(rows * width, 4096), replicas)](
        better, new, kept, rows * width, width, new.stride(0), new.stride(1), kept.stride(0), kept.stride(1),
        BLOCK=4096, WIDE=_is_wide(rows * width),
    )  # fmt: skip
